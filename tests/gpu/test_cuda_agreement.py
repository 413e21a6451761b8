"""The GPU computes what the CPU does: step by step from the same state, integers exactly, reals within 1e-5."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import worldloom as wl
from worldloom.core.kernels import random

VECTORS = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]
"""Known answers of Philox4x32-10: counter, key, result."""


@wp.kernel(enable_backward=False)
def philox_kernel(counters: wp.array(dtype=wp.vec4ui), keys: wp.array(dtype=wp.vec2ui), out: wp.array(dtype=wp.vec4ui)):
    i = wp.tid()
    c, k = counters[i], keys[i]
    out[i] = random.philox(c[0], c[1], c[2], c[3], k[0], k[1])


def test_published_random_vectors() -> None:
    counters, keys = (
        wp.array(np.array([v[i] for v in VECTORS], np.uint32), dtype=t, device="cuda:0")
        for i, t in ((0, wp.vec4ui), (1, wp.vec2ui))
    )
    out = wp.zeros(len(VECTORS), dtype=wp.vec4ui, device="cuda:0")
    wp.launch(philox_kernel, len(VECTORS), inputs=[counters, keys, out], device="cuda:0")
    assert [tuple(row) for row in out.numpy().tolist()] == [v[2] for v in VECTORS]


def run_both(
    definition: str | wl.Definition, shape: tuple[int, ...], choices: int, steps: int, close, synchronise, **options
) -> wl.Simulation:
    """Run a world on both devices with the same actions and compare every column after every step."""
    cpu, gpu = (wl.Simulation(definition, shape[0], device, seed=6, **options) for device in ("cpu", "cuda:0"))
    close(cpu, gpu, "after the first reset")
    rng = np.random.default_rng(1)
    for step in range(steps):
        actions = rng.integers(0, choices, shape, dtype=np.int32)
        synchronise(cpu, gpu)
        cpu.step(actions)
        gpu.step(actions)
        close(cpu, gpu, f"step {step}")
        if options.get("autoreset") == "disabled":
            mask = cpu.world.finished.numpy().copy()
            cpu.reset(mask)
            gpu.reset(mask)
            close(cpu, gpu, f"reset after step {step}")
    assert (cpu.world.episode.numpy() > 0).any(), "no episode ended, so no reset was compared"
    assert cpu.errors() == gpu.errors() == []
    return gpu


@pytest.mark.parametrize("mode", ["same_step", "next_step", "disabled"])
def test_cartpole(close, synchronise, mode: str) -> None:
    run_both("CartPole-v1", (256, 1), 2, 200, close, synchronise, autoreset=mode)


def test_cartpole_runs_on_its_own_for_a_while(close) -> None:
    """Without bringing the states together in between, rounding stays small over an episode's first steps."""
    cpu, gpu = (wl.Simulation("CartPole-v1", 128, device, seed=6) for device in ("cpu", "cuda:0"))
    for step in range(8):
        actions = np.random.default_rng(step).integers(0, 2, 128, dtype=np.int32)
        cpu.step(actions)
        gpu.step(actions)
    close(cpu, gpu, "step 8", atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "unfused"])
def test_a_world_with_interaction(crowd: wl.Definition, close, synchronise, fuse: bool) -> None:
    """Loops over others, references, sums into other rows and the world, random numbers, shuffles, leaving agents."""
    gpu = run_both(crowd, (64, 5), 4, 90, close, synchronise, fuse=fuse)
    assert (gpu["Lamp"].visitors.numpy() > 0).any() and (gpu.world.crowding.numpy() > 0).any()
    assert (np.sort(gpu["Walker"].cards.numpy(), axis=-1) == np.arange(6)).all()


@pytest.mark.parametrize("mode", ["same_step", "next_step", "disabled"])
def test_agents_that_leave_in_every_mode(race: wl.Definition, close, mode: str) -> None:
    """Nothing here rounds, so that the interpreter and the GPU agree to the bit."""
    goal = np.arange(2, 10, dtype=np.int32)
    slow, gpu = (
        wl.Simulation(race, 8, device, seed=2, autoreset=mode, config={"goal": goal}) for device in ("python", "cuda:0")
    )
    rng = np.random.default_rng(0)
    for step in range(30):
        actions = rng.choice(3, (8, 2), p=[0.8, 0.1, 0.1]).astype(np.int32)
        slow.step(actions)
        gpu.step(actions)
        close(slow, gpu, f"step {step}", atol=0.0, rtol=0.0)


def test_same_step_keeps_the_last_observation(race: wl.Definition) -> None:
    gpu = wl.Simulation(race, 3, "cuda:0", seed=1)
    first = gpu["Runner"].number.numpy()
    for _ in range(4):
        gpu.step(np.zeros((3, 2), np.int32))
    assert gpu.terminated.numpy().all() and not gpu.truncated.numpy().any()
    final, sight = gpu["Runner"].final_sight.numpy(), gpu["Runner"].sight.numpy()
    assert (final[..., 0] == 4).all() and (final[..., 1] == first).all()
    assert (sight[..., 0] == 0).all() and (sight[..., 1] == gpu["Runner"].number.numpy()).all()


def test_masked_resets_and_seeds(race: wl.Definition, close) -> None:
    cpu, gpu = (wl.Simulation(race, 6, device, seed=1) for device in ("cpu", "cuda:0"))
    mask = np.array([True, False, True, False, False, True])
    for sim in (cpu, gpu):
        sim.step(np.array([[1, 0]] * 6, np.int32))
        sim.reset(mask=mask, seeds=np.arange(6) + 100)
    close(cpu, gpu, "after a masked reset", atol=0.0, rtol=0.0)
    assert gpu.world.step.numpy().tolist() == [0, 1, 0, 1, 1, 0]
    assert gpu.world.seed.numpy().tolist() == [100, 1, 102, 1, 1, 105]


# -- determinism -----------------------------------------------------------------------------------------------------


def trace(
    definition: str | wl.Definition, table: str, worlds: int, count: int, choices: int, steps: int
) -> list[bytes]:
    """Observations, rewards and flags of the first ten worlds after every step."""
    small = np.random.default_rng(5).integers(0, choices, (steps, 10, count), dtype=np.int32)
    sim = wl.Simulation(definition, worlds, "cuda:0", seed=42)
    watched = [sim[table].sight, sim[table].final_sight, sim[table].reward, sim.terminated, sim.truncated]
    out = []
    for action in small:
        sim.step(np.tile(action, (worlds // 10, 1)))
        out.append(b"".join(c.torch()[:10].cpu().numpy().tobytes() for c in watched))
    return out


def test_worlds_do_not_depend_on_the_batch(crowd: wl.Definition) -> None:
    runs = [trace("CartPole-v1", "Cart", worlds, 1, 2, 300) for worlds in (10, 1_000, 100_000)]
    assert runs[0] == runs[1] == runs[2] and len(set(runs[0])) == 300
    runs = [trace(crowd, "Walker", worlds, 5, 4, 100) for worlds in (10, 10, 1_000)]
    assert runs[0] == runs[1] == runs[2]
