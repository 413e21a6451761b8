"""Continuous Tag against the rules in plain NumPy: two hundred random configurations.

Each is run for 150 steps, and for 500 in ``make test-thorough``.
"""

from __future__ import annotations

import numpy as np
import pytest
from references.tag_continuous import TagContinuous
from thorough import THOROUGH, sample

import worldloom as wl
from worldloom.envs.tag.continuous import continuous_tag

WORLDS, STEPS, NEAR = 100, 500 if THOROUGH else 150, 1e-5


def random_settings(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One configuration per world."""

    def between(low: float, high: float) -> np.ndarray:
        return rng.uniform(low, high, WORLDS).astype(np.float32)

    return {
        "grid_length": between(2.0, 20.0),
        "max_acceleration": between(0.05, 1.0),
        "min_acceleration": between(-1.0, 0.0),
        "max_turn": between(0.0, 3.0),
        "min_turn": between(-3.0, 0.0),
        "max_speed": between(0.2, 2.0),
        "skill_level_tagger": between(0.5, 1.5),
        "skill_level_runner": between(0.5, 1.5),
        "edge_hit_penalty": between(-1.0, 0.0),
        "tagging_distance": between(0.01, 0.15),
        "tag_reward_for_tagger": between(0.0, 10.0),
        "tag_penalty_for_runner": between(-10.0, 0.0),
        "step_penalty_for_tagger": between(-0.5, 0.0),
        "step_reward_for_runner": between(0.0, 0.5),
        "end_of_game_reward_for_runner": between(0.0, 3.0),
        "runner_exits_game_after_tagged": rng.random(WORLDS) < 0.8,
    }


def columns(sim: wl.Simulation, name: str) -> np.ndarray:
    """A component of all agents, taggers first."""
    return np.concatenate([sim["Tagger"][name].numpy(), sim["Runner"][name].numpy()], axis=1)


def load(reference: TagContinuous, sim: wl.Simulation) -> None:
    """Bring the reference to the state of the worlds."""
    position = columns(sim, "position").astype(float)
    reference.x, reference.y = position[..., 0], position[..., 1]
    reference.speed, reference.direction, reference.acceleration = (
        columns(sim, n).astype(float) for n in ("speed", "direction", "acceleration")
    )
    reference.in_game = columns(sim, "in_game").copy()
    reference.time = sim.world.step.numpy().astype(int)


@pytest.mark.parametrize(("taggers", "runners", "neighbours"), sample([(3, 6, 4), (2, 3, 0)], 1))
def test_every_step_is_the_references(taggers: int, runners: int, neighbours: int) -> None:
    """Decisions that lie within rounding of going the other way are left out, and must be rare."""
    made = continuous_tag(
        "TagContinuousParity-v0",
        taggers=taggers,
        runners=runners,
        neighbours=neighbours,
        acceleration_levels=5,
        turn_levels=7,
    )
    rng = np.random.default_rng(taggers)
    settings, limits = random_settings(rng), rng.integers(20, 200, WORLDS).astype(np.int32)
    sim = wl.Simulation(made, WORLDS, "cpu", seed=3, autoreset="disabled", config=settings)
    sim.set_config("max_steps", limits)
    sim.reset(seeds=3)
    exact = {name: value.astype(float) if value.dtype.kind == "f" else value for name, value in settings.items()}
    reference = TagContinuous(taggers, runners, neighbours, 5, 7, limits, (WORLDS,), **exact)
    doubtful = tags = caught = ran_out = several = 0
    for step in range(STEPS):
        load(reference, sim)
        before, old_runners = reference.in_game.copy(), sim["Runner"].active.numpy().copy()
        actions = np.stack([rng.integers(0, 6, before.shape), rng.integers(0, 8, before.shape)], axis=-1).astype(
            np.int32
        )
        sim.step({"Tagger.steer": actions[:, :taggers], "Runner.steer": actions[:, taggers:]})
        _, rewards, terminated, truncated = reference.step(actions)
        where = f"step {step}"

        position = columns(sim, "position")
        np.testing.assert_allclose(position[..., 0], reference.x, atol=1e-4, err_msg=where)
        np.testing.assert_allclose(position[..., 1], reference.y, atol=1e-4, err_msg=where)
        np.testing.assert_allclose(columns(sim, "speed"), reference.speed, atol=1e-4, err_msg=where)
        np.testing.assert_allclose(
            np.sin((columns(sim, "direction") - reference.direction) / 2.0), 0.0, atol=1e-4, err_msg=where
        )
        sure = reference.margin["speed"] > NEAR
        np.testing.assert_allclose(
            columns(sim, "acceleration")[sure], reference.acceleration[sure], atol=1e-4, err_msg=where
        )

        tags_sure = ((reference.margin["tag"] > NEAR) & (reference.margin["nearest_tagger"] > NEAR)).all(axis=-1)
        np.testing.assert_array_equal(columns(sim, "in_game")[tags_sure], reference.in_game[tags_sure], err_msg=where)
        np.testing.assert_array_equal(
            sim.world.runners_left.numpy()[tags_sure], reference.runners_left[tags_sure], err_msg=where
        )
        np.testing.assert_array_equal(sim.terminated.numpy()[tags_sure], terminated[tags_sure], err_msg=where)
        np.testing.assert_array_equal(sim.truncated.numpy(), truncated, err_msg=where)
        rewards_sure = tags_sure[:, None] & (reference.margin["edge"] > NEAR)
        np.testing.assert_allclose(
            columns(sim, "reward")[rewards_sure], rewards[rewards_sure], atol=1e-4, rtol=1e-5, err_msg=where
        )
        left = old_runners & ~sim["Runner"].in_game.numpy()
        np.testing.assert_array_equal(
            sim["Runner"].terminated.numpy() & old_runners,
            left | (old_runners & sim.terminated.numpy()[:, None]),
            err_msg=where,
        )

        after, worlds_after = reference.in_game, reference.time
        load(reference, sim)
        reference.in_game, reference.time = before, worlds_after  # observations are from before the tags
        sights = reference.observe()
        sight_sure = reference.margin["nearest"] > NEAR if neighbours else np.ones(before.shape, bool)
        np.testing.assert_allclose(columns(sim, "sight")[sight_sure], sights[sight_sure], atol=1e-4, err_msg=where)

        doubtful += (~sure).sum() + (~rewards_sure).sum() + (~sight_sure).sum()
        tags += (before & ~after).sum()
        several += int((sim["Tagger"].tags.numpy() > 1).sum())
        caught, ran_out = caught + sim.terminated.numpy().sum(), ran_out + sim.truncated.numpy().sum()
        over = sim.terminated.numpy() | sim.truncated.numpy()
        if over.any():
            sim.reset(over)
    assert sim.errors() == []
    assert doubtful < 0.002 * STEPS * before.size, doubtful
    assert tags > 2 * STEPS and caught > STEPS // 5 and ran_out > STEPS // 5 and several > STEPS // 25, (
        tags,
        caught,
        ran_out,
        several,
    )
    sim.close()
