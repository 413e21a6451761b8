"""The benchmarks of networks run with small settings."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from thorough import only_thorough

ROOT = Path(__file__).parents[2]


def run(program: str, out: Path, *arguments: str) -> list[dict]:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / program, "--device", "cpu", "--out", str(out), *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())["rows"]


@only_thorough  # a whole benchmark
def test_attention(tmp_path: Path):
    size = ("--units", "16", "--precisions", "fp32", "--worlds", "8", "--num-steps", "4", "--minibatch", "80")
    (row,) = run("attention.py", tmp_path / "attention.json", *size, "--iterations", "1", "--rounds", "1")
    assert row["units"] == 16 and row["minibatch"] == 80
    assert 0.0 < row["training"] < min(row["rollout"], row["update"])
    assert row["share"] == pytest.approx(row["teraflops"] / row["matmul"])


@only_thorough  # a whole benchmark
def test_networks(tmp_path: Path):
    rows = run("networks.py", tmp_path / "networks.json", "--seeds", "1", "--steps", "4096")
    assert [row["case"] for row in rows] == ["attention", "asymmetric"]
    assert all(0.0 <= row[name] <= 10.0 for row in rows for name in ("network", "plain"))
