"""World steps per second of CartPole against the bytes that a step must move.

Through the public interfaces, ``Simulation.step`` and ``step`` of ``wl.make(..., env_type="torch")``, and on a GPU in a
graph of several steps, the engine's own launches.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import warp as wp
from random_player import env_runner

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.measure.timing import median_rates

ROUNDS = 7


@dataclass
class StepRate:
    """One row of the sweep.

    Attributes:
        in_place: Steps per second with constant actions, already in their column: one graph launch per step.
        random: On a GPU, steps per second of a graph of eight steps, each with its own random actions, which lie in its
            memory already: the engine's own launches.
        handed_in: Steps per second with a tensor of random actions handed to every ``Simulation.step``.
        env: Steps per second of ``wl.make(..., env_type="torch")`` with a tensor of int64 actions handed to every step,
            whose results are copies.
        share_of_bandwidth: Bytes moved per second over the measured bandwidth of a copy.
    """

    num_worlds: int
    microseconds_in_place: float
    in_place: float
    microseconds_handed_in: float
    handed_in: float
    microseconds_env: float
    env: float
    microseconds_random: float | None
    random: float | None
    bytes_per_step: int
    share_of_bandwidth: float


@dataclass
class CheckCost:
    num_worlds: int
    microseconds_with: float
    microseconds_without: float
    percent: float


def seconds_per_call(call: Callable[[int], None], device: str, seconds: float) -> float:
    """The median over rounds of the time of one call, after a warm-up; the device is idle around each round."""
    wp.synchronize_device(device)
    for i in range(20):
        call(i)
    wp.synchronize_device(device)
    start = time.perf_counter()
    for i in range(20):
        call(i)
    wp.synchronize_device(device)
    each = (time.perf_counter() - start) / 20
    repeats = max(20, int(seconds / ROUNDS / max(each, 1e-7)))
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for i in range(repeats):
            call(i)
        wp.synchronize_device(device)
        found.append((time.perf_counter() - start) / repeats)
    return statistics.median(found)


def random_actions(num_worlds: int, device: str, sets: int = 8) -> list[object]:
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 2, (num_worlds, 1)).astype(np.int32) for _ in range(sets)]
    if device.startswith("cuda"):
        import torch

        return [torch.from_numpy(a).to(device) for a in arrays]
    return list(arrays)


def seconds_at_random(sim: wl.Simulation, actions: list[object], device: str, seconds: float) -> float | None:
    """Seconds per step of a graph of several steps, each with its own actions on the GPU; None on the CPU."""
    if not sim.device.is_cuda:
        return None
    column = sim.tables["Cart"]["push"]
    own = column.array
    with wp.ScopedCapture(device=sim.device, force_module_load=False) as capture:
        for taken in actions:
            column.array = wp.from_torch(taken.reshape(-1))
            for kernel in sim.program.step:
                sim.executor.launch(kernel)
    column.array = own
    return seconds_per_call(lambda i: wp.capture_launch(capture.graph), device, seconds) / len(actions)


def seconds_through_env(num_worlds: int, device: str, seconds: float) -> float:
    """Seconds per ``env.step`` with other random actions at every step."""
    with wl.make("CartPole-v1", num_worlds, device=device, env_type="torch", seed=0) as env:
        env.reset()
        run = env_runner(env)
        return 1.0 / median_rates({"": run}, seconds, ROUNDS)[""]


def bench_sweep(device: str, worlds: list[int], seconds: float, bandwidth: float) -> list[StepRate]:
    rows = []
    for n in worlds:
        actions = random_actions(n, device)
        sim = wl.Simulation("CartPole-v1", n, device, seed=0)
        sim.step(actions[0])
        handed = seconds_per_call(lambda i, s=sim, a=actions: s.step(a[i % len(a)]), device, seconds)
        random = seconds_at_random(sim, actions, device, seconds)
        placed = seconds_per_call(lambda i, s=sim: s.step(), device, seconds)
        moved = sum(k.bytes_read + k.bytes_written for k in sim.program.step if isinstance(k, KernelSpec)) * n
        sim.close()
        through_env = seconds_through_env(n, device, seconds)
        at_random = (None, None) if random is None else (random * 1e6, n / random)
        rows.append(
            StepRate(
                n,
                placed * 1e6,
                n / placed,
                handed * 1e6,
                n / handed,
                through_env * 1e6,
                n / through_env,
                *at_random,
                moved,
                moved / (random or placed) / bandwidth,
            )
        )
    return rows


def bench_checks(device: str, num_worlds: int, seconds: float) -> CheckCost:
    """What the search for bad actions and numbers that are not finite costs, measured in alternation."""
    actions = random_actions(num_worlds, device)
    sims = {checks: wl.Simulation("CartPole-v1", num_worlds, device, seed=0, checks=checks) for checks in (True, False)}
    times: dict[bool, list[float]] = {True: [], False: []}
    for sim in sims.values():
        sim.step(actions[0])
    for _ in range(5):
        for checks, sim in sims.items():
            times[checks].append(seconds_per_call(lambda i, s=sim: s.step(), device, seconds / 5))
    with_, without = (statistics.median(times[c]) for c in (True, False))
    return CheckCost(num_worlds, with_ * 1e6, without * 1e6, (with_ / without - 1) * 100)
