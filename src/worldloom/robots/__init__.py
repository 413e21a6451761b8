"""Robots: MJCF models as entities of a world, simulated by MuJoCo's C engine on the CPU and MuJoCo Warp on CUDA.

It may import ``worldloom.core`` and ``worldloom.terminal``; ``mujoco`` and ``mujoco_warp`` when a model is loaded.
"""

from __future__ import annotations

from worldloom.robots.disturbances import Pushed, control_noise_system, delay_system, delayed, push_system
from worldloom.robots.loading.checker import LoadLimits
from worldloom.robots.model import Model
from worldloom.robots.physics import Physics
from worldloom.robots.placement import Draw, DrawKind, Placement, limited_and_rotational, limited_joints
from worldloom.robots.placement_systems import PlacementState
from worldloom.robots.rendering.renderer import Renderer
from worldloom.robots.sizes import Measured, Sizes, measure

__all__ = [
    "Draw",
    "DrawKind",
    "LoadLimits",
    "Measured",
    "Model",
    "Physics",
    "Placement",
    "PlacementState",
    "Pushed",
    "Renderer",
    "Sizes",
    "control_noise_system",
    "delay_system",
    "delayed",
    "limited_and_rotational",
    "limited_joints",
    "measure",
    "push_system",
]
