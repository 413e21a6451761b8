"""Robots: MJCF models as entities of a world, simulated by MuJoCo's C engine on the CPU.

It may import the engine (``worldloom.core``) and, when a model is loaded, ``mujoco``; nothing else of worldloom.
"""

from __future__ import annotations

from worldloom.robots.model import Model
from worldloom.robots.physics import Physics

__all__ = ["Model", "Physics"]
