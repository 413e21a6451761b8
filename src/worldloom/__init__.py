"""Worldloom: reinforcement-learning worlds in plain Python, a million at once.

.. code-block:: python

    import worldloom as wl

    sim = wl.Simulation("CartPole-v1", num_worlds=4096, device="cpu")
    sim.step(actions)
    observations = sim["Cart"].sight.numpy()
"""

from __future__ import annotations

from worldloom.core import interrupt as _interrupt

_interrupt.quiet()

from worldloom.core.start import initialise as _initialise  # noqa: E402

_initialise()

from warp import (  # noqa: E402
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

from worldloom.core.entity import Components, Entity, Event, Has, World  # noqa: E402
from worldloom.core.errors import CapacityError, CompileError, DefinitionError, DeviceError, InputError, WorldFault, WorldloomError  # noqa: E402
from worldloom.core.fields import Action, Array, Between, Checked, Config, Finite, Info, Observation, Persistent, Ref, Reward, vec  # noqa: E402
from worldloom.core.launch import Launch, Shard  # noqa: E402
from worldloom.core.launch_kernels import picked  # noqa: E402
from worldloom.core.math import FUNCTIONS as _FUNCTIONS  # noqa: E402
from worldloom.core.math import MathFunction as _MathFunction  # noqa: E402
from worldloom.core.population import UpTo  # noqa: E402
from worldloom.core.registry import Definition, definition, register, registered  # noqa: E402
from worldloom.core.replay_log import ReplayLog  # noqa: E402
from worldloom.core.rewrite.turns import share  # noqa: E402
from worldloom.core.simulation import Simulation  # noqa: E402
from worldloom.core.snapshot import Snapshot  # noqa: E402
from worldloom.core.spaces import Box, Discrete, MultiDiscrete  # noqa: E402
from worldloom.core.system import function, system  # noqa: E402

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
    """``worldloom.sin`` and the other functions of :mod:`worldloom.core.math`."""
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    raise AttributeError(f"module 'worldloom' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, *_FUNCTIONS]


from worldloom import atari as _atari  # noqa: E402, F401 - makes the ids of Atari worlds known
from worldloom import envs as _envs  # noqa: E402, F401 - registers the worlds that come with worldloom
from worldloom.vector import registration as _registration  # noqa: E402, F401 - and lets Gymnasium know them
from worldloom.vector.make import list_all_envs, make, make_spec  # noqa: E402
