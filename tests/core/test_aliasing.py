"""Observations that share memory with the components that they repeat."""

from __future__ import annotations

import pytest

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.codegen.program import generate
from worldloom.core.schedule.aliasing import aliased_components
from worldloom.core.schedule.schedule import plan


class Ball(wl.Entity):
    height: float
    speed: float
    weight: float = 2.0
    sight: wl.Observation(2)


class Room(wl.World):
    pass


@wl.system
def fall(ball: Ball, world: Room):
    ball.speed -= 0.1 * ball.weight
    ball.height += ball.speed


@wl.system
def look(ball: Ball):
    """Seen as it is."""
    ball.sight = wl.vec2(ball.height, ball.speed)


@wl.system
def look_far(ball: Ball):
    ball.sight = wl.vec2(ball.height, 2.0 * ball.speed)


@wl.system
def look_twice(ball: Ball):
    ball.sight = wl.vec2(ball.height, ball.height)


@wl.system
def look_at_times(ball: Ball):
    if ball.height > 0.0:
        ball.sight = wl.vec2(ball.height, ball.speed)


@wl.system
def remember(ball: Ball):
    ball.weight = ball.sight.x


@wl.system
def compare(ball: Ball, world: Room):
    for other in world.all(Ball):
        if other.height > ball.height:
            ball.weight += 1.0


@wl.system
def move_on(ball: Ball):
    ball.height += 1.0


@wl.system(threads=32)
def feel(ball: Ball, world: Room):
    for ray in wl.share(40):
        ball.height = min(ball.height, float(ray))


def made(**changes) -> wl.Definition:
    parts = {"entities": {Ball: 3}, "step": (fall,), "observe": (look,)} | changes
    return wl.Definition("Ball-shared", Room, **parts)


class Old(wl.Entity):
    height: wl.Persistent(float)
    speed: float
    sight: wl.Observation(2)


@wl.system
def look_old(old: Old):
    old.sight = wl.vec2(old.height, old.speed)


def test_what_outlives_a_reset_is_kept_apart():
    assert aliased_components(wl.Definition("Old-shared", Room, {Old: 1}, observe=(look_old,))) == {}


def test_an_observation_that_repeats_components_shares_their_memory():
    assert aliased_components(made()) == {
        ("Ball", "height"): (("Ball", "sight"), 0),
        ("Ball", "speed"): (("Ball", "sight"), 1),
    }
    assert set(aliased_components(wl.definition("CartPole-v1"))) == {
        ("Cart", n) for n in ("x", "velocity", "angle", "spin")
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"observe": (look_far,)},
        {"observe": (look_twice,)},
        {"observe": (look_at_times,)},
        {"observe": (look, look_far)},
        {"step": (fall, remember)},  # the last observation is read
        {"step": (fall, compare)},  # reached from other rows
        {"observe": (look, move_on)},  # written after it was seen
        {"step": (fall, look)},
        {"step": (fall, feel)},  # gathered by the threads of one ball
        {"step": (fall, lambda sim: None)},  # a callable may look at both
    ],
)
def test_whatever_could_tell_them_apart_keeps_them_apart(changes):
    assert aliased_components(made(**changes)) == {}


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
@pytest.mark.parametrize("fuse", [True, False])
def test_what_lies_together_is_stored_once(autoreset, fuse):
    schedule = plan(made(), autoreset, True)
    apart = generate(schedule, fuse, cuda=True)
    schedule.aliases = aliased_components(made())
    shared = generate(schedule, fuse, cuda=True)
    assert "Ball__height__col" in apart.text and "Ball__height__col" not in shared.text
    kernels = [spec for spec in shared.step if isinstance(spec, KernelSpec)]
    assert all(("Ball", "height") not in spec.columns for spec in kernels)
    if fuse and autoreset == "same_step":
        stores = [c for spec in kernels for c in spec.stores]
        assert stores.count(("Ball", "sight")) == 1 and ("Ball", "height") not in stores
        assert sum(s.bytes_written for s in kernels) < sum(
            s.bytes_written for s in apart.step if isinstance(s, KernelSpec)
        )
    if not fuse:
        assert shared.text.count("wl_part_vec2f(Ball__sight__col, row, 0, Ball__height)") >= 1
