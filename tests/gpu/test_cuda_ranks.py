"""Processes equal one, to the accuracy of TF32 products: through gloo where two share a GPU, through NCCL otherwise.

NCCL's operations are part of the CUDA graph of an update. One process that exchanges with itself shows that they can be
captured; two processes with a GPU each need a machine with two.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file

from worldloom.learn import PPO, PolicyConfig, PPOConfig
from worldloom.learn.distributed.ranks import Ranks

WORKER = Path(__file__).parents[1] / "learn" / "rank_worker.py"


class SelfExchange(Ranks):
    """One process that exchanges with itself."""

    @property
    def is_single(self) -> bool:
        return False


def trained(ranks: Ranks) -> dict[str, torch.Tensor]:
    """Parameters after three iterations: one run directly, one captured, one replayed."""
    policy = PolicyConfig(hidden=(16,), normalize_observations=True)
    config = PPOConfig(num_envs=16, num_steps=16, seed=3, device="cuda:0", policy=policy, normalize_rewards=True)
    trainer = PPO("CartPole-v1", config, ranks=ranks)
    trainer.learn(3 * trainer.new_steps * config.num_envs)
    (learner,) = trainer.learners.values()
    return {name: tensor.cpu().clone() for name, tensor in learner.policy.state_dict().items()}


def test_nccl_in_the_graph_of_an_update(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = trained(Ranks())
    captured: list[bool] = []
    all_reduce = dist.all_reduce

    def noted(*arguments: object, **options: object) -> object:
        captured.append(torch.cuda.is_current_stream_capturing())
        return all_reduce(*arguments, **options)

    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    try:
        monkeypatch.setattr(dist, "all_reduce", noted)
        found = trained(SelfExchange(0, 1, dist.new_group(backend="gloo")))
    finally:
        dist.destroy_process_group()
    assert any(captured)
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, atol=5e-3, rtol=0.0, msg=name)


@pytest.mark.parametrize(
    "gpus",
    [
        pytest.param("0", id="gloo"),
        pytest.param(
            "0,1", id="nccl", marks=pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
        ),
    ],
)
def test_two_processes_equal_one(gpus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        str(WORKER),
        str(tmp_path),
        "cuda",
    ]
    ended = subprocess.run(
        command,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": gpus, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert ended.returncode == 0, ended.stderr
    monkeypatch.syspath_prepend(WORKER.parent)
    import rank_worker

    for name, trainer in rank_worker.cases(Ranks(), "cuda:0").items():
        tensors, rows = rank_worker.train(trainer)
        shared = load_file(tmp_path / f"{name}.safetensors")
        apart = {key: float((shared[key].double() - tensor.double()).abs().max()) for key, tensor in tensors.items()}
        assert max(apart.values()) < 5e-3, (name, apart)
        expected_rows = json.loads((tmp_path / f"{name}.json").read_text())
        assert [row["steps"] for row in expected_rows] == [row["steps"] for row in rows]
