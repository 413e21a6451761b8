"""Training on images on a GPU: space to depth, half precision, graphs, overlap; and on consoles if ROMs exist."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from worldloom.learn.algorithms.registry import ALGORITHMS
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.networks import NatureCNN
from worldloom.learn.networks.convolution.space_to_depth import _space_to_depth_torch, space_to_depth

sys.path.insert(0, str(Path(__file__).parents[1] / "learn"))
from worlds import CINEMA

DEVICE = "cuda:0"
COMMON: dict[str, Any] = {
    "num_envs": 64,
    "learning_rate": 1e-3,
    "clip_rewards": True,
    "episodic_life": True,
    "gamma": 0.5,
}
CHANGES: dict[str, tuple[str, dict[str, Any], int]] = {
    "ppo": ("ppo", {"num_steps": 8, "minibatches": 4}, 12),
    "a2c": ("a2c", {"num_steps": 4}, 40),
    "vtrace": ("vtrace", {"num_steps": 4, "steps_per_update": 1, "batches": 4}, 120),
    "dqn": (
        "dqn",
        {
            "stack": 4,
            "batch_size": 64,
            "learning_starts": 256,
            "replay_capacity": 64 * 64,
            "n_step": 1,
            "epsilon_fraction": 0.5,
        },
        80,
    ),
}
ROLLED = ("ppo", "a2c", "vtrace")


def make_trainer(name: str, precision: str = "bf16", **changes: Any) -> Any:
    algorithm, settings, _ = CHANGES[name]
    kind, config = ALGORITHMS[algorithm]
    return kind(
        CINEMA,
        config(device=DEVICE, precision=precision, seed=1, total_steps=10**9, **{**COMMON, **settings, **changes}),
    )


def weights(trainer: Any) -> torch.Tensor:
    return trainer.learners["Watcher"].optimizer.flat.cpu().clone()


@contextmanager
def nothing_may_wait() -> Iterator[None]:
    """Within it, a synchronizing PyTorch call is an error."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("count", [1, 5, 4097])
def test_squares_are_those_of_pytorch(count: int, dtype: torch.dtype) -> None:
    picture = torch.randint(0, 256, (count, 4, 84, 84), dtype=torch.uint8, device=DEVICE)
    assert torch.equal(space_to_depth(picture, dtype), _space_to_depth_torch(picture, dtype))


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 5e-3), ("bf16", 5e-2)])
def test_the_network_is_that_of_the_cpu(precision: str, tolerance: float) -> None:
    torch.manual_seed(0)
    network, picture = NatureCNN((4, 84, 84)), torch.randint(0, 256, (33, 4, 84, 84), dtype=torch.uint8)
    wanted = network(picture)
    gradients = torch.autograd.grad(wanted.sum(), tuple(network.parameters()))
    there = network.to(DEVICE)
    with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
        output = there(picture.to(DEVICE))
    torch.testing.assert_close(output.float().cpu(), wanted, atol=tolerance, rtol=tolerance)
    for one, other in zip(torch.autograd.grad(output.float().sum(), tuple(there.parameters())), gradients, strict=True):
        assert (one.cpu() - other).norm() <= 2.0 * tolerance * other.norm()


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("name", ROLLED)
def test_graphs_do_what_single_launches_do(name: str, overlap: bool) -> None:
    """With tiny learning rates, so that both see the same data: rounding of gradients near 0 changes Adam's steps."""
    captured, plain = (
        make_trainer(name, "fp32", overlap=overlap, graphs=graphs, learning_rate=1e-5) for graphs in (True, False)
    )
    start = weights(captured)
    for _ in range(4):
        captured.iterate()
        plain.iterate()
    have, want = weights(captured), weights(plain)
    assert not torch.equal(have, start) and have.isfinite().all()
    assert (have - want).norm() < 0.3 * (want - start).norm()
    graphs = [captured._both] if overlap else [captured._roll, captured._learn]
    assert all(repeated._graph is not None for repeated in graphs)


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("name", ROLLED)
def test_nothing_in_an_iteration_waits_for_the_device(name: str, overlap: bool) -> None:
    trainer = make_trainer(name, overlap=overlap)
    for _ in range(4):
        trainer.iterate()
    with nothing_may_wait():
        for _ in range(3):
            trainer.iterate()
    assert weights(trainer).isfinite().all()


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_pictures_are_learned_from(name: str, overlap: bool) -> None:
    if overlap and name not in ROLLED:
        pytest.skip("DQN takes no roll-outs")
    trainer = make_trainer(name, **({"overlap": True} if overlap else {}))
    steps = getattr(trainer.config, "steps_per_update", getattr(trainer.config, "num_steps", 1))
    trainer.learn(2 * CHANGES[name][2] * 64 * steps)
    assert trainer.score > 12.0  # of 36; random actions score 0


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in ("sac", "td3")])
def test_consoles_are_learned_from(name: str, overlap: bool) -> None:
    """With the game's defaults at a smaller size, through graphs; stored observations are those of the consoles."""
    pytest.importorskip("ale_py", reason="needs the ROMs of ale-py")
    if overlap and name not in ROLLED:
        pytest.skip("DQN takes no roll-outs")
    kind, settings = ALGORITHMS[name]
    small = {
        "ppo": {"num_steps": 8, "minibatches": 4},
        "vtrace": {"batches": 4},
        "dqn": {"learning_starts": 256, "replay_capacity": 64 * 40, "batch_size": 64},
    }
    config: TrainConfig = replace(
        tuned_config("Breakout-v5", name, settings, DEVICE), num_envs=64, device=DEVICE, **small.get(name, {})
    )
    trainer: Any = kind("Breakout-v5", replace(config, overlap=True) if overlap else config)
    assert config.precision == "bf16"
    trainer.learn(trainer.simulation.num_worlds * 160)
    learner = trainer.learners["Console"]
    assert learner.optimizer.flat.isfinite().all()
    if name in ROLLED:
        trainer.iterate()
        stored = learner.actor.storage.newest(2)["screen"]
        now = learner.agent_group.observations()["screen"]
        assert (
            stored.dtype == torch.uint8 and (stored[-1, :, 1:] == now[:, :3]).flatten(1).all(1).float().mean() > 0.5
        )  # all but the worlds that were reset
