"""Worldloom: worlds in plain Python, a million at once."""

from __future__ import annotations

__version__ = "0.1.0"

from worldloom.core.start import initialise as _initialise  # noqa: E402

_initialise()

from worldloom.core.entity import Components, Entity, Has, World  # noqa: E402
from worldloom.core.errors import CompileError, DefinitionError, DeviceError, InputError, WorldFault, WorldloomError  # noqa: E402
from worldloom.core.fields import Action, Array, Config, Finite, Observation, Persistent, Ref, Reward, vector  # noqa: E402
from worldloom.core.math import FUNCTIONS as _FUNCTIONS  # noqa: E402
from worldloom.core.registry import Definition, definition, register, registered  # noqa: E402
from worldloom.core.simulation import Simulation  # noqa: E402
from worldloom.core.spaces import Box, Discrete, MultiDiscrete  # noqa: E402
from worldloom.core.system import function, system  # noqa: E402

from warp import float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64  # noqa: E402, I001
from warp import mat22, mat33, mat44, quat, transform, vec2, vec2i, vec3, vec3i, vec4, vec4i  # noqa: E402

globals().update(_FUNCTIONS)
from worldloom.envs import cartpole as _cartpole  # noqa: E402, F401
