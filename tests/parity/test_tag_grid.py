"""Tag on a grid follows its rules: 201 random configurations, step by step against a reference in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from references.tag_grid import Rules, TagGrid
from thorough import THOROUGH, sample

import worldloom as wl
from worldloom.core.registry import registry
from worldloom.envs.tag.grid import Start, grid_tag

WORLDS, STEPS = 67, 500 if THOROUGH else 120
SHAPES = [(4, 1, True), (70, 1, False), (3, 70, False)]
"""Taggers, runners, and whether observations are full; one compiled world each. Seventy opponents report their
distances to one player, and to three."""


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))


def places(sim: wl.Simulation) -> np.ndarray:
    """Where everybody is, taggers first, shape (worlds, players, 2)."""
    return np.concatenate(
        [np.stack([sim[kind].x.numpy(), sim[kind].y.numpy()], axis=2) for kind in ("Tagger", "Runner")], axis=1
    )


def of_everybody(sim: wl.Simulation, column: str) -> np.ndarray:
    return np.concatenate([sim[kind][column].numpy() for kind in ("Tagger", "Runner")], axis=1)


@pytest.mark.parametrize(("taggers", "runners", "full"), sample(SHAPES, 2))
def test_every_step_is_the_references(taggers: int, runners: int, full: bool) -> None:
    rng = np.random.default_rng(taggers)
    config = {
        "grid_length": rng.integers(1, 12, WORLDS).astype(np.int32),
        "max_steps": rng.integers(1, 60, WORLDS).astype(np.int32),
        "start": rng.integers(0, len(Start), WORLDS).astype(np.int32),
        "wall_hit_penalty": rng.uniform(0.0, 1.0, WORLDS).astype(np.float32),
        "tag_reward_for_tagger": rng.uniform(0.0, 20.0, WORLDS).astype(np.float32),
        "tag_penalty_for_runner": rng.uniform(0.0, 5.0, WORLDS).astype(np.float32),
        "step_cost_for_tagger": rng.uniform(0.0, 0.1, WORLDS).astype(np.float32),
    }
    made = grid_tag("Compared-v0", taggers=taggers, runners=runners, full_observation=full)
    sim = wl.Simulation(made, WORLDS, "cpu", seed=taggers, config=config, threads=1)
    numbers = {name: value for name, value in config.items() if name not in ("max_steps", "start")}
    reference = TagGrid(Rules(taggers, runners, full, episode_length=config["max_steps"], **numbers), places(sim))
    ends, tags = 0, 0
    for step in range(STEPS):
        actions = rng.integers(0, 5, (WORLDS, taggers + runners), dtype=np.int32)
        sim.step({"Tagger.move": actions[:, :taggers], "Runner.move": actions[:, taggers:]})
        before = reference.active
        terminated, truncated = reference.step(actions)
        over, tagged, where = terminated | truncated, before & ~reference.active, f"step {step}"
        np.testing.assert_array_equal(sim.terminated.numpy(), terminated, err_msg=where)
        np.testing.assert_array_equal(sim.truncated.numpy(), truncated, err_msg=where)
        np.testing.assert_array_equal(sim["Runner"].terminated.numpy(), tagged, err_msg=where)
        np.testing.assert_allclose(of_everybody(sim, "reward"), reference.rewards, atol=1e-4, err_msg=where)
        np.testing.assert_allclose(
            of_everybody(sim, "final_sight")[over], reference.observations()[over], atol=1e-4, err_msg=where
        )
        reference.start(places(sim), over)
        np.testing.assert_array_equal(places(sim), reference.places, err_msg=where)
        np.testing.assert_array_equal(sim["Runner"].active.numpy(), reference.active, err_msg=where)
        np.testing.assert_allclose(of_everybody(sim, "sight"), reference.observations(), atol=1e-4, err_msg=where)
        ends, tags = ends + over.sum(), tags + tagged.sum()
    assert ends > STEPS // 50 * WORLDS and tags > STEPS // 50 * WORLDS // 10, "many episodes of either end"
    assert sim.errors() == []
