"""Continuous Tag: starts, tags, runners who leave, what agents see, and its named configurations."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.model import grid
from worldloom.envs.tag import continuous
from worldloom.envs.tag.continuous import continuous_tag


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Worlds of these tests are gone after them."""
    from worldloom.core.registry import registry

    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


def small(taggers: int = 2, runners: int = 3, worlds: int = 1, device: str = "python", **given) -> wl.Simulation:
    """Interpreted worlds whose agents move only by actions."""
    config = given.pop("config", {})
    definition = continuous_tag(taggers=taggers, runners=runners, replace=True, **given)
    return wl.Simulation(definition, worlds, device, seed=5, autoreset="disabled", config=config)


def put(
    sim: wl.Simulation, taggers: list[tuple[float, float]], runners: list[tuple[float, float]], world: int = 0
) -> None:
    sim["Tagger"].position.numpy()[world], sim["Runner"].position.numpy()[world] = taggers, runners


def stay(sim: wl.Simulation) -> None:
    sim.step(
        {
            f"{kind}.steer": np.zeros((sim.num_worlds, sim[kind].rows_per_world, 2), np.int32)
            for kind in ("Tagger", "Runner")
        }
    )


def start(sim: wl.Simulation) -> np.ndarray:
    """Places and directions of all agents, shape (worlds, agents, 3)."""
    kinds = [
        np.concatenate([sim[k].position.numpy(), sim[k].direction.numpy()[..., None]], axis=2)
        for k in ("Tagger", "Runner")
    ]
    return np.concatenate(kinds, axis=1).copy()


def test_starts_differ_between_worlds_and_episodes() -> None:
    sim = small(8, 8, worlds=3, neighbours=1, config={"grid_length": np.array([1.0, 5.0, 20.0], np.float32)})
    first = start(sim)
    sim.reset()
    starts = np.stack([first, start(sim)])
    side = np.array([1.0, 5.0, 20.0])[:, None, None]
    assert (starts[..., :2] >= 0.0).all() and (starts[..., :2] < side).all()
    scaled = (starts[..., :2] / side).reshape(6, 16, 2)
    assert len(np.unique(scaled, axis=0)) == 6
    assert scaled.min() < 0.1 and scaled.max() > 0.9 and abs(scaled.mean() - 0.5) < 0.1
    assert set(np.rint(starts[..., 2] / (np.pi / 2.0)).ravel()) == {0.0, 1.0, 2.0, 3.0}
    np.testing.assert_allclose(starts[..., 2] % (np.pi / 2.0) % 1.5707, 0.0, atol=1e-3)


def test_a_fixed_start_is_the_same_everywhere_and_always() -> None:
    sim = small(8, 8, worlds=2, neighbours=1, config={"fixed_start": True, "start_seed": np.array([4, 9], np.int32)})
    first = start(sim)
    assert not np.allclose(first[0], first[1]), "another seed is another start"
    sim.set_config("start_seed", 4)
    for _ in range(2):
        sim.reset()
        np.testing.assert_array_equal(start(sim), [first[0], first[0]])
    assert len(np.unique(first[..., :2].ravel())) == 64 and first[..., :2].min() < 1.0 and first[..., :2].max() > 9.0


def test_several_tags_in_one_step_are_all_paid_to_the_nearest_tagger() -> None:
    sim = small(
        2,
        4,
        config={
            "tag_reward_for_tagger": 0.1,
            "tagging_distance": 0.1,
            "step_reward_for_runner": 0.5,
            "step_penalty_for_tagger": -0.25,
        },
    )
    put(sim, [(2.0, 2.0), (3.0, 2.0)], [(2.1, 2.0), (2.2, 2.0), (2.0, 2.5), (6.0, 6.0)])
    stay(sim)
    np.testing.assert_allclose(sim["Tagger"].reward.numpy(), [[-0.25 + 3 * 0.1, -0.25]], rtol=1e-6)
    np.testing.assert_allclose(sim["Runner"].reward.numpy(), [[-0.5, -0.5, -0.5, 0.5]], rtol=1e-6)
    np.testing.assert_array_equal(sim["Runner"].terminated.numpy(), [[True, True, True, False]])
    np.testing.assert_array_equal(sim["Runner"].active.numpy(), sim["Runner"].in_game.numpy())
    assert sim.world.runners_left.numpy() == [1] and not sim.terminated.numpy()[0]
    stay(sim)
    np.testing.assert_allclose(sim["Tagger"].reward.numpy(), -0.25, err_msg="who has left is not tagged again")
    np.testing.assert_array_equal(sim["Runner"].reward.numpy(), [[0.0, 0.0, 0.0, 0.5]])
    put(sim, [(2.0, 2.0), (6.0, 6.1)], [(2.1, 2.0), (2.2, 2.0), (2.0, 2.5), (6.0, 6.0)])
    stay(sim)
    assert sim.terminated.numpy()[0] and not sim.truncated.numpy()[0] and sim.world.runners_left.numpy() == [0]


def test_runners_may_stay_after_a_tag() -> None:
    sim = small(1, 2, config={"runner_exits_game_after_tagged": False, "tagging_distance": 0.1})
    for _ in range(2):
        put(sim, [(2.0, 2.0)], [(2.1, 2.0), (2.2, 2.0)])
        stay(sim)
        np.testing.assert_array_equal(sim["Runner"].reward.numpy(), [[-1.0, -1.0]])
        assert (
            sim["Tagger"].reward.numpy() == [[2.0]]
            and sim["Runner"].active.numpy().all()
            and not sim.terminated.numpy()[0]
        )


def test_a_runner_tagged_in_the_last_step_gets_no_end_of_game_reward() -> None:
    sim = small(1, 2, episode_length=2, config={"tagging_distance": 0.1, "end_of_game_reward_for_runner": 5.0})
    put(sim, [(2.0, 2.0)], [(5.0, 5.0), (8.0, 8.0)])
    stay(sim)
    np.testing.assert_array_equal(sim["Runner"].reward.numpy(), [[0.0, 0.0]])
    put(sim, [(2.0, 2.0)], [(2.1, 2.0), (8.0, 8.0)])
    stay(sim)
    np.testing.assert_array_equal(sim["Runner"].reward.numpy(), [[-1.0, 5.0]])
    np.testing.assert_array_equal(sim["Runner"].terminated.numpy(), [[True, False]])
    np.testing.assert_array_equal(sim["Runner"].truncated.numpy(), [[False, True]])
    assert sim.truncated.numpy()[0] and not sim.terminated.numpy()[0]


@pytest.mark.parametrize("neighbours", [0, 2])
def test_what_is_seen_of_a_runner_who_leaves(neighbours: int) -> None:
    """The in-game flag lags by one step: in the step of its tag, a runner is still observed as in the game."""
    sim = small(1, 3, neighbours=neighbours, config={"tagging_distance": 0.1})
    others = neighbours or 3
    put(sim, [(2.0, 2.0)], [(2.5, 2.0), (4.0, 2.0), (9.0, 9.0)])
    stay(sim)
    flags, types = slice(6 * others, 7 * others), slice(5 * others, 6 * others)
    np.testing.assert_array_equal(sim["Tagger"].sight.numpy()[0, 0, flags], np.ones(others))
    leaver = sim["Runner"].sight.numpy()[0, 0]
    np.testing.assert_allclose(
        leaver[:2], np.array([-0.5, 1.5]) / np.sqrt(200.0), rtol=1e-5, err_msg="the tagger, then the next runner"
    )
    assert leaver[-1] == np.float32(0.01)
    stay(sim)
    leaver = sim["Runner"].sight.numpy()[0, 0]
    if neighbours:
        np.testing.assert_array_equal(leaver, np.zeros(7 * others + 1))
        np.testing.assert_allclose(
            sim["Tagger"].sight.numpy()[0, 0, :others], np.array([2.0, 7.0]) / np.sqrt(200.0), rtol=1e-5
        )
        np.testing.assert_allclose(
            sim["Runner"].sight.numpy()[0, 1, :others], np.array([-2.0, 5.0]) / np.sqrt(200.0), rtol=1e-5
        )
        put(sim, [(4.0, 2.2)], [(2.5, 2.0), (4.0, 2.0), (9.0, 9.0)])
        stay(sim)
        stay(sim)
        last = sim["Runner"].sight.numpy()[0, 2]
        assert (
            last[0] != 0.0
            and last[1] == 0.0
            and (last[types] == [1.0, 0.0]).all()
            and (last[flags] == [1.0, 0.0]).all()
        ), "no other agent is left"
    else:
        np.testing.assert_array_equal(leaver[: 5 * others], 0.0)
        np.testing.assert_array_equal(leaver[types], [1.0, 0.0, 0.0])
        np.testing.assert_array_equal(leaver[flags], 1.0)
        assert leaver[-1] == 0.0
        np.testing.assert_array_equal(sim["Tagger"].sight.numpy()[0, 0, flags], [0.0, 1.0, 1.0])
    assert sim["Runner"].speed.numpy()[0, 0] == 0.0


def test_the_nearest_tagger_is_the_same_by_brute_force_and_by_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ties, and with runners who have left."""
    seen = []
    for limit in (10**6, 0):
        monkeypatch.setattr(grid, "BRUTE_FORCE_LIMIT", limit)
        definition = continuous_tag(taggers=5, runners=7, neighbours=4)
        assert sum(bool(system.access.nearest) for system in definition.systems) == 3, "both kinds, and the tags"
        assert bool(definition.grids) == (limit == 0)
        sim = wl.Simulation(definition, 1, "python", seed=5, autoreset="disabled", config={"tagging_distance": 0.1})
        rng = np.random.default_rng(0)
        columns = []
        for _ in range(4):
            for kind in ("Tagger", "Runner"):
                sim[kind].position.numpy()[:] = np.minimum(rng.integers(0, 6, sim[kind].position.shape), 4).astype(
                    np.float32
                )
            stay(sim)
            taggers, runners = (sim[kind].position.numpy()[0] for kind in ("Tagger", "Runner"))
            distances = np.linalg.norm(runners[:, None] - taggers[None], axis=2)
            np.testing.assert_array_equal(sim["Runner"].chaser.numpy()[0], distances.argmin(axis=1))
            columns += [
                np.concatenate([sim[k].nearest.numpy()[..., :4] for k in ("Tagger", "Runner")], axis=1).copy(),
                sim["Tagger"].tags.numpy().copy(),
            ]
            columns += [sim[k].sight.numpy().copy() for k in ("Tagger", "Runner")]
        assert 1 <= sim.world.runners_left.numpy()[0] <= 5, "some have left"
        seen.append(columns)
    for one, two in zip(*seen, strict=True):
        np.testing.assert_array_equal(one, two)


CONFIGURATIONS = {
    "TagContinuous-v0": (
        (1, 10),
        (11, 11),
        71,
        100,
        {"grid_length": 10.0, "tagging_distance": 0.01, "max_turn": np.pi / 2.0, "max_acceleration": 1.0},
    ),
    "TagContinuousTraining-v0": (
        (10, 100),
        (21, 21),
        71,
        500,
        {"grid_length": 20.0, "tagging_distance": 0.02, "max_turn": 2.356, "max_acceleration": 0.1},
    ),
    "TagContinuousDemo-v0": (
        (5, 100),
        (11, 11),
        71,
        500,
        {"grid_length": 20.0, "tagging_distance": 0.02, "max_turn": 2.35, "max_acceleration": 0.1},
    ),
}


@pytest.mark.parametrize("id", CONFIGURATIONS)
def test_named_configurations(id: str) -> None:
    counts, choices, size, limit, config = CONFIGURATIONS[id]
    definition = wl.definition(id)
    assert tuple(definition.entities.values()) == (*counts, sum(counts)) and definition.max_steps == limit
    assert {f.value_shape for _, f in definition.observations().values()} == {(size,)}
    assert {f.space.choices for _, f in definition.actions().values()} == {choices}
    for name, value in config.items():
        assert definition.world.fields[name].default == np.float32(value), name
    assert definition.world.fields["min_acceleration"].default == -np.float32(config["max_acceleration"])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"taggers": 0}, "taggers of continuous Tag is a whole number of 1 or more, not 0"),
        ({"runners": 2.0}, "runners of continuous Tag is a whole number of 1 or more, not 2.0"),
        ({"neighbours": 64}, "at most 63 neighbours, not 64"),
        ({"episode_length": -1}, "episode_length of continuous Tag is a whole number of 0 or more"),
        ({"grid_lenght": 3.0}, "has no setting 'grid_lenght'"),
        ({"runners_left": 3}, "has no setting 'runners_left'"),
        ({"grid_length": "a"}, "grid_length of continuous Tag is a number, not 'a'"),
        ({"start_seed": 2.7}, "start_seed of continuous Tag is a whole number, not 2.7"),
        ({"fixed_start": "False"}, "fixed_start of continuous Tag is a truth value, not 'False'"),
    ],
)
def test_wrong_arguments_are_refused(given: dict, words: str) -> None:
    with pytest.raises(wl.InputError, match=words):
        continuous_tag(**given)


def test_a_picture_shows_who_is_where_and_who_has_left() -> None:
    sim = small(1, 2, config={"tagging_distance": 0.1, "grid_length": np.array([10.0], np.float32)})
    put(sim, [(2.0, 2.0)], [(2.5, 2.0), (8.0, 8.0)])
    before = continuous.draw(sim, 0)
    assert before.dtype == np.uint8 and before.ndim == 3
    stay(sim)
    assert (continuous.draw(sim, 0) != before).any(axis=-1).sum() > 20
