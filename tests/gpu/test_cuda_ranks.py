"""Two processes that share a GPU, and so talk through gloo, equal one; to the accuracy of TF32 products."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from worldloom.learn.distributed.ranks import Ranks

WORKER = Path(__file__).parents[1] / "learn" / "rank_worker.py"


def test_two_processes_on_one_gpu_equal_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "0", "OMP_NUM_THREADS": "1"},
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
