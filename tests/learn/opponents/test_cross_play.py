"""The cross-play matrix of policies with known choices."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import duel
import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.runs.cross_play import cross_play, default_side, split_agents
from worldloom.learn.runs.saved_run import SavedRun, open_run
from worldloom.learn.runs.training_request import TrainingRequest
from worldloom.learn.runs.training_run import run_training
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.trainer import Trainer

CONFIG = PPOConfig(
    num_envs=4, num_steps=4, minibatches=1, epochs=1, total_steps=16, device="cpu", policy=PolicyConfig(hidden=(4,))
)


class Choose(Callback):
    """Replaces policies by ones that take one choice with certainty."""

    def __init__(self, choices: dict[str, int]) -> None:
        self.choices = choices

    def on_iteration(self, trainer: Trainer, progress: object) -> None:
        for name, choice in self.choices.items():
            with torch.no_grad():
                for parameter in trainer.learners[name].policy.parameters():
                    parameter.zero_()
                trainer.learners[name].policy.network.actor.bias[choice] = 100.0


def trained(folder: Path, env: str, **choices: int) -> SavedRun:
    # The callback acts before the last checkpoint, which is written at the end.
    run_training(TrainingRequest(env, "ppo", CONFIG, checkpoint_every=0.0, run_dir=folder), [Choose(choices)])
    return open_run(folder)


def test_the_matrix_of_two_runs(tmp_path: Path) -> None:
    runs = [
        trained(tmp_path / "bold", "Duel-test-v0", Attacker=1, Defender=0),
        trained(tmp_path / "careful", "Duel-test-v0", Attacker=0, Defender=1),
    ]
    progress: list[int] = []
    result = cross_play(runs, 6, seed=3, on_progress=progress.append)
    # Four steps of the attacker's choice minus the defender's.
    assert result.side == "Attacker" and result.episodes == 6
    assert [[cell.mean for cell in row] for row in result.rows] == [[4.0, 0.0], [0.0, -4.0]]
    assert [[cell.mean for cell in row] for row in result.columns] == [[-4.0, 0.0], [0.0, 4.0]]
    assert all(cell.standard_error == 0.0 for row in result.rows for cell in row)
    assert progress[-1] == 4 * 6 and progress == sorted(progress)
    other = cross_play(runs, 2, side="Defender")
    assert [[cell.mean for cell in row] for row in other.rows] == [[-4.0, 0.0], [0.0, 4.0]]
    assert math.isnan(cross_play(runs[:1], 1).rows[0][0].standard_error)


def test_sides_of_one_shared_policy(tmp_path: Path) -> None:
    runs = [trained(tmp_path / "zero", "Twins-test-v0", Twin=0), trained(tmp_path / "one", "Twins-test-v0", Twin=1)]
    result = cross_play(runs, 4)
    assert result.side == "Twin[0:1]"
    assert [[cell.mean for cell in row] for row in result.rows] == [[0.0, -4.0], [4.0, 0.0]]
    assert [[cell.mean for cell in row] for row in result.columns] == [[0.0, 4.0], [-4.0, 0.0]]


def test_standard_errors_are_those_of_sampled_episodes(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", "Duel-test-v0")
    cell = cross_play([run], 400, stochastic=True, seed=5).rows[0][0]
    # Both choose nearly at random: the return is a sum of 4 differences, each with variance 1/2.
    assert cell.standard_error == pytest.approx(math.sqrt(4 * 0.5 / 400), rel=0.15)


def test_runs_that_cannot_meet_are_refused(tmp_path: Path) -> None:
    duels = trained(tmp_path / "duel", "Duel-test-v0")
    with pytest.raises(InputError, match="needs runs of the same world"):
        cross_play([duels, trained(tmp_path / "twins", "Twins-test-v0")], 1)
    with pytest.raises(InputError, match="has another --config than"):
        cross_play([duels, replace(duels, request=replace(duels.request, world_config={"max_steps": 3}))], 1)
    with pytest.raises(InputError, match="are all agents of world"):
        split_agents(duel.DUEL, "Attacker,Defender")
    with pytest.raises(InputError, match="there are no agents 'Ghost'"):
        cross_play([duels], 1, side="Ghost")
    assert default_side(duel.TWINS) == "Twin[0:1]" and default_side(duel.DUEL) == "Attacker"
