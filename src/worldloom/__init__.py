"""Worldloom: reinforcement-learning worlds in plain Python, a million at once.

.. code-block:: python

    import worldloom as wl

    sim = wl.Simulation("CartPole-v1", num_worlds=4096, device="cpu")
    sim.step(actions)
    observations = sim["Cart"].sight.numpy()
"""

from __future__ import annotations

from worldloom.core.base import interrupt as _interrupt

_interrupt.exit_on_sigint()

from worldloom.core.base.warp_init import initialise as _initialise

_initialise()

from warp import (
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    mat22,
    mat33,
    mat44,
    quat,
    transform,
    uint8,
    uint16,
    uint32,
    uint64,
    vec2,
    vec2i,
    vec3,
    vec3i,
    vec4,
    vec4i,
)

from worldloom.core.arithmetic.functions import FUNCTIONS as _FUNCTIONS
from worldloom.core.arithmetic.functions import MathFunction as _MathFunction
from worldloom.core.base.errors import (
    CapacityError,
    CompileError,
    DefinitionError,
    DeviceError,
    InputError,
    WorldFault,
    WorldloomError,
)
from worldloom.core.frontend.shared_loop import share
from worldloom.core.frontend.system import function, system
from worldloom.core.kernels.launch_kernels import picked
from worldloom.core.model.entity import Components, Entity, Event, Has, World
from worldloom.core.model.fields import (
    Action,
    Array,
    Between,
    Checked,
    Config,
    Finite,
    Info,
    Observation,
    Persistent,
    Ref,
    Reward,
    vec,
)
from worldloom.core.model.launch import Launch, Shard
from worldloom.core.model.population import UpTo
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete
from worldloom.core.registry.registry import Definition, definition, register, registered
from worldloom.core.simulation import Simulation
from worldloom.core.state.replay_log import ReplayLog
from worldloom.core.state.snapshot import Snapshot

__version__ = "0.1.0"

__all__ = [
    "Action",
    "Array",
    "Between",
    "Box",
    "CapacityError",
    "Checked",
    "CompileError",
    "Components",
    "Config",
    "Definition",
    "DefinitionError",
    "DeviceError",
    "Discrete",
    "Entity",
    "Event",
    "Finite",
    "Has",
    "Info",
    "InputError",
    "Launch",
    "MultiDiscrete",
    "Observation",
    "Persistent",
    "Ref",
    "ReplayLog",
    "Reward",
    "Shard",
    "Simulation",
    "Snapshot",
    "UpTo",
    "World",
    "WorldFault",
    "WorldloomError",
    "definition",
    "float16",
    "float32",
    "float64",
    "function",
    "int8",
    "int16",
    "int32",
    "int64",
    "list_all_envs",
    "make",
    "make_spec",
    "mat22",
    "mat33",
    "mat44",
    "picked",
    "quat",
    "register",
    "registered",
    "share",
    "system",
    "transform",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "vec",
    "vec2",
    "vec2i",
    "vec3",
    "vec3i",
    "vec4",
    "vec4i",
]


def __getattr__(name: str) -> _MathFunction:
    """``worldloom.sin`` and the other functions of :mod:`worldloom.core.arithmetic.functions`."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    raise AttributeError(f"module 'worldloom' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, *_FUNCTIONS]


from worldloom import atari as _atari
from worldloom import envs as _envs
from worldloom.vector import registration as _registration
from worldloom.vector.make import list_all_envs, make, make_spec
