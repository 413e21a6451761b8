"""A policy and the steps of worlds on a GPU: run once, examined, captured as one CUDA graph, and replayed."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch

from worldloom.core.simulation import Simulation
from worldloom.vector.rollouts.capture_check import CaptureCheck, refused_synchronization
from worldloom.vector.rollouts.step_graph import capture_graph
from worldloom.vector.rollouts.steps import RolloutSteps

WARM_UP_CALLS = 2
"""Calls of the policy before a capture: the first initializes libraries and caches, the second is examined."""


class PolicyGraph:
    """Runs rollouts. The graph is captured again where the parameters of modules or the worlds' configuration moved.

    Args:
        policy: The policy.
        simulation: The worlds.
        steps: The steps of a rollout.
        device: The GPU.
    """

    def __init__(
        self,
        policy: Callable[[Any], Any],
        simulation: Simulation,
        steps: RolloutSteps,
        device: torch.device,
    ) -> None:
        self._policy, self._simulation, self._steps = policy, simulation, steps
        self._device = device
        self._calls = 0
        self._check = CaptureCheck(policy)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._version: Hashable = None

    def run(self) -> None:
        """Take the steps of one rollout, on PyTorch's current stream."""
        with torch.cuda.device(self._device):
            in_graph_of_caller = torch.cuda.is_current_stream_capturing()
        if in_graph_of_caller:
            self._take_steps(self._policy)
            return
        if self._graph is not None and self._version != self._current_version():
            self._forget()
        if self._graph is not None:
            self._graph.replay()
        elif self._calls < WARM_UP_CALLS:
            self._warm_up()
        else:
            self._graph = self._capture()
            self._version = self._current_version()
            self._graph.replay()

    def _take_steps(self, policy: Callable[[Any], Any]) -> None:
        self._steps.run(policy, self._simulation.enqueue_step)

    def _warm_up(self) -> None:
        """Run on a side stream, as PyTorch requires before a capture."""
        stream, side_stream = torch.cuda.current_stream(self._device), torch.cuda.Stream(self._device)
        side_stream.wait_stream(stream)
        try:
            with torch.cuda.stream(side_stream):
                self._take_steps(self._examined_policy)
        except BaseException:
            self._forget()
            raise
        finally:
            stream.wait_stream(side_stream)

    def _examined_policy(self, observations: Any) -> Any:
        self._calls += 1
        if self._calls != WARM_UP_CALLS:
            return self._policy(observations)
        with refused_synchronization(self._device), self._check:
            return self._policy(observations)

    def _forget(self) -> None:
        """Drop the graph: the next rollout runs without one."""
        self._graph, self._calls, self._check = None, 0, CaptureCheck(self._policy)

    def _capture(self) -> torch.cuda.CUDAGraph:
        cached = torch.is_autocast_cache_enabled()
        torch.set_autocast_cache_enabled(False)  # casts of parameters belong to the graph
        try:
            return capture_graph(lambda: self._take_steps(self._policy), self._device, self._check.generators)
        finally:
            torch.set_autocast_cache_enabled(cached)

    def _current_version(self) -> Hashable:
        """What the graph depends on: memory and modes of the policy's modules, and the worlds' configuration."""
        modules = self._check.modules
        addresses = tuple(
            tensor.data_ptr()
            for module in modules
            for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False))
        )
        return self._simulation.config_version, tuple(module.training for module in modules), addresses
