"""Options of DQN: distributions of returns (C51) and noisy layers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from dqn_worlds import CANTEEN, SMALL, only
from thorough import THOROUGH
from worlds import CLOCK

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.registry import registry
from worldloom.learn import TrainingRequest, evaluate, export_run, make_actors, open_run, run_training
from worldloom.learn.actions.noise import NoiseSource
from worldloom.learn.algorithms.dqn import DQN
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.losses.td_loss import distribution_targets
from worldloom.learn.networks.values.noisy_linear import NoisyLinear, noise_from
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

CPU = torch.device("cpu")
C51 = {"atoms": 11, "v_min": -2.0, "v_max": 8.0}
CASES: dict[str, dict[str, Any]] = {
    "distributional": C51,
    "noisy": {"noisy": True},
    "both, dueling": {**C51, "noisy": True, "prioritized": True, "policy": PolicyConfig(hidden=(8,), dueling=True)},
}
TRAINED = CASES if THOROUGH else ["both, dueling"]
"""The cases of long tests: every option is in the last."""


class StopAtStep(Callback):
    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        if progress.steps == 120:
            trainer.stop()


def test_noisy_layers_compute_their_formula() -> None:
    torch.manual_seed(0)
    layer, values = NoisyLinear(5, 3, 1.0), torch.randn(7, 5)
    assert torch.equal(layer(values), layer.mean(values)), "no noise without a source"
    with noise_from(layer, NoiseSource(CPU, seed=4)):
        found = layer(values).detach().numpy()
    numbers = NoiseSource(CPU, seed=4).draw(7, 8).numpy()
    spread = np.sign(numbers) * np.sqrt(np.abs(numbers))
    weight, bias = layer.mean.weight.detach().numpy(), layer.mean.bias.detach().numpy()
    for row in range(7):
        noise = np.outer(spread[row, 5:], spread[row, :5])
        matrix = weight + layer.weight_sigma.detach().numpy() * noise
        wanted = matrix @ values[row].numpy() + bias + layer.bias_sigma.detach().numpy() * spread[row, 5:]
        np.testing.assert_allclose(found[row], wanted, rtol=1e-4, atol=1e-5)
    assert layer.source is None


@pytest.mark.parametrize("double", [True, False])
def test_targets_are_projected_distributions_of_the_best_choice(double: bool) -> None:
    trainer = DQN(CANTEEN, replace(SMALL, **C51, double=double, n_step=2, gamma=0.9, tau=0.3, learning_rate=1e-2))
    trainer.learn()
    learner = only(trainer)
    assert learner.replay is not None and learner.returns is not None
    batch = learner.replay.sample(64)
    found = distribution_targets(learner.policy, learner.target.outputs, learner.returns, batch, double).double()
    support = np.linspace(-2.0, 8.0, 11)
    with torch.no_grad():
        following = {"sight": batch.next_observations["sight"]}
        probabilities = learner.target.outputs(following).double().softmax(-1).numpy()
        online = learner.policy(following).double().numpy()
    for row in range(64):
        ranking = online[row] if double else probabilities[row] @ support
        allowed = batch.next_observations["/mask"][row].numpy()
        best = max((choice for choice in range(4) if allowed[choice]), key=lambda choice: ranking[choice])
        wanted = np.zeros(11)
        for atom in range(11):
            moved = np.clip(float(batch.rewards[row]) + float(batch.discounts[row]) * support[atom], -2.0, 8.0)
            position = moved + 2.0  # atoms are one apart
            low = min(int(position), 9)
            wanted[low] += probabilities[row, best, atom] * (low + 1 - position)
            wanted[low + 1] += probabilities[row, best, atom] * (position - low)
        np.testing.assert_allclose(found[row].numpy(), wanted, atol=1e-5)


@pytest.mark.parametrize("case", TRAINED)
def test_it_learns_to_choose(case: str) -> None:
    """The best dishes that are on offer in seven steps are worth 12; random ones 7.5."""
    config = replace(
        SMALL,
        num_envs=8,
        total_steps=2_400,
        learning_rate=1e-2,
        n_step=1,
        gamma=0.5,
        epsilon_fraction=0.5,
        **CASES[case],
    )
    trainer = DQN(CANTEEN, config)
    trainer.learn()
    worlds = wl.Simulation(CANTEEN, 8, "cpu", seed=5)
    result = evaluate(worlds, make_actors(trainer.learners, worlds), 8)
    assert result.mean_return == 12.0
    assert "PyTorch" in trainer.kernels()["Eater"]
    assert only(trainer).explorer.epsilon.item() == pytest.approx(0.0 if config.noisy else config.epsilon_end)


@pytest.mark.parametrize("case", TRAINED)
def test_a_stopped_training_continues_bit_for_bit(case: str) -> None:
    config = replace(SMALL, **CASES[case])
    straight, stopped, resumed = (DQN("CartPole-v1", config) for _ in range(3))
    straight.learn(200)
    stopped.learn(200, callbacks=[StopAtStep()])
    assert stopped.steps == 120
    tensors, plain = stopped.state()
    resumed.load_state({k: v.clone() for k, v in tensors.items()}, plain)
    resumed.learn(200)
    wanted, found = straight.state()[0], resumed.state()[0]
    assert wanted.keys() == found.keys()
    assert all(torch.equal(tensor, found[key]) for key, tensor in wanted.items())


def test_rows_explore_with_noise_of_their_own_and_evaluations_without() -> None:
    learner = only(DQN("CartPole-v1", replace(SMALL, noisy=True)))
    observations = {"sight": torch.ones(4, 4)}
    with learner.noisy():
        noisy = learner.policy(observations)
    quiet = learner.policy(observations)
    assert len(noisy.unique(dim=0)) == 4 and len(quiet.unique(dim=0)) == 1


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._REGISTRY, CLOCK.id, CLOCK)
        folder = tmp_path_factory.mktemp("runs") / "c51"
        config = replace(SMALL, **CASES["both, dueling"])
        run_training(TrainingRequest(env=CLOCK.id, algorithm="dqn", config=config, run_dir=folder))
        yield folder


def test_runs_are_evaluated_and_exported(run: Path, tmp_path: Path) -> None:
    saved = open_run(run)
    with saved.worlds(8, "cpu", seed=3) as worlds:
        ((_, actor),) = saved.actors(worlds).values()
        result = evaluate(worlds, saved.actors(worlds), 8)
    assert 0.0 <= result.mean_return <= 5.0
    exported = torch.jit.load(str(export_run(run, "torchscript", tmp_path / "policy.pt").path))
    sight = torch.eye(6)
    _, values = exported(sight)
    torch.testing.assert_close(values, actor.network({"sight": sight}))
    assert values.shape[0] == 6 and (values >= -2.0).all() and (values <= 8.0).all()


def test_a_start_needs_the_same_output_layers(run: Path, tmp_path: Path) -> None:
    request = TrainingRequest(
        env=CLOCK.id, algorithm="dqn", config=SMALL, run_dir=tmp_path / "plain", start_from=str(run)
    )
    with pytest.raises(InputError, match=r"whose --(policy\.dueling|atoms) is"):
        run_training(request)


def test_custom_networks_have_neither() -> None:
    with pytest.raises(InputError, match="atoms and noisy apply to worldloom's networks only"):
        DQN("CartPole-v1", replace(SMALL, noisy=True), network=torch.nn.Linear(4, 2))
