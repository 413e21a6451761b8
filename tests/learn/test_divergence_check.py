"""Trainings that diverge are ended, and what was good is kept."""

import math

import pytest
import torch

from worldloom.core.base.errors import WorldloomError
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import RunFolder
from worldloom.learn.runs.run_recorder import RunRecorder
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.divergence_check import DivergedError, DivergenceCheck, check_parameters
from worldloom.learn.training.progress import Progress

SMALL = PPOConfig(num_envs=4, num_steps=8, device="cpu", total_steps=10 * 32)


class Healthy:
    """Stands for a trainer whose parameters are finite."""

    observation_check = None

    def tensors(self):
        return {"a/policy/weight": torch.zeros(3)}


def check(guard, **metrics):
    guard.on_iteration(
        Healthy(), Progress(7, 10, 100, 1.0, 1.0, {k.replace("_", "/", 1): v for k, v in metrics.items()})
    )


def test_losses_must_stay_finite():
    guard = DivergenceCheck()
    check(guard, loss_value=math.nan)  # there was none yet
    check(guard, loss_value=1.0, episode_return=math.nan)
    with pytest.raises(DivergedError, match=r"loss/value is not finite in iteration 7: .*smaller learning_rate"):
        check(guard, loss_value=math.nan)
    with pytest.raises(DivergedError, match="update/gradient_norm is not finite"):
        check(DivergenceCheck(), update_gradient_norm=math.inf)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_parameters_must_be_finite(value):
    spoilt = torch.tensor([0.0, value])
    check_parameters(
        {
            "a/policy/weight": torch.zeros(2),
            "worlds/Cart.x": spoilt,
            "a/policy/count": torch.zeros(2, dtype=torch.int64),
        },
        3,
    )
    with pytest.raises(DivergedError, match="'a: weight' is not finite in iteration 3"):
        check_parameters({"a/policy/weight": spoilt}, 3)


class Spoil(Callback):
    """Makes a parameter NaN after the third iteration."""

    def on_iteration(self, trainer, progress):
        if progress.iteration == 3:
            with torch.no_grad():
                next(trainer.learners["Cart"].policy.parameters()).fill_(math.nan)


def test_the_last_good_checkpoint_is_kept(tmp_path):
    with (
        RunFolder(tmp_path / "run", {}, keep=5) as folder,
        pytest.raises(WorldloomError, match="not finite in iteration 4"),
    ):
        PPO("CartPole-v1", SMALL).learn(callbacks=[DivergenceCheck(), RunRecorder(folder, every_iterations=1), Spoil()])
    kept = Checkpoints(tmp_path / "run" / "checkpoints")
    assert [path.name for path in kept.all()] == ["iteration_00000001", "iteration_00000002", "iteration_00000003"]
    check_parameters(kept.load(kept.latest()).tensors, 3)


def test_no_checkpoint_is_written_of_parameters_that_are_not_finite(tmp_path):
    trainer = PPO("CartPole-v1", SMALL)
    with torch.no_grad():
        next(trainer.learners["Cart"].policy.parameters()).fill_(math.nan)
    with RunFolder(tmp_path / "run", {}) as folder:
        with pytest.raises(DivergedError):
            RunRecorder(folder).save(trainer)
        assert folder.checkpoints.all() == []


def test_a_policy_that_is_not_finite_from_the_start_is_found():
    trainer = PPO("CartPole-v1", SMALL)
    with torch.no_grad():
        next(trainer.learners["Cart"].policy.parameters()).fill_(math.nan)
    with pytest.raises(DivergedError, match="iteration 1"):
        trainer.learn()


def test_every_training_is_checked_before_other_callbacks():
    class Note(Callback):
        iterations = 0

        def on_iteration(self, trainer, progress):
            self.iterations = progress.iteration

    note = Note()
    with pytest.raises(DivergedError, match="not finite in iteration 4"):
        PPO("CartPole-v1", SMALL).learn(callbacks=[Spoil(), note])
    assert note.iterations == 3
