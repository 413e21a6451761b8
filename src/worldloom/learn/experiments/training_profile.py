"""Where the time of a training goes: rollout and update, products of matrices, and kernels."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from worldloom.core.registry.world_files import find
from worldloom.learn.algorithms.a2c import A2C
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.device.torch_settings import autocast, use_torch_settings
from worldloom.learn.experiments.batch_rate import warm_trainer
from worldloom.learn.networks.policy import Policy
from worldloom.learn.runs.training_request import TrainingRequest
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

PRODUCTS = (
    "gemm",
    "cutlass",
    "xmma",
    "nvjet",
    "conv",
    "wgrad",
    "dgrad",
    "fprop",
    "::addmm",
    "::mm",
    "::bmm",
    "::linear",
)
"""Parts of the names of kernels and operations that multiply matrices."""
PRODUCT_SIZE = {"cuda": 8192, "cpu": 1024}
"""Rows and columns of the matrices whose product is timed."""
PRODUCT_ROUNDS = 10
SAMPLES = 4
"""Samples of the forward pass whose operations are counted."""
FORWARD_AND_BACKWARD = 3
"""Operations of a forward and a backward pass, over those of a forward pass."""

Show = Callable[[int, int], None]


@dataclass(frozen=True)
class KernelTime:
    """A kernel of a GPU, or an operation of PyTorch on the CPU.

    Attributes:
        seconds, launches: In an iteration.
        is_product: Whether it multiplies matrices.
    """

    name: str
    seconds: float
    launches: int
    is_product: bool


@dataclass(frozen=True)
class TrainingProfile:
    """Where the time of a training goes.

    Attributes:
        iterations: Iterations measured, by the wall clock.
        iteration_steps: World steps of an iteration.
        seconds: Of an iteration.
        phases: Seconds of an iteration by phase; one phase with ``overlap``.
        sequential_phases: The same without overlap; None where the training has none.
        operations: Floating-point operations of the networks in an iteration, as PyTorch's modules count them; None for
            algorithms other than PPO and A2C.
        product_rate: Operations per second of a product of large matrices in the training's precision.
        computed_by: What computes each policy.
        kernels: By time, of one more iteration. On the CPU only PyTorch's operations are recorded.
    """

    env: str
    algorithm: str
    device: str
    precision: str
    num_envs: int
    iterations: int
    iteration_steps: int
    seconds: float
    phases: dict[str, float]
    sequential_phases: dict[str, float] | None
    operations: float | None
    product_rate: float
    computed_by: dict[str, str]
    kernels: tuple[KernelTime, ...]

    @property
    def steps_per_second(self) -> float:
        """World steps per second."""
        return self.iteration_steps / self.seconds

    @property
    def product_share(self) -> float | None:
        """The rate of the networks' operations over that of products; None where they are not counted."""
        return None if self.operations is None else self.operations / self.seconds / self.product_rate

    @property
    def hidden_share(self) -> float | None:
        """The part of the shorter phase that overlap hides, 0 to 1; None without overlap."""
        if self.sequential_phases is None:
            return None
        phases = self.sequential_phases.values()
        return (sum(phases) - self.seconds) / min(phases)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **asdict(self),
            "steps_per_second": self.steps_per_second,
            "product_share": self.product_share,
            "hidden_share": self.hidden_share,
        }


def profile_training(
    request: TrainingRequest, iterations: int, show: Show = lambda done, total: None
) -> TrainingProfile:
    """Train ``request`` for so many iterations after a warm-up, and for one more with PyTorch's profiler.

    Nothing is written, and the policies are lost.

    Args:
        request: The training.
        iterations: How many iterations are timed.
        show: Called with the iterations done and their number.
    """
    config = request.config
    overlaps = bool(getattr(config, "overlap", False))
    total = (2 if overlaps else 1) * iterations + 1
    sequential = None
    if overlaps:
        alone: Any = replace(config, overlap=False)  # type: ignore[call-arg]
        with warm_trainer(replace(request, config=alone), config.num_envs) as trainer:
            sequential = _measure(trainer, iterations, lambda done: show(done, total))[1]
    with warm_trainer(request, config.num_envs) as trainer:
        done_before = iterations if overlaps else 0
        seconds, phases = _measure(trainer, iterations, lambda done: show(done_before + done, total))
        kernels = _profile(trainer)
        show(total, total)
        return TrainingProfile(
            env=find(request.env).id,
            algorithm=request.algorithm,
            device=_device_name(trainer.device),
            precision=config.precision,
            num_envs=trainer.config.num_envs,
            iterations=iterations,
            iteration_steps=trainer.steps // trainer.iteration,
            seconds=seconds,
            phases={"roll-out and update": seconds} if overlaps else phases,
            sequential_phases=sequential,
            operations=count_operations(trainer),
            product_rate=_product_rate(trainer.device, config.precision, trainer.threads),
            computed_by=trainer.kernels(),
            kernels=kernels,
        )


class _Shares(Callback):
    """Sums the shares of the phases, and shows the iterations done."""

    def __init__(self, show: Callable[[int], None]) -> None:
        self.sums: dict[str, float] = {}
        self.count = 0
        self._show = show

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.count += 1
        for phase, share in progress.shares.items():
            self.sums[phase] = self.sums.get(phase, 0.0) + share
        self._show(self.count)


def _measure(trainer: Trainer, iterations: int, show: Callable[[int], None]) -> tuple[float, dict[str, float]]:
    """Seconds of an iteration by the wall clock, and of its phases."""
    shares = _Shares(show)
    last = trainer.iteration + iterations
    per_iteration = trainer.steps // trainer.iteration
    began = time.perf_counter()
    while trainer.iteration < last:
        trainer.learn(trainer.steps + (last - trainer.iteration) * per_iteration, shares)
    seconds = (time.perf_counter() - began) / iterations
    return seconds, {phase: total / shares.count * seconds for phase, total in shares.sums.items()}


def _profile(trainer: Trainer) -> tuple[KernelTime, ...]:
    """The kernels of one iteration, by time."""
    on_gpu = trainer.device.type == "cuda"
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler prints when it starts
    with profile(activities=[ProfilerActivity.CUDA if on_gpu else ProfilerActivity.CPU]) as recorded:
        trainer.learn(trainer.steps + trainer.steps // trainer.iteration)
        if on_gpu:
            torch.cuda.synchronize(trainer.device)
    times = []
    for event in recorded.key_averages():
        microseconds = event.self_device_time_total if on_gpu else event.self_cpu_time_total
        if microseconds > 0.0:
            is_product = any(part in event.key.lower() for part in PRODUCTS)
            times.append(KernelTime(event.key, microseconds * 1e-6, event.count, is_product))
    return tuple(sorted(times, key=lambda kernel: -kernel.seconds))


def count_operations(trainer: Trainer) -> float | None:
    """Floating-point operations of the networks in an iteration; None for algorithms other than PPO and A2C.

    A rollout is a forward pass of all samples, and an update is a forward and a backward pass in each epoch.
    """
    if not isinstance(trainer, (PPO, A2C)):
        return None
    total = 0.0
    for learner in trainer.learners.values():
        epochs = learner.config.epochs if isinstance(learner.config, PPOConfig) else 1
        passes = 1 + (FORWARD_AND_BACKWARD * epochs if learner.train else 0)
        total += (
            passes * learner.agent_group.rows * learner.config.num_steps * _operations_of_sample(trainer, learner.name)
        )
    return total


def _operations_of_sample(trainer: OnPolicyTrainer, name: str) -> float:
    """Operations of a forward pass of one sample."""
    learner = trainer.learners[name]
    policy: Policy = copy.deepcopy(learner.policy).to("cpu")
    observations = {key: values[0, :SAMPLES].to("cpu") for key, values in learner.actor.storage.observations.items()}
    rows = len(next(iter(observations.values())))
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        policy(observations, policy.initial_state(rows, torch.device("cpu")))
    return float(counter.get_total_flops()) / rows


def _product_rate(device: torch.device, precision: str, threads: int) -> float:
    """Operations per second of the product of two large matrices."""
    size = PRODUCT_SIZE[device.type]
    with use_torch_settings(device, threads), autocast(device, precision):
        a, b = (torch.ones(size, size, device=device) for _ in range(2))
        if precision == "bf16":
            a, b = a.bfloat16(), b.bfloat16()

        def run(rounds: int) -> float:
            began = time.perf_counter()
            for _ in range(rounds):
                a @ b
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            return time.perf_counter() - began

        run(2)
        return 2.0 * size**3 * PRODUCT_ROUNDS / run(PRODUCT_ROUNDS)


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
