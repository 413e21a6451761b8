"""The programs that measure peers show their help, refuse clearly without their peer, and write what others read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from peers.peer import read_rates, write_rates

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROGRAMS = {"envpool_rate.py": ("envpool", "envpool"), "warpdrive_tag.py": ("warp_drive", "rl-warp-drive")}
"""The module that each program imports, and the package that has it."""


def run(program: str, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / "peers" / program), *arguments]
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def test_every_program_is_tested() -> None:
    found = {file.name for file in (BENCHMARKS / "peers").glob("*.py")} - {"peer.py"}
    assert found == set(PROGRAMS)


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_says_how_to_install_and_run(program: str) -> None:
    ended = run(program, "--help")
    assert ended.returncode == 0, ended.stderr
    shown = " ".join(ended.stdout.split())
    assert f"pip install {PROGRAMS[program][1]}==" in shown
    assert f"python benchmarks/peers/{program}" in shown


@pytest.mark.parametrize("program", PROGRAMS)
def test_one_sentence_where_the_peer_is_not_installed(program: str, tmp_path: Path) -> None:
    module, package = PROGRAMS[program]
    (tmp_path / f"{module}.py").write_text("raise ImportError('hidden by the test')")
    ended = run(program, path=str(tmp_path))
    assert ended.returncode == 1 and not ended.stdout
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"{module} cannot be imported") and f"`pip install {package}==" in line


def test_envpool_is_measured(tmp_path: Path) -> None:
    pytest.importorskip("envpool")
    ended = run(
        "envpool_rate.py",
        *("--task", "CartPole-v1", "--num-envs", "4", "--batch-size", "2", "--seconds", "0.1", "--frame-skip", "3"),
        *("--out", str(tmp_path / "rates.json")),
    )
    assert ended.returncode == 0, ended.stderr
    (row,) = json.loads((tmp_path / "rates.json").read_text())["rates"]
    assert row["frames_per_second"] == 3 * row["steps_per_second"] > 0.0


def test_figures_are_read_by_part(tmp_path: Path) -> None:
    row = {"part": "steps", "world": "grid", "agents": 5, "steps_per_second": 2.0}
    write_rates(tmp_path / "a.json", "Peer 1.0", {"hardware": "a GPU"}, [row, row | {"part": "training"}])
    assert read_rates(tmp_path / "a.json", "steps") == {"Peer 1.0, a GPU": {("grid", 5): 2.0}}
    assert read_rates(None, "steps") == {}
