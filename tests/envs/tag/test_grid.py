"""Tag on a grid: rewards, starts, runners that leave, and refused arguments. Most tests are interpreted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from references.tag_grid import Rules, TagGrid

import worldloom as wl
from worldloom.core.registry import registry
from worldloom.core.state import snapshot
from worldloom.core.tools.compare import compare
from worldloom.envs.tag.grid import DOWN, LEFT, RIGHT, STAY, UP, Start, grid_tag


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


def game(places: list[tuple[int, int]], taggers: int, worlds: int = 1, **options: Any) -> wl.Simulation:
    """A game with players at ``places``, taggers first, without autoreset."""
    definition = grid_tag("Small-v0", taggers=taggers, runners=len(places) - taggers, replace=True, **options)
    sim = wl.Simulation(definition, worlds, "python", seed=0, autoreset="disabled")
    for kind, here in (("Tagger", places[:taggers]), ("Runner", places[taggers:])):
        for axis, name in enumerate("xy"):
            sim[kind][name].assign(np.tile(np.int32(here)[:, axis], (worlds, 1)))
    return sim


def play(sim: wl.Simulation, taggers: list[int], runners: list[int]) -> tuple[list[float], list[float]]:
    """One step of the first world; the rewards of taggers and runners."""
    sim.step({"Tagger.move": np.int32([taggers]), "Runner.move": np.int32([runners])})
    return sim["Tagger"].reward.numpy()[0].tolist(), sim["Runner"].reward.numpy()[0].tolist()


@pytest.mark.parametrize(
    ("id", "taggers", "config"),
    [
        ("TagGrid-v0", 10, {"grid_length": 10, "max_steps": 100, "tag_penalty_for_runner": 2.0}),
        ("TagGridTraining-v0", 4, {"grid_length": 100, "max_steps": 100, "tag_penalty_for_runner": 5.0}),
    ],
)
def test_the_published_configurations(id: str, taggers: int, config: dict[str, float]) -> None:
    definition = wl.definition(id)
    assert {kind.__name__: count for kind, count in definition.entities.items()} == {
        "Tagger": taggers,
        "Runner": 1,
        "Board": 1,
    }
    sim = wl.Simulation(definition, 1, "python", seed=0)
    assert sim["Tagger"].sight.shape == (1, taggers, 4 * (taggers + 1) + 1)
    config = {
        **config,
        "wall_hit_penalty": 0.1,
        "tag_reward_for_tagger": 10.0,
        "step_cost_for_tagger": 0.01,
        "start": Start.RANDOM,
    }
    assert {name: round(sim.world[name].numpy()[0].item(), 6) for name in config} == config


def test_the_five_moves_and_the_walls() -> None:
    sim = game([(0, 0), (5, 5), (5, 5), (5, 5), (5, 5), (10, 10)], 5, full_observation=False)
    rewards, (of_runner,) = play(sim, [LEFT, RIGHT, UP, DOWN, STAY], [UP])
    assert list(zip(sim["Tagger"].x.numpy()[0].tolist(), sim["Tagger"].y.numpy()[0].tolist(), strict=True)) == [
        (0, 0),
        (6, 5),
        (5, 6),
        (5, 4),
        (5, 5),
    ]
    np.testing.assert_allclose(rewards, [-0.11, -0.01, -0.01, -0.01, -0.01], atol=1e-6)
    np.testing.assert_allclose(of_runner, 0.01 - 0.1, atol=1e-6)


def test_a_tag_of_the_only_runner_ends_the_episode() -> None:
    sim = game([(1, 0), (9, 9), (0, 0)], 2, full_observation=False)
    assert play(sim, [LEFT, STAY], [STAY]) == ([10.0, 10.0], [-2.0])
    assert sim.terminated.numpy().tolist() == [True] and sim.truncated.numpy().tolist() == [False]
    np.testing.assert_allclose(
        sim["Tagger"].sight.numpy()[0, 1],
        [0.9, 0.9, 0.0, 0.0, 0.0, 0.01],
        atol=1e-6,
        err_msg="the one that was tagged is still seen",
    )


def test_who_swap_places_do_not_meet() -> None:
    sim = game([(4, 4), (5, 4)], 1, full_observation=False)
    play(sim, [RIGHT], [LEFT])
    assert not sim.terminated.numpy()[0]


def test_every_runner_that_is_tagged_in_a_step_is_paid_for() -> None:
    sim = game([(3, 3), (8, 8), (3, 2), (8, 8), (0, 9), (3, 3)], 2, full_observation=False)
    of_taggers, of_runners = play(sim, [STAY, STAY], [UP, STAY, LEFT, STAY])
    assert of_taggers == [30.0, 30.0]
    np.testing.assert_allclose(
        of_runners,
        [-2.0, -2.0, -0.1, -2.0],
        atol=1e-6,
        err_msg="who got away gets nothing in a step with a tag, and pays for the wall",
    )
    assert sim["Runner"].active.numpy()[0].tolist() == [False, False, True, False]
    assert sim["Runner"].terminated.numpy()[0].tolist() == [True, True, False, True]
    np.testing.assert_allclose(
        sim["Tagger"].sight.numpy()[0, :, 2:4],
        [[0.0, 0.9]] * 2,
        atol=1e-6,
        err_msg="the runner that is left is the target",
    )
    assert not sim.terminated.numpy()[0]

    of_taggers, of_runners = play(sim, [STAY, STAY], [LEFT, LEFT, DOWN, LEFT])
    np.testing.assert_allclose(of_taggers, [-0.01, -0.01], atol=1e-6)
    np.testing.assert_allclose(of_runners, [0.0, 0.0, 0.01, 0.0], atol=1e-6)
    assert sim["Runner"].x.numpy()[0].tolist() == [-1, -1, 0, -1] and sim["Runner"].y.numpy()[0].tolist() == [
        -1,
        -1,
        8,
        -1,
    ]
    assert not sim["Runner"].terminated.numpy()[0].any(), "who left does so once"


def test_time_runs_out() -> None:
    sim = game([(0, 0), (9, 9)], 1, full_observation=False, episode_length=2)
    play(sim, [STAY], [STAY])
    assert not sim.truncated.numpy()[0]
    play(sim, [STAY], [STAY])
    assert sim.truncated.numpy()[0] and not sim.terminated.numpy()[0]
    assert sim["Tagger"].sight.numpy()[0, 0, 5] == 1.0


def test_a_full_observation_in_its_order() -> None:
    sim = game([(2, 4), (6, 8), (10, 0)], 2, full_observation=True, episode_length=4)
    play(sim, [STAY, STAY], [STAY])
    seen = [0.2, 0.6, 1.0, 0.4, 0.8, 0.0, 0.0, 0.0, 1.0]
    for kind, place, one_hot in (("Tagger", 0, [1, 0, 0]), ("Tagger", 1, [0, 1, 0]), ("Runner", 0, [0, 0, 1])):
        np.testing.assert_allclose(sim[kind].sight.numpy()[0, place], [*seen, *one_hot, 0.25], atol=1e-6)


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
def test_what_stays_in_a_full_observation_stays(autoreset: Any) -> None:
    """Roles and indices are written at a reset; resets of some worlds and snapshots preserve them."""
    definition = grid_tag("Stays-v0", taggers=2, runners=3, grid_length=3)
    sim, other = (
        wl.Simulation(
            definition, 3, "python", seed=seed, autoreset=autoreset, config={"max_steps": np.int32([2, 3, 50])}
        )
        for seed in (0, 1)
    )
    rng, ended = np.random.default_rng(0), 0
    stays = np.hstack([np.tile([0.0, 0.0, 1.0, 1.0, 1.0], (5, 1)), np.eye(5)])
    for step in range(8):
        if autoreset == "disabled":
            sim.reset(sim.terminated.numpy() | sim.truncated.numpy())
        sim.step(
            {
                f"{kind}.move": rng.integers(0, 5, (3, sim[kind].rows_per_world), dtype=np.int32)
                for kind in ("Tagger", "Runner")
            }
        )
        over = sim.terminated.numpy() | sim.truncated.numpy()
        ended += int(over.sum())
        if step == 4:
            snapshot.restore(other, snapshot.copy_columns(sim))
            sim = other
        for column in ("sight", "final_sight") if autoreset == "same_step" else ("sight",):
            seen = np.concatenate([sim[kind][column].numpy() for kind in ("Tagger", "Runner")], axis=1)[
                over if column == "final_sight" else slice(None)
            ]
            np.testing.assert_array_equal(seen[..., 10:20], np.broadcast_to(stays, (len(seen), 5, 10)))
    assert ended >= 4


def test_ties_go_to_the_lowest_id() -> None:
    sim = game([(5, 5), (3, 5), (4, 6), (4, 5), (5, 4), (6, 5)], 3, full_observation=False)
    play(sim, [STAY] * 3, [UP, STAY, STAY])  # runner 0 goes to (4, 6), where tagger 2 is
    np.testing.assert_allclose(sim["Tagger"].sight.numpy()[0, 0, 2:4], [0.5, 0.4], atol=1e-6)
    sim = game([(3, 5), (5, 5), (4, 5), (9, 9)], 2, full_observation=False)
    play(sim, [STAY] * 2, [STAY, STAY])
    np.testing.assert_allclose(sim["Runner"].sight.numpy()[0, 0, 2:4], [0.3, 0.5], atol=1e-6)


def test_the_three_starts() -> None:
    definition = grid_tag("Starts-v0", taggers=3, runners=2, full_observation=False, grid_length=4)
    cells = {}
    for start in Start:
        sim = wl.Simulation(definition, 60, "python", seed=3, config={"start": int(start)})
        cells[start] = [
            set(zip(sim[k].x.numpy().ravel().tolist(), sim[k].y.numpy().ravel().tolist(), strict=True))
            for k in ("Tagger", "Runner")
        ]
    assert cells[Start.PUBLISHED] == [{(2, 2)}, {(0, 0)}]
    assert cells[Start.INNER] == [{(x, y) for x in (1, 2, 3) for y in (1, 2, 3)}, {(0, 0)}]
    assert cells[Start.RANDOM] == [{(x, y) for x in range(5) for y in range(5)}] * 2


@pytest.mark.parametrize(
    ("name", "value"), [("taggers", 0), ("runners", -1), ("grid_length", 0), ("episode_length", 2.5)]
)
def test_what_is_no_game(name: str, value: float) -> None:
    with pytest.raises(
        wl.InputError,
        match=f"cannot have {name}={value}; give a whole number from {0 if name == 'episode_length' else 1}",
    ):
        grid_tag("No-v0", **{name: value})


@pytest.mark.parametrize(
    ("given", "words"),
    [({"grid_length": 20_001}, "up to 20,000, not 20,001"), ({"wall_hit_penalty": "a"}, "is a number, not 'a'")],
)
def test_what_would_not_fit(given: dict, words: str) -> None:
    with pytest.raises(wl.InputError, match=words):
        grid_tag("No-v0", **given)


def test_no_such_start() -> None:
    with pytest.raises(
        wl.InputError, match=r"cannot begin with start=3; give one of Start\.RANDOM, Start\.PUBLISHED, Start\.INNER"
    ):
        grid_tag("No-v0", start=3)


def test_long_observations_are_the_references() -> None:
    """With these numbers several threads share the work on a GPU."""
    sim = wl.Simulation(grid_tag("Long-v0", taggers=2, runners=31), 1, "python", seed=0)
    here = np.concatenate(
        [np.stack([sim[kind].x.numpy()[0], sim[kind].y.numpy()[0]], axis=1) for kind in ("Tagger", "Runner")]
    )
    expected = TagGrid(Rules(2, 31), here).observations()
    np.testing.assert_allclose(
        np.concatenate([sim["Tagger"].sight.numpy()[0], sim["Runner"].sight.numpy()[0]]), expected, atol=1e-6
    )


def test_plain_python_and_compiled_code_agree() -> None:
    assert compare("TagGridTraining-v0", ("python", "cpu"), num_worlds=3, steps=25) is None


def test_the_picture_shows_who_is_left() -> None:
    sim = game([(0, 0), (5, 5), (9, 0), (5, 5)], 2, full_observation=False)
    draw = wl.definition("Small-v0").render
    assert draw is not None
    before = draw(sim, 0)
    assert before.shape == (540, 512, 3) and before.dtype == np.uint8
    play(sim, [STAY, STAY], [STAY, STAY])
    play(sim, [STAY, STAY], [STAY, STAY])
    after = draw(sim, 0)
    blue = [(image == (38, 118, 190)).all(axis=2)[60:].sum() for image in (before, after)]
    assert 0 < blue[1] < blue[0], "one of two runners is gone"
