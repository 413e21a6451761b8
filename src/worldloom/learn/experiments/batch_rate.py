"""How fast a training is with one number of worlds: environment steps per second of rollout and update."""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import torch

from worldloom.core.base.device import resolve
from worldloom.core.base.errors import InputError
from worldloom.core.registry.world_files import find
from worldloom.core.simulation import Simulation
from worldloom.learn.algorithms.registry import algorithm
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.runs.saved_policies import load_opponents, load_starts
from worldloom.learn.runs.training_request import TrainingRequest
from worldloom.learn.training.trainer import Trainer

WARM_UP_ITERATIONS = {"cpu": 1, "cuda": 3}
"""Iterations before the measurement: on a GPU the first compiles, the second captures a CUDA graph."""
WINDOWS, WINDOW_S = 3, 0.3
"""The rate is that of the fastest of this many windows, each of at least so many seconds and one iteration."""
ENOUGH_S = 3.0
"""No further window begins after this many seconds."""


@dataclass(frozen=True)
class BatchRate:
    """The rate of a training with one number of worlds.

    Attributes:
        num_envs: The number of worlds.
        steps_per_second: Environment steps per second; None where it could not be measured.
        iteration_steps: Environment steps of an iteration, summed over the worlds.
        memory: Memory of the training in bytes: what it holds at the end on a GPU, the peak of the process on the CPU.
        problem: Why it could not be measured; empty where it could.
    """

    num_envs: int
    steps_per_second: float | None = None
    iteration_steps: int = 0
    memory: int = 0
    problem: str = ""


def measure_rate(
    request: TrainingRequest, num_envs: int, base_memory: int = 0, clock: Callable[[], float] = time.perf_counter
) -> BatchRate:
    """Train ``request`` with ``num_envs`` worlds for a few seconds; nothing is written, and the policies are lost.

    A training that does not fit into memory has a ``problem``, and so has one that its settings do not allow.

    Args:
        request: The training.
        num_envs: The number of worlds.
        base_memory: :func:`peak_memory` before the first training of this process.
        clock: Seconds; the CPU time of the process, ``time.process_time``, where others use its cores too.
    """
    gc.collect()
    try:
        return _measure(request, num_envs, base_memory, clock)
    except (InputError, MemoryError, RuntimeError) as error:  # Warp raises RuntimeError where an allocation fails
        return BatchRate(num_envs, problem=_problem(error))
    finally:
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _measure(request: TrainingRequest, num_envs: int, base_memory: int, clock: Callable[[], float]) -> BatchRate:
    gpu = resolve(request.config.device)[0]
    free = int(gpu.free_memory) if gpu.is_cuda else None
    with warm_trainer(request, num_envs, clock) as trainer:
        steps, rate, began = trainer.steps // trainer.iteration, 0.0, clock()
        iterations = 1
        for _ in range(WINDOWS):
            seconds = _train(trainer, iterations, clock)
            while seconds < WINDOW_S:
                iterations *= 2
                seconds = _train(trainer, iterations, clock)
            rate = max(rate, iterations * steps / seconds)
            if clock() - began > ENOUGH_S:
                break
        memory = peak_memory() - base_memory
        if free is not None:
            memory = max(0, free - int(gpu.free_memory))
    return BatchRate(num_envs, rate, steps, memory)


@contextmanager
def warm_trainer(
    request: TrainingRequest, num_envs: int, clock: Callable[[], float] = time.perf_counter
) -> Iterator[Trainer]:
    """A trainer of ``request`` with ``num_envs`` worlds that has compiled its kernels and learns in every iteration."""
    request = replace(request, config=measured_config(request.config, num_envs))
    trainer_class: Any = algorithm(request.algorithm)[0]
    saved = {**load_opponents(request, None), **load_starts(request)}
    with Simulation(
        find(request.env),
        num_envs,
        request.config.device,
        seed=request.config.seed,
        autoreset=trainer_class.autoreset,
        config=request.world_config,
    ) as worlds:
        trainer: Trainer = trainer_class(worlds, request.config, policy_groups=request.policy_groups(saved))
        _train(trainer, WARM_UP_ITERATIONS[trainer.device.type], clock)
        while not getattr(trainer, "learning", True):  # a replay buffer that does not hold enough yet
            _train(trainer, 1, clock)
        yield trainer


def measured_config(config: TrainConfig, num_envs: int) -> TrainConfig:
    """``config`` for a measurement: without evaluations, and with updates from the start."""
    names = {field.name for field in fields(config)}
    early: dict[str, Any] = {"learning_starts": 0} if "learning_starts" in names else {}
    return replace(config, num_envs=num_envs, eval_every=0, **early)


def _train(trainer: Trainer, iterations: int, clock: Callable[[], float]) -> float:
    """Train for ``iterations`` iterations; returns the seconds of ``clock``, until the device is done."""
    per_iteration = trainer.steps // trainer.iteration if trainer.iteration else 1
    last = trainer.iteration + iterations
    began = clock()
    while trainer.iteration < last:
        trainer.learn(trainer.steps + max(1, (last - trainer.iteration) * per_iteration))
    return clock() - began


def peak_memory() -> int:
    """The largest memory that this process has used, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _problem(error: Exception) -> str:
    text = (str(error).strip().splitlines() or [""])[0][:200]
    if isinstance(error, InputError):
        return text
    return "out of memory" if is_out_of_memory(error) else f"{type(error).__name__}: {text}"


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error of Python, PyTorch or Warp is that an allocation failed."""
    text = (str(error).strip().splitlines() or [""])[0]
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "alloc" in text or "out of memory" in text
