"""The benchmark of trainings in games: settings of the command line, and scores of evaluated episodes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import games_training


def test_settings_replace_those_of_the_world() -> None:
    settings = games_training.Settings(set=("num_envs=2e3", "policy.hidden=(8,)", "schedule=constant"), device="cpu")
    config = games_training.training_config(settings, "Hanabi-v0:players=3")
    assert (config.num_envs, config.policy.hidden, config.schedule, config.num_steps) == (2000, (8,), "constant", 64)


@pytest.mark.usefixtures("quick_compilation")
def test_a_training_stops_at_its_goal() -> None:
    settings = games_training.Settings(
        goal=-1.0, every=1, episodes=3, set=("num_envs=4", "num_steps=8", "minibatches=2"), device="cpu"
    )
    result = games_training.train(settings, "Overcooked-v0:horizon=20", seed=0)
    assert result.steps == result.total_steps == 4 * 8 and result.seconds == result.total_seconds
    assert result.score >= 0.0 and len(result.curve) == 1
