"""Learning on a GPU: the same with and without CUDA graphs, no waits for the device, the CPU's first roll-out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import worldloom as wl
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.training.callbacks import Callback

sys.path.insert(0, str(Path(__file__).parents[1] / "learn"))
from worlds import FARM, HILL, KITCHEN, MINE, PARTY, YARD

DEVICE = "cuda:0"
PLAIN = PolicyConfig(hidden=(32, 32))
MEMORY = PolicyConfig(hidden=(32,), memory="lstm", memory_size=16, normalize_observations=True)
SQUASHED = PolicyConfig(hidden=(32, 32), action_distribution="squashed_gaussian", action_std="state")
ATTENTION = PolicyConfig(hidden=(32,), attention_size=32, attention_layers=2)
ASYMMETRIC = PolicyConfig(hidden=(32,), memory="gru", memory_size=16, normalize_observations=True, layer_norm=True)
PPO_SMALL = PPOConfig(num_envs=256, num_steps=16, seed=1, device=DEVICE, policy=PLAIN, total_steps=10**9)
A2C_SMALL = A2CConfig(num_envs=256, num_steps=16, seed=1, device=DEVICE, policy=PLAIN, total_steps=10**9)
VTRACE_SMALL = VTraceConfig(
    num_envs=256, num_steps=16, steps_per_update=4, seed=1, device=DEVICE, policy=PLAIN, total_steps=10**9
)

CASES: dict[str, tuple[type[OnPolicyTrainer], RolloutConfig, object, float]] = {
    "ppo": (PPO, PPO_SMALL, "CartPole-v1", 1e-3),
    "ppo, numbers": (PPO, replace(PPO_SMALL, schedule="kl", normalize_rewards=True), "Pendulum-v1", 1e-3),
    "ppo, lstm": (PPO, replace(PPO_SMALL, policy=MEMORY), "CartPole-v1", 1e-3),
    "ppo, bf16": (PPO, replace(PPO_SMALL, precision="bf16"), "CartPole-v1", 1e-2),
    "ppo, whole rows": (PPO, replace(PPO_SMALL, num_steps=15), "CartPole-v1", 1e-3),
    "ppo, masks": (PPO, PPO_SMALL, KITCHEN, 1e-3),
    "ppo, leaving": (PPO, PPO_SMALL, PARTY, 1e-3),
    "ppo, several": (PPO, PPO_SMALL, FARM, 1e-3),
    "ppo, choices and numbers": (PPO, PPO_SMALL, MINE, 1e-3),
    "ppo, several of each": (PPO, replace(PPO_SMALL, policy=SQUASHED), YARD, 1e-3),
    "ppo, squashed": (PPO, replace(PPO_SMALL, policy=SQUASHED), "Pendulum-v1", 1e-3),
    "a2c": (A2C, A2C_SMALL, "CartPole-v1", 1e-3),
    "a2c, several of each": (A2C, replace(A2C_SMALL, policy=SQUASHED), YARD, 1e-3),
    "ppo, attention": (PPO, replace(PPO_SMALL, policy=ATTENTION), HILL, 1e-3),
    "ppo, attention, bf16": (PPO, replace(PPO_SMALL, policy=ATTENTION, precision="bf16"), HILL, 1e-2),
    "ppo, asymmetric": (PPO, replace(PPO_SMALL, policy=ASYMMETRIC), HILL, 1e-3),
    "a2c, attention": (A2C, replace(A2C_SMALL, policy=ATTENTION), HILL, 1e-3),
    "a2c, lstm": (A2C, replace(A2C_SMALL, policy=MEMORY, normalize_rewards=True), "CartPole-v1", 1e-3),
    "vtrace": (VTrace, VTRACE_SMALL, "CartPole-v1", 1e-3),
    "vtrace, several of each": (VTrace, replace(VTRACE_SMALL, policy=SQUASHED), YARD, 1e-3),
    "vtrace, lstm": (VTrace, replace(VTRACE_SMALL, policy=MEMORY), "CartPole-v1", 1e-3),
}


def made(case: str, **changes: object) -> OnPolicyTrainer:
    kind, config, world, _ = CASES[case]
    config = replace(config, **changes)
    settings = {"dies_at": 2, "leaves_at": 3, "over_at": 5} if world is PARTY else {}
    return kind(wl.Simulation(world, config.num_envs, config.device, seed=config.seed, config=settings), config)


def parameters(trainer: OnPolicyTrainer) -> dict[str, torch.Tensor]:
    return {name: learner.optimizer.flat.cpu().clone() for name, learner in trainer.learners.items()}


@contextmanager
def nothing_may_wait() -> Iterator[None]:
    """Within it, a call of PyTorch that waits for the GPU is an error."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("case", CASES)
def test_graphs_do_what_single_launches_do(case: str) -> None:
    """The first iteration is not captured, the second is captured, and those that follow are replayed."""
    captured, plain = made(case), made(case, graphs=False)
    start = parameters(captured)
    for _ in range(3):
        captured.iterate()
        plain.iterate()
    for name, want in parameters(plain).items():
        have = parameters(captured)[name]
        assert not torch.equal(have, start[name]) and have.isfinite().all()
        assert (have - want).abs().max() < CASES[case][3], name
    captured.iterate()
    assert all(v.isfinite().all() for v in parameters(captured).values())
    assert captured._roll._graph is not None and captured._learn._graph is not None and plain._roll._graph is None


@pytest.mark.parametrize("case", CASES)
def test_nothing_in_an_iteration_waits_for_the_device(case: str) -> None:
    trainer = made(case)
    for _ in range(3):
        trainer.iterate()
    with nothing_may_wait():
        for _ in range(3):
            trainer.iterate()
            trainer.iteration += 1
            trainer._reports.send(trainer.iteration, 0, torch.cat(list(trainer.summaries().values())))
    assert all(v.isfinite().all() for v in parameters(trainer).values())


@pytest.mark.parametrize("case", ["ppo", "ppo, numbers", "ppo, lstm", "ppo, masks", "ppo, leaving", "ppo, several"])
def test_the_first_roll_out_is_that_of_the_cpu(case: str) -> None:
    """Rounding differs, so that an action now and then, and all that follows in its world, does too."""
    here, there = made(case), made(case, device="cpu")
    for trainer in (here, there):
        trainer._roll_out()
    for name, learner in here.learners.items():
        one, other = learner.actor.storage, there.learners[name].actor.storage
        first = (one.actions[0].cpu() - other.actions[0]).abs().amax(-1) < 1e-4
        assert first.double().mean() >= 0.999
        same = (one.actions.cpu() - other.actions).abs().amax(-1) < 1e-3
        assert same.double().mean() >= 0.999
        if one.masks is not None:
            actions = one.actions.long()
            assert (
                one.masks[..., :4].gather(-1, actions[..., :1]).all()
                and one.masks[..., 4:].gather(-1, actions[..., 1:]).all()
            )


def test_a_policy_that_does_not_learn_stays_within_graphs() -> None:
    policy_groups = {"wolves": PolicyGroup("Wolf", train=False), "flock": PolicyGroup("Sheep,Ram")}
    trainer = PPO(FARM, PPO_SMALL, policy_groups=policy_groups)
    before = parameters(trainer)
    for _ in range(4):
        trainer.iterate()
    after = parameters(trainer)
    assert torch.equal(before["wolves"], after["wolves"]) and not torch.equal(before["flock"], after["flock"])


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("case", ["ppo", "ppo, lstm", "ppo, several of each", "a2c, lstm", "vtrace"])
def test_a_training_goes_on_from_its_state(case: str, overlap: bool) -> None:
    """Into tensors that a graph holds already."""
    trainer, other = made(case, overlap=overlap), made(case, overlap=overlap)
    for _ in range(3):
        trainer.iterate()
        other.iterate()
    tensors, plain = trainer.state()
    saved = {k: v.clone() for k, v in tensors.items()}
    assert any("/rows/rollout/values" in k for k in saved) is overlap
    for _ in range(2):
        trainer.iterate()
        other.iterate()
    other.load_state(saved, plain)
    for _ in range(2):
        other.iterate()
    for name, want in parameters(trainer).items():
        assert (parameters(other)[name] - want).abs().max() < 1e-4


def test_numbers_arrive_in_order_and_the_score_is_right() -> None:
    rates: list[tuple[int, float]] = []

    class Note(Callback):
        def on_iteration(self, trainer: object, progress: object) -> None:
            rates.append((progress.iteration, progress.metrics["update/learning_rate"]))

    trainer = made("ppo", schedule="linear", total_steps=256 * 16 * 8)
    trainer.learn(callbacks=[Note()])
    assert [iteration for iteration, _ in rates] == list(range(1, 9))
    assert [rate for _, rate in rates] == pytest.approx([3e-4 * (1.0 - k / 8) for k in range(8)], rel=1e-4)


def test_what_is_changed_between_iterations_reaches_a_captured_graph() -> None:
    """A configuration per world moves its memory, and a policy group may stop learning: both are captured again."""
    config = PPOConfig(num_envs=256, num_steps=8, device=DEVICE, seed=0)
    trainers = [PPO("CartPole-v1", replace(config, graphs=graphs)) for graphs in (True, False)]
    for trainer in trainers:
        for _ in range(3):
            trainer.iterate()
        trainer.simulation.set_config("force", torch.linspace(5.0, 15.0, 256).numpy())
        trainer.simulation.set_config("max_steps", 3)
        for _ in range(3):
            trainer.iterate()
    kept = [next(iter(trainer.learners.values())).actor.storage for trainer in trainers]
    assert kept[0].finals == kept[1].finals == 3
    assert torch.equal(kept[0].dones, kept[1].dones)
    torch.testing.assert_close(kept[0].observations["sight"], kept[1].observations["sight"], rtol=1e-3, atol=1e-3)
    (learner,) = trainers[0].learners.values()
    learner.train = False
    before = learner.optimizer.flat.clone()
    trainers[0].iterate()
    trainers[0].iterate()
    assert torch.equal(before, learner.optimizer.flat)
