"""Several processes: they equal one, they do not wait for ever, and they say what is wrong with their number."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rank_worker
from safetensors.torch import load_file
from thorough import sample

from worldloom.core.base.errors import InputError
from worldloom.learn import PPO, PPOConfig, VTrace, VTraceConfig
from worldloom.learn.distributed import ranks
from worldloom.learn.distributed.ranks import Ranks, join_process_group

ALL_CASES = (
    "ppo",
    "ppo-numbers",
    "ppo-leaving",
    "ppo-memory",
    "ppo-mixed",
    "ppo-stopping",
    "a2c",
    "ppo-module",
    "vtrace",
    "a2c-leaving",
    "vtrace-leaving",
)
CASES = sample(ALL_CASES, 5)
WORKER = Path(rank_worker.__file__)


def torchrun(*arguments: str, processes: int = 2, timeout_s: float = 300.0) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        str(processes),
        *arguments,
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout_s)


@pytest.fixture(scope="module")
def launch(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Two processes train with half of the worlds each; then one of them stalls."""
    folder = tmp_path_factory.mktemp("two")
    return folder, torchrun(str(WORKER), str(folder), "auto", *CASES, "stall")


@pytest.fixture(scope="module")
def two(launch: tuple[Path, subprocess.CompletedProcess[str]]) -> Path:
    """The folder with the results of two processes."""
    folder, ended = launch
    assert (folder / f"{CASES[-1]}.json").exists(), ended.stderr
    return folder


@pytest.fixture(scope="module")
def one() -> dict[str, rank_worker.OnPolicyTrainer]:
    return rank_worker.cases(Ranks(), names=CASES)


@pytest.mark.parametrize("case", CASES)
def test_two_processes_equal_one(case: str, one, two: Path) -> None:
    trainer = one[case]
    before = {
        k: v.detach().clone() for learner in trainer.learners.values() for k, v in learner.policy.named_parameters()
    }
    tensors, rows = rank_worker.train(trainer)
    shared = load_file(two / f"{case}.safetensors")
    assert set(shared) == set(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_allclose(shared[name].numpy(), tensor.numpy(), rtol=0.0, atol=1e-5, err_msg=name)
    after = {k: v.detach() for learner in trainer.learners.values() for k, v in learner.policy.named_parameters()}
    assert max(float((after[k] - v).abs().max()) for k, v in before.items()) > 1e-3, (
        "nothing was learned that could differ"
    )
    other_rows = json.loads((two / f"{case}.json").read_text())
    assert len(other_rows) == len(rows) == rank_worker.ITERATIONS
    for row, other in zip(rows, other_rows, strict=True):
        assert other == pytest.approx(row, rel=1e-4, abs=1e-5, nan_ok=True)
    assert any(math.isfinite(v) for v in rows[-1].values())
    for stopping in getattr(trainer, "_kl_stopping", {}).values():
        assert 1.0 < float(stopping.steps) < 32.0, "the update did not end early"


def test_a_stalled_process_does_not_hang_the_others(two: Path, launch) -> None:
    ended = launch[1]
    assert ended.returncode != 0
    assert "rank      : 0" in ended.stderr, ended.stderr  # the one that waited gave up


def test_worlds_are_shared_without_gaps() -> None:
    assert [Ranks(rank, 3).share(12) for rank in range(3)] == [(0, 4), (4, 4), (8, 4)]
    with pytest.raises(InputError, match="13 worlds cannot be shared evenly by 3 processes: use a multiple of 3"):
        Ranks(0, 3).share(13)


def test_alone_without_a_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    place, device = join_process_group("cpu")
    assert place.is_single and place.is_leader and device == "cpu"
    assert place.any(True) and not place.any(False)
    ranks.leave_process_group()


def test_half_a_launcher_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ranks.REQUIRED_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(
        InputError, match="RANK, MASTER_ADDR, MASTER_PORT is not set: start the processes with torchrun"
    ):
        join_process_group("cpu")


def test_worlds_that_were_not_saved_begin_other_episodes() -> None:
    def first_sights(iteration: int | None) -> np.ndarray:
        trainer = PPO("CartPole-v1", PPOConfig(num_envs=4, num_steps=4, device="cpu", seed=5))
        if iteration is not None:
            tensors, plain = trainer.state()
            several = {k: v for k, v in tensors.items() if not k.startswith("worlds/") and "/rows/" not in k}
            trainer.load_state(several, {**plain, "iteration": iteration})
        return next(iter(trainer.learners.values())).agent_group.observations()["sight"].numpy().copy()

    starts = [first_sights(iteration) for iteration in (None, 7, 7, 8)]
    np.testing.assert_array_equal(starts[1], starts[2])
    for a, b in ((0, 1), (0, 3), (1, 3)):
        assert (starts[a] != starts[b]).all()


def test_what_belongs_to_worlds_that_were_not_saved_is_forgotten() -> None:
    trainer = VTrace("CartPole-v1", VTraceConfig(num_envs=4, batches=1, num_steps=10, steps_per_update=5, device="cpu"))
    trainer.learn(2 * 4 * 5)
    actor = next(iter(trainer.learners.values())).actor
    assert actor.storage.weights is not None and actor.storage.weights.all() and actor.episodes.running.any()
    live, plain = trainer.state()
    tensors = {k: v.clone() for k, v in live.items()}
    trainer.load_state(
        {k: v for k, v in tensors.items() if not k.startswith(("worlds/", "window/")) and "/rows/" not in k}, plain
    )
    assert not actor.storage.weights.any() and not actor.episodes.running.any()
    trainer.load_state(tensors, plain)
    assert actor.storage.weights.all() and actor.episodes.running.any()
