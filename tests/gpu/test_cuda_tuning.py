"""Explain, tune and profile on a GPU: other launches or fusing, the same bits; events that follow each other."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

import worldloom as wl
from worldloom.core.measure import tune as tuning
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.measure.timing import make_actions, step_runner
from worldloom.core.measure.trace import record
from worldloom.core.registry.world_files import find
from worldloom.core.runtime import tune_cache
from worldloom.core.runtime.tune_cache import TunedConfig
from worldloom.core.runtime.variants import KernelConfig, default_config, kernel_key, prepare
from worldloom.core.tools.compare import first_difference

MEADOW = str(Path(__file__).parents[2] / "examples" / "write_a_world.py")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test leaves settings behind, or finds any."""
    monkeypatch.setattr(tune_cache, "folder", lambda: tmp_path / "tuning")
    return tmp_path / "tuning"


@pytest.fixture
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "BLOCKS", (64, 128, 512))
    monkeypatch.setattr(tuning, "LIMITS", (32,))


def play(sims: list[wl.Simulation], steps: int) -> None:
    generator = np.random.default_rng(0)
    for _ in range(steps):
        actions = random_actions(sims[0], generator)
        for sim in sims:
            sim.step(actions)


@pytest.mark.parametrize(
    "world", ["CartPole-v1", "Blackjack-v1", "Pendulum-v1", MEADOW], ids=["CartPole", "Blackjack", "Pendulum", "Meadow"]
)
def test_fusing_changes_no_bit(world: str) -> None:
    fused, separate = (wl.Simulation(find(world), 500, "cuda:0", seed=3, fuse=fuse) for fuse in (True, False))
    for step in range(60):
        play([fused, separate], 5)
        difference = first_difference(separate, fused, step)
        assert difference is None, str(difference)


@pytest.mark.parametrize(
    "setting", [KernelConfig(32), KernelConfig(512), KernelConfig(64, 24), KernelConfig(256, 64)], ids=str
)
def test_variants_change_no_bit(setting: KernelConfig) -> None:
    plain, other = (wl.Simulation(find(MEADOW), 700, "cuda:0", seed=1) for _ in range(2))
    other.executor.use(prepare(other.executor.kernels, dict.fromkeys(other.executor.kernels, setting), other.device))
    assert {block for _, block in other.executor.tuned.values()} == {setting.block}
    other.reset(seeds=1)
    plain.reset(seeds=1)
    play([plain, other], 250)
    difference = first_difference(plain, other, 250)
    assert difference is None, str(difference)


def test_tuning_leaves_the_worlds_alone_and_is_used_again(few_candidates: None, folder: Path) -> None:
    sim, calm = (wl.Simulation("CartPole-v1", 4096, "cuda:0", seed=0) for _ in range(2))
    play([sim, calm], 30)
    found = sim.tune()
    assert first_difference(calm, sim, 30) is None and sim.errors() == []
    assert found.device == sim.device.name and [k.phase for k in found.kernels] == ["step", "reset"]
    assert len(list(folder.glob("*.json"))) == len(found.kernels)
    default = default_config(sim.device)
    changed = {k.name for k in found.kernels if (k.block, k.registers) != (default.block, default.registers)}
    assert set(sim.executor.tuned) == changed
    again = wl.Simulation("CartPole-v1", 8192, "cuda:0", seed=0)
    assert set(again.executor.tuned) == changed, "later simulations use it by themselves"
    play([sim, calm], 30)
    assert first_difference(calm, sim, 60) is None
    print(found)


def kept(sim: wl.Simulation, setting: KernelConfig, threads: int) -> None:
    for kernel in sim.executor.kernels.values():
        tune_cache.store(
            kernel_key(kernel, sim.device), TunedConfig(threads, setting.block, setting.registers, 2.0, 1.0), {}
        )


def test_what_was_kept_is_used_unless_told_otherwise() -> None:
    plain = wl.Simulation("CartPole-v1", 1000, "cuda:0", seed=0)
    assert plain.executor.tuned == {}
    kept(plain, KernelConfig(64, 40), 1000)
    tuned = wl.Simulation("CartPole-v1", 1000, "cuda:0", seed=0)
    assert {block for _, block in tuned.executor.tuned.values()} == {64} and set(tuned.executor.tuned) == set(
        plain.executor.kernels
    )
    assert wl.Simulation("CartPole-v1", 1000, "cuda:0", seed=0, tuned=False).executor.tuned == {}
    assert wl.Simulation("CartPole-v1", 2, "cuda:0", seed=0).executor.tuned == {}, "tuned for far more worlds"
    play([plain, tuned], 200)
    assert first_difference(plain, tuned, 200) is None


def test_a_spoilt_cache_is_ignored(folder: Path) -> None:
    plain = wl.Simulation("CartPole-v1", 1000, "cuda:0", seed=0)
    kept(plain, KernelConfig(64, 40), 1000)
    for path in folder.glob("*.json"):
        path.write_text("{" + path.read_text())
    with pytest.warns(UserWarning, match="is ignored: it holds no JSON"):
        assert wl.Simulation("CartPole-v1", 1000, "cuda:0", seed=0).executor.tuned == {}


def test_tuned_kernels_in_a_graph_of_pytorch() -> None:
    plain = wl.Simulation("CartPole-v1", 1000, "cuda:0", seed=0)
    kept(plain, KernelConfig(256, 48), 1000)
    tuned = wl.Simulation("CartPole-v1", 1000, "cuda:0", seed=0)
    assert tuned.executor.tuned
    play([plain, tuned], 1)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        tuned.enqueue_step()
    for _ in range(50):
        graph.replay()
        plain.step()
    torch.cuda.synchronize()
    assert first_difference(plain, tuned, 51) is None


def test_a_trace_of_real_launches() -> None:
    sim, calm = (wl.Simulation(find(MEADOW), 2000, "cuda:0", seed=0) for _ in range(2))
    actions = make_actions(sim)
    step_runner(sim, actions)(10)
    step_runner(calm, actions)(10)
    found = sim.profile(8, actions)
    assert first_difference(calm, sim, 10) is None
    kernels = len(sim.program.step)
    assert len(found.events) == 8 * kernels and all(e.seconds > 0.0 and e.shard == 0 for e in found.events)
    assert all(a.start + a.seconds <= b.start + 1e-6 for a, b in itertools.pairwise(found.events)), (
        "one after the other"
    )
    assert found.bandwidth > 1e11 and found.device == "cuda:0"
    assert "of bandwidth" in str(found)
    print(found)


@pytest.mark.parametrize("listening", [False, True], ids=["graphs", "ranges"])
def test_a_recorded_step_is_a_step(listening: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDLOOM_NVTX", "1" if listening else "0")
    sim, calm = (wl.Simulation("CartPole-v1", 500, "cuda:0", seed=0) for _ in range(2))
    actions = make_actions(sim)
    events = record(sim, 40, actions)
    step_runner(calm, actions)(40)
    assert first_difference(calm, sim, 40) is None and [e.step for e in events] == list(range(40))


def test_explained_as_on_the_cpu() -> None:
    found = wl.Simulation("CartPole-v1", 10, "cuda:0", seed=0).explain()
    assert len([k for k in found.kernels if k.phase == "step"]) == 1 and found.bytes_fused < found.bytes_unfused
