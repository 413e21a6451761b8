"""The worlds that come with worldloom, one file each; importing this package registers them."""

from worldloom.envs import (
    acrobot,
    blackjack,
    cartpole,
    catch,
    cliff_walking,
    covid,
    frozen_lake,
    mountain_car,
    nchain,
    pendulum,
    tag,
    taxi,
)

__all__ = [
    "acrobot",
    "blackjack",
    "cartpole",
    "catch",
    "cliff_walking",
    "covid",
    "frozen_lake",
    "mountain_car",
    "nchain",
    "pendulum",
    "tag",
    "taxi",
]
