"""Environments and pools after ``close``, and flags that are neither True nor False."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError

import worldloom as wl
from worldloom import envpool
from worldloom.core.base.errors import InputError
from worldloom.vector import (
    ProcessPool,
    Sb3VectorEnv,
    WorldAecEnv,
    WorldDmEnv,
    WorldEnv,
    WorldParallelEnv,
    WorldParallelVectorEnv,
    WorldPool,
    WorldVectorEnv,
)

ZERO = np.zeros(2, int)
CASES = {
    "numpy": (lambda: wl.make("CartPole-v1", 2, seed=0), ("reset", "render"), ZERO),
    "torch": (lambda: wl.make("CartPole-v1", 2, seed=0, env_type="torch"), ("reset",), ZERO),
    "drawn": (lambda: wl.make("CartPole-v1", 2, render_mode="rgb_array"), ("reset", "render"), ZERO),
    "dm": (lambda: wl.make("CartPole-v1", 2, env_type="dm"), ("reset",), ZERO),
    "one": (lambda: WorldEnv("CartPole-v1"), ("reset", "render"), 0),
    "made": (lambda: gymnasium.make("worldloom/CartPole-v1"), ("reset",), 0),
    "one dm": (lambda: WorldDmEnv("CartPole-v1"), ("reset",), 0),
    "parallel": (lambda: WorldParallelEnv("TagGrid-v0"), ("reset", "render"), {}),
    "kinds": (lambda: WorldParallelVectorEnv("TagGrid-v0", 2), ("reset",), {}),
    "aec": (lambda: WorldAecEnv("HanabiVerySmall-v0"), ("reset",), None),
    "pool": (lambda: WorldPool("CartPole-v1", 4, 2), ("async_reset", "recv"), None),
    "envpool": (lambda: envpool.make("CartPole-v1", "gymnasium", num_envs=2), ("reset", "async_reset", "recv"), ZERO),
    "sb3": (lambda: Sb3VectorEnv("CartPole-v1", 2), ("reset",), ZERO),
}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
def test_calls_after_close_raise_gymnasiums_error(kind: str, used: bool):
    make, calls, action = CASES[kind]
    env = make()
    if used:
        getattr(env, calls[0])()
    env.close()
    env.close()
    for name in calls:
        with pytest.raises(ClosedEnvironmentError, match="closed: make a new one") as caught:
            getattr(env, name)()
        assert isinstance(caught.value, InputError)
    if action is not None and (used or kind != "one dm"):  # a first step of dm_env is a reset
        with pytest.raises(ClosedEnvironmentError, match="closed: make a new one"):
            env.step(action)


def test_attributes_of_closed_worlds():
    env = wl.make("CartPole-v1", 2)
    env.close()
    for call in (
        lambda: env.get_attr("force"),
        lambda: env.set_attr("force", 2.0),
        lambda: env.call("render"),
        lambda: env.np_random_seed,
    ):
        with pytest.raises(ClosedEnvironmentError):
            call()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: wl.make("CartPole-v1", 2, copy="maybe"), "copy"),
        (lambda: wl.make("CartPole-v1", 2, exact="yes"), "exact"),
        (lambda: wl.make("CartPole-v1", 4, batch_size=2, exact="yes"), "exact"),
        (lambda: wl.make("CartPole-v1", 4, batch_size=2, copy=2), "copy"),
        (lambda: wl.make("gymnasium:CartPole-v1", 2, copy="maybe"), "copy"),
        (lambda: wl.make("gymnasium:CartPole-v1", 2, exact="no"), "exact"),
        (lambda: wl.Simulation("CartPole-v1", 2, exact="yes"), "exact"),
        (lambda: wl.Simulation("CartPole-v1", 2, fuse=None), "fuse"),
        (lambda: WorldVectorEnv("CartPole-v1", 2, copy=1), "copy"),
        (lambda: WorldVectorEnv("CartPole-v1", 2, gymnasium_types="no"), "gymnasium_types"),
        (lambda: WorldPool("CartPole-v1", 4, 2, exact=1), "exact"),
        (lambda: WorldPool("CartPole-v1", 4, 2, gymnasium_types=1), "gymnasium_types"),
        (lambda: ProcessPool("CartPole-v1", 2, copy="maybe"), "copy"),
    ],
)
def test_flags_are_true_or_false(call, name: str):
    with pytest.raises(InputError, match=f"^{name} is True or False, not "):
        call()
