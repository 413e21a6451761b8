"""Files written by earlier versions open, and continue to the same result.

``files/`` holds snapshots, replay logs and run folders written at commit 94ec064, before the packages were reorganized,
and the result of continuing each with that version. A change that breaks one of these tests breaks users' files.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import platform
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from thorough import sample

import worldloom as wl
from worldloom.cli.main import main

pytestmark = pytest.mark.usefixtures("without_curves")

FILES = Path(__file__).parent / "files"
EXPECTED: dict[str, dict] = json.loads((FILES / "expected.json").read_text())
WORLDS = list(EXPECTED)
REPLAYS = [name for name in WORLDS if (FILES / f"{name}.replay.safetensors.xz").exists()]
RUNS = ["ppo", "ppo_gru", "a2c", "vtrace", "dqn"]
STEPS = 20
SAME_ARCHITECTURE = platform.machine() == "x86_64"
"""The files were written in fast mode on x86-64, where elementary functions round in their own way."""
SAME_MACHINE = os.environ.get("WORLDLOOM_SAME_MACHINE") == "1"
"""PyTorch's sums depend on the processor, so a training is equal bit for bit only on the machine that wrote it."""


def require_rom(name: str) -> None:
    if name == "pong_v5":
        pytest.importorskip("ale_py", reason="Pong-v5 needs the ROMs of ale-py: pip install 'worldloom[atari]'")


def unpack(name: str, folder: Path) -> Path:
    """Decompress one of ``files/`` into ``folder``."""
    path = folder / name
    path.write_bytes(lzma.decompress((FILES / f"{name}.xz").read_bytes()))
    return path


def digest(values: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]


@pytest.mark.parametrize("name", sample(WORLDS, 4))
def test_a_snapshot_restores_and_steps_to_the_same_columns(name: str, tmp_path: Path):
    require_rom(name)
    expected = EXPECTED[name]
    snapshot = wl.Snapshot.load(unpack(f"{name}.snapshot.safetensors", tmp_path))
    sim = wl.Simulation(expected["env"], expected["num_worlds"], "cpu", seed=6)
    sim.restore(snapshot)
    for _ in range(STEPS):
        sim.step()
    assert sim.errors() == []
    sim.snapshot().save(tmp_path / "after.safetensors")
    columns = {column: digest(values) for column, values in load_file(tmp_path / "after.safetensors").items()}
    assert columns.keys() == expected["columns"].keys()
    if SAME_ARCHITECTURE:
        assert columns == expected["columns"]


@pytest.mark.parametrize("name", REPLAYS)
def test_a_replay_log_loads_and_replays(name: str, tmp_path: Path):
    require_rom(name)
    log = wl.ReplayLog.load(unpack(f"{name}.replay.safetensors", tmp_path))
    steps = 0
    for world in range(EXPECTED[name]["num_worlds"]):
        for episode in log.episodes(world):
            with log.replay(world, episode, device="cpu", verify=SAME_ARCHITECTURE) as replay:
                steps += sum(1 for _ in replay)
    assert steps == STEPS * EXPECTED[name]["num_worlds"]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_folder_resumes_to_the_same_tensors(name: str, tmp_path: Path):
    folder = tmp_path / name
    shutil.copytree(FILES / "training" / name, folder)
    assert main(["train", "--resume", "--run-dir", str(folder), "--no-video", "--quiet"]) == 0
    last = sorted((folder / "checkpoints").glob("iteration_*"))[-1]
    tensors = load_file(last / "tensors.safetensors")
    expected = load_file(unpack(f"{name}.final.safetensors", tmp_path))
    assert tensors.keys() == expected.keys()
    for key, values in expected.items():
        if SAME_MACHINE:
            assert tensors[key].tobytes() == values.tobytes(), key
        else:
            np.testing.assert_allclose(tensors[key], values, rtol=1e-5, atol=1e-5, err_msg=key)
