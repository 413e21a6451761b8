"""Kernels of trainers on the CPU, compiled in another thread before they are launched.

An empty kernel cache costs five seconds: three for Warp's headers, which can pass while PyTorch is imported, and the
rest for kernels, which can pass while the world is compiled. Imports no PyTorch.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Sequence

import warp as wp

FIRST = ("worldloom.learn.rollout.episode_kernels",)
"""Small, and used by most trainers: the module with which Warp's headers are precompiled."""

ROLLOUT = {
    "ppo": (
        "worldloom.learn.actions.sampling_kernels",
        "worldloom.learn.rollout.minibatch_kernels",
        "worldloom.learn.losses.advantage_kernels",
        "worldloom.learn.device.gather_kernels",
        "worldloom.learn.rollout.episode_kernels",
    )
}
"""Modules that trainers of an algorithm use with every network. Those that are needed last come first."""

NATIVE = {
    "ppo": (
        "worldloom.learn.losses.policy_loss_kernels",
        "worldloom.learn.native.step_kernels",
        "worldloom.learn.native.input_kernels",
    )
}
"""Modules that trainers of an algorithm use with native kernels."""


def compile_ahead(modules: Sequence[str]) -> threading.Thread:
    """Start to load the kernels of some modules for the CPU, from the cache where it has them.

    The thread does not keep the process alive. An error ends it: the launch of the kernel raises the same error.
    """
    thread = threading.Thread(target=_load, args=(tuple(modules),), name="worldloom-compile-ahead", daemon=True)
    thread.start()
    return thread


def _load(modules: Sequence[str]) -> None:
    with contextlib.suppress(Exception):
        for name in modules:
            wp.load_module(importlib.import_module(name), device="cpu")
