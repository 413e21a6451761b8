"""Gradient clipping and Adam on the flat parameters, as one kernel launch."""

from __future__ import annotations

from torch import Tensor

from worldloom.learn.device.warp_launch import launch
from worldloom.learn.native.recording import CPU
from worldloom.learn.native.step_kernels import clip_and_step
from worldloom.learn.training.optimizer import FlatAdam


def gradient_views(optimizer: FlatAdam) -> dict[int, Tensor]:
    """The part of ``optimizer.gradient`` of each parameter, in its shape, by the parameter's address."""
    views, start = {}, 0
    for parameter in optimizer.parameters:
        end = start + parameter.numel()
        views[parameter.data_ptr()] = optimizer.gradient[start:end].view(parameter.shape)
        start = end
    return views


def launch_step(optimizer: FlatAdam, max_norm: Tensor) -> None:
    """Launch what :meth:`FlatAdam.go` does, except the exchange between processes.

    Args:
        optimizer: The optimizer.
        max_norm: Maximum gradient norm [1], read by every run of a recorded launch; 0 for no clipping.
    """
    state = optimizer.tensors()
    arguments = (
        optimizer.gradient,
        max_norm,
        optimizer.learning_rate.view(1),
        optimizer.gradient_norm.view(1),
        state["powers"],
        optimizer.flat,
        state["mean"],
        state["square"],
    )
    launch(clip_and_step, 1, arguments, CPU)
