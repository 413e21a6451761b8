"""Rigid bodies on a GPU: the same bits as on the CPU in exact mode, and faults that stay within their worlds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "physics"))

from fuzz_bodies import run
from test_many_bodies import Stone, heap, simulate
from test_physics_devices import final_states
from test_queries import BALL, WALL, result, scene


def test_bodies_and_joints_agree_bit_for_bit_in_exact_mode() -> None:
    for cpu, gpu in zip(final_states("cpu", 60, exact=True), final_states("cuda:0", 60, exact=True), strict=True):
        assert np.array_equal(cpu.view(np.int32), gpu.view(np.int32))


def test_queries_agree() -> None:
    names = ("row", "distance", "normal", "sees", "ranges", "first", "number")
    cpu, gpu = (result(scene([WALL, BALL], device), *names) for device in ("cpu", "cuda:0"))
    for one, other in zip(cpu, gpu, strict=True):
        assert np.allclose(one, other, atol=1e-5)


def test_extreme_bodies_stay_within_their_worlds() -> None:
    report = run(2_000, steps=20, device="cuda:0")
    assert report.unnoticed == set() and report.changed == set() and report.not_finite == set()


def test_many_bodies_agree_bit_for_bit_in_exact_mode() -> None:
    states = []
    for device in ("cpu", "cuda:0"):
        sim = simulate(heap(80, 5), heap(40, 6), device=device, exact=True)
        for _ in range(60):
            sim.step()
        assert sim.errors() == []
        states.append([sim[Stone].padded(name).cpu().numpy() for name in ("position", "rotation", "velocity", "spin")])
    for cpu, gpu in zip(*states, strict=True):
        assert np.array_equal(cpu.view(np.int32), gpu.view(np.int32))


def test_a_heap_comes_to_rest() -> None:
    sim = simulate(heap(100, 7), device="cuda:0")
    for _ in range(300):
        sim.step()
    assert sim.errors() == []
    speed = np.linalg.norm(sim[Stone].velocity.torch()[0, 1:101].cpu().numpy(), axis=1)
    assert speed.mean() < 0.01
