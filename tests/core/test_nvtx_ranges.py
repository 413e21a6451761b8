"""NVTX ranges: emitted under a profiler only."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import worldloom as wl
from worldloom.core.base import nvtx_ranges


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A build of PyTorch that sends ranges, and what it sent."""
    sent: list[str] = []
    nvtx = ModuleType("torch.cuda.nvtx")
    nvtx.range_push = sent.append
    nvtx.range_pop = lambda: sent.append("end")
    import torch

    monkeypatch.setitem(sys.modules, "torch.cuda.nvtx", nvtx)
    monkeypatch.setattr(torch.cuda, "nvtx", nvtx)
    nvtx_ranges._nvtx_available.cache_clear()
    yield sent
    nvtx_ranges._nvtx_available.cache_clear()


@pytest.mark.parametrize(
    ("environment", "listening"),
    [
        ({}, False),
        ({"NVTX_INJECTION64_PATH": "/opt/nsys/lib.so"}, True),
        ({"WORLDLOOM_NVTX": "1"}, True),
        ({"NVTX_INJECTION64_PATH": "/opt/nsys/lib.so", "WORLDLOOM_NVTX": "0"}, False),
    ],
    ids=str,
)
def test_who_listens(
    monkeypatch: pytest.MonkeyPatch, heard: list[str], environment: dict[str, str], listening: bool
) -> None:
    for name in ("NVTX_INJECTION64_PATH", "NVTX_INJECTION32_PATH", "WORLDLOOM_NVTX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert nvtx_ranges.profiler_attached() is listening

    def run() -> None:
        heard.append("run")

    around = nvtx_ranges.with_nvtx_range("work", run)
    assert (around is run) is not listening, "nothing is put around it in vain"
    heard.clear()
    around()
    assert heard == (["work", "run", "end"] if listening else ["run"])


def test_steps_resets_and_profiled_kernels_are_named(monkeypatch: pytest.MonkeyPatch, heard: list[str]) -> None:
    monkeypatch.setenv("WORLDLOOM_NVTX", "1")
    sim = wl.Simulation("CartPole-v1", 4, "cpu", seed=0, threads=1)
    heard.clear()
    sim.step()
    sim.reset()
    assert heard == ["worldloom step", "end", "worldloom reset", "end"]
    heard.clear()
    sim.profile(2)
    kernels = [name for name in heard if name.startswith("worldloom step_0: begin_step, ")]
    assert len(kernels) == 2 and "swing(Cart)" in kernels[0]


def test_a_range_ends_after_an_error(heard: list[str]) -> None:
    with pytest.raises(KeyError), nvtx_ranges.nvtx_range("work"):
        raise KeyError
    assert heard == ["work", "end"]


def test_a_build_of_pytorch_that_cannot_send(monkeypatch: pytest.MonkeyPatch, heard: list[str]) -> None:
    import torch

    def fail(name: str) -> None:
        raise RuntimeError("NVTX functions not installed")

    monkeypatch.setattr(torch.cuda.nvtx, "range_push", fail)
    monkeypatch.setenv("WORLDLOOM_NVTX", "1")
    assert not nvtx_ranges.profiler_attached()
