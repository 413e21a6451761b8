"""Comparing devices: random actions for every space, and differences of every kind found where they are."""

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.measure.random_actions import random_action, random_actions
from worldloom.core.tools.compare import Comparison, Difference, compare, copy_state, device_name, first_difference


class Walker(wl.Entity):
    place: wl.vec2
    weight: wl.float64
    steps: int
    awake: bool
    go: wl.Action(wl.Discrete(3))
    turn: wl.Action(wl.MultiDiscrete(2, 5))
    reward: wl.Reward


class Path(wl.World):
    length: wl.Config = 3.0


@wl.system
def walk(walker: Walker, world: Path):
    walker.place += wl.vec2(float(walker.go), float(walker.turn[1])) * world.length
    walker.steps += 1


WALK = wl.Definition("CompareWalk-v0", Path, {Walker: 2}, step=(walk,), max_steps=7)


def pair():
    """Two simulations that are equal."""
    return tuple(wl.Simulation(WALK, 4, "python", seed=1) for _ in range(2))


def test_discrete_actions_cover_the_space():
    drawn = random_action(wl.Discrete(3), (200, 2), np.random.default_rng(0))
    assert drawn.dtype == np.int32
    assert set(drawn.ravel()) == {0, 1, 2}


def test_multi_discrete_actions_cover_each_choice():
    drawn = random_action(wl.MultiDiscrete(2, 5), (200, 1, 2), np.random.default_rng(0))
    assert set(drawn[..., 0].ravel()) == {0, 1}
    assert set(drawn[..., 1].ravel()) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(("low", "high"), [(-2.0, 3.0), (-2.0, np.inf), (-np.inf, 3.0), (-np.inf, np.inf)])
def test_box_actions_are_finite_and_inside(low, high):
    drawn = random_action(wl.Box(low, high, (3,)), (100, 1, 3), np.random.default_rng(0))
    assert drawn.dtype == np.float32
    assert np.isfinite(drawn).all()
    assert (drawn >= low).all()
    assert (drawn <= high).all()
    assert np.unique(drawn).size > 200


def test_actions_fit_every_action_column_and_follow_the_seed():
    simulation, _ = pair()
    first, again = (random_actions(simulation, np.random.default_rng(3)) for _ in range(2))
    assert {name: values.shape for name, values in first.items()} == {"Walker.go": (4, 2), "Walker.turn": (4, 2, 2)}
    assert all(np.array_equal(first[name], again[name]) for name in first)


@pytest.mark.parametrize(
    ("column", "place", "value"),
    [
        ("place", (2, 1, 0), 0.5),
        ("weight", (3, 0), 1e-300),
        ("steps", (1, 1), 9),
        ("awake", (0, 1), True),
        ("weight", (0, 0), -0.0),
        ("place", (1, 0, 1), np.nan),
    ],
)
def test_one_changed_number_is_found_where_it_is(column, place, value):
    reference, other = pair()
    before = reference["Walker"][column].numpy()[place].item()
    other["Walker"][column].numpy()[place] = value
    found = first_difference(reference, other, step=5)
    assert found is not None
    assert (found.column, found.world, found.place, found.step) == (f"Walker.{column}", place[0], place[1:], 5)
    assert found.expected == before
    assert repr(found.found) == repr(np.asarray(value, reference["Walker"][column].dtype).item())


def test_engine_columns_and_configuration_are_compared():
    reference, other = pair()
    other.world.episode.numpy()[3] = 4
    assert first_difference(reference, other, 0).column == "World.episode"
    reference, other = pair()
    other.set_config("length", 4.0)
    assert first_difference(reference, other, 0).column == "World.length"


def test_nan_equals_nan():
    reference, other = pair()
    for simulation in (reference, other):
        simulation["Walker"].weight.numpy()[:] = np.nan
    assert first_difference(reference, other, 0) is None
    assert first_difference(reference, other, 0, atol=1e-3) is None


def test_a_tolerance_is_for_real_numbers_only():
    reference, other = pair()
    other["Walker"].weight.numpy()[1, 0] = 5e-4
    assert first_difference(reference, other, 0, atol=1e-3) is None
    assert first_difference(reference, other, 0, atol=1e-4).column == "Walker.weight"
    other["Walker"].steps.numpy()[1, 0] += 1
    found = first_difference(reference, other, 0, atol=10.0, rtol=10.0)
    assert found.column == "Walker.steps"
    reference["Walker"].weight.numpy()[1, 0], other["Walker"].weight.numpy()[1, 0] = 1000.0, 1000.5
    assert first_difference(reference, other, 0, rtol=1e-3).column == "Walker.steps"
    assert first_difference(reference, other, 0, rtol=1e-4).column == "Walker.weight"


def test_infinities_of_the_same_sign_are_equal():
    reference, other = pair()
    reference["Walker"].weight.numpy()[0, 0] = other["Walker"].weight.numpy()[0, 0] = np.inf
    assert first_difference(reference, other, 0, atol=1e-3) is None
    other["Walker"].weight.numpy()[0, 0] = -np.inf
    assert first_difference(reference, other, 0, atol=1e-3).column == "Walker.weight"


def test_the_other_columns_that_differ_are_named():
    reference, other = pair()
    other["Walker"].steps.numpy()[0, 0] = 1
    other["Walker"].awake.numpy()[0, 0] = True
    found = first_difference(reference, other, 2)
    assert (found.column, found.elsewhere) == ("Walker.steps", ("Walker.awake",))
    assert (
        str(found) == "Walker.steps[0] differs in world 0 after step 2: 0 on python, 1 on python "
        "(also after this step: Walker.awake)"
    )


def test_copied_state_makes_simulations_equal():
    reference, other = pair()
    other.step(random_actions(other, np.random.default_rng(0)))
    assert first_difference(reference, other, 0) is not None
    copy_state(reference, other)
    assert first_difference(reference, other, 0) is None


def test_python_and_cpu_agree():
    assert compare(WALK, ("python", "cpu"), num_worlds=3, steps=20) is None


def test_a_difference_after_the_reset_is_step_0():
    with Comparison(WALK, ("python", "cpu"), 3) as comparison:
        comparison.simulations[1].world.seed.numpy()[2] += 1
        found = comparison.run(5)
    assert isinstance(found, Difference)
    assert (found.column, found.world, found.step) == ("World.seed", 2, 0)


def test_a_difference_between_two_steps_is_found_after_the_next():
    with Comparison(WALK, ("python", "cpu"), 3) as comparison:
        seen = []

        def plant(steps):
            seen.append(steps)
            if steps == 4:
                comparison.simulations[1]["Walker"].place.numpy()[1, 0, 1] += 0.25

        found = comparison.run(10, plant)
    assert seen == [1, 2, 3, 4, 5]
    assert (found.column, found.world, found.place, found.step) == ("Walker.place", 1, (0, 1), 5)
    assert (found.reference, found.device) == ("python", "cpu")


def drifting(sync):
    """Two simulations of which one drifts by less than the tolerance in every step."""
    with Comparison(WALK, ("python", "python"), 2, atol=1e-3, rtol=0.0, sync=sync) as comparison:

        def plant(steps):
            comparison.simulations[1]["Walker"].weight.numpy()[:] += 4e-4

        return comparison.run(6, plant)


def test_synchronised_devices_are_judged_step_by_step():
    assert drifting(sync=True) is None
    found = drifting(sync=False)
    assert (found.column, found.step) == ("Walker.weight", 4)


def test_tolerances_are_zero_without_a_gpu_and_can_be_given():
    with Comparison(WALK, ("python", "cpu"), 1) as comparison:
        assert comparison.tolerances(comparison.simulations[1]) == (0.0, 0.0)
        assert [device_name(s) for s in comparison.simulations] == ["python", "cpu"]
    with Comparison(WALK, ("python", "cpu"), 1, atol=0.5) as comparison:
        assert comparison.tolerances(comparison.simulations[1]) == (0.5, 0.0)


@pytest.mark.parametrize(
    ("devices", "settings", "message"),
    [
        (["cpu"], {}, "two devices or more"),
        (["python", "cpu"], {"rtol": -1.0}, "rtol is a number of 0 or more"),
        (["python", "cpu"], {"atol": float("nan")}, "atol is a number of 0 or more"),
    ],
)
def test_comparisons_that_cannot_be(devices, settings, message):
    with pytest.raises(wl.InputError, match=message):
        Comparison(WALK, devices, 1, **settings)


def test_steps_cannot_be_negative():
    with pytest.raises(wl.InputError, match="steps is a whole number"):
        compare(WALK, steps=-1, num_worlds=1)
