"""Worldloom: reinforcement-learning worlds in plain Python, a million at once.

.. code-block:: python

    import worldloom as wl

    sim = wl.Simulation("CartPole-v1", num_worlds=4096, device="cpu")
    sim.step(actions)
    observations = sim["Cart"].sight.numpy()
"""

# ruff: noqa: E402, F401  (SIGINT and Warp are set up before anything else is imported)

from __future__ import annotations

from worldloom.core.base import interrupt as _interrupt

_interrupt.exit_on_sigint()

from worldloom.core.base import deprecated_paths as _deprecated_paths

_deprecated_paths.install()

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

from worldloom.core.arithmetic import math_functions as _math_functions
from worldloom.core.arithmetic.math_functions import (
    acos,
    argmax,
    argmin,
    asin,
    atan,
    atan2,
    cbrt,
    ceil,
    clamp,
    cos,
    cosh,
    cross,
    cw_div,
    cw_mul,
    ddot,
    degrees,
    determinant,
    diag,
    dot,
    exp,
    floor,
    frac,
    get_diag,
    inverse,
    isfinite,
    isinf,
    isnan,
    length,
    length_sq,
    lerp,
    log,
    log2,
    log10,
    nonzero,
    normalize,
    outer,
    quat_from_axis_angle,
    quat_from_matrix,
    quat_identity,
    quat_inverse,
    quat_rotate,
    quat_rotate_inv,
    quat_rpy,
    quat_slerp,
    quat_to_matrix,
    radians,
    rint,
    sign,
    sin,
    sinh,
    skew,
    smoothstep,
    sqrt,
    step,
    tan,
    tanh,
    trace,
    transform_get_rotation,
    transform_get_translation,
    transform_identity,
    transform_inverse,
    transform_multiply,
    transform_point,
    transform_vector,
    transpose,
    trunc,
)
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
from worldloom.core.frontend.unrolled_loop import unroll
from worldloom.core.kernels.launch_kernels import picked
from worldloom.core.model.dtypes import vec
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
    Transient,
    Workload,
)
from worldloom.core.model.launch import Launch, Shard
from worldloom.core.model.population import UpTo
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete
from worldloom.core.registry.alternatives import Alternatives
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition, register, registered
from worldloom.core.simulation import Simulation
from worldloom.core.state.replay_log import ReplayLog
from worldloom.core.state.snapshot import Snapshot

abs, max, min, pow = _math_functions.abs, _math_functions.max, _math_functions.min, _math_functions.pow
"""Exported, but not in ``__all__``: a star import keeps Python's own functions."""

__version__ = "0.1.0"

__all__ = [
    "Action",
    "Alternatives",
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
    "Rollout",
    "RolloutResult",
    "Shard",
    "Simulation",
    "Snapshot",
    "Transient",
    "UpTo",
    "Workload",
    "World",
    "WorldFault",
    "WorldloomError",
    "acos",
    "argmax",
    "argmin",
    "asin",
    "atan",
    "atan2",
    "cbrt",
    "ceil",
    "clamp",
    "cos",
    "cosh",
    "cross",
    "cw_div",
    "cw_mul",
    "ddot",
    "definition",
    "degrees",
    "determinant",
    "diag",
    "dot",
    "exp",
    "float16",
    "float32",
    "float64",
    "floor",
    "frac",
    "function",
    "get_diag",
    "int8",
    "int16",
    "int32",
    "int64",
    "inverse",
    "isfinite",
    "isinf",
    "isnan",
    "length",
    "length_sq",
    "lerp",
    "list_all_envs",
    "log",
    "log2",
    "log10",
    "make",
    "make_spec",
    "mat22",
    "mat33",
    "mat44",
    "nonzero",
    "normalize",
    "outer",
    "picked",
    "quat",
    "quat_from_axis_angle",
    "quat_from_matrix",
    "quat_identity",
    "quat_inverse",
    "quat_rotate",
    "quat_rotate_inv",
    "quat_rpy",
    "quat_slerp",
    "quat_to_matrix",
    "radians",
    "register",
    "registered",
    "rint",
    "rollout",
    "share",
    "sign",
    "sin",
    "sinh",
    "skew",
    "smoothstep",
    "sqrt",
    "step",
    "system",
    "tan",
    "tanh",
    "trace",
    "transform",
    "transform_get_rotation",
    "transform_get_translation",
    "transform_identity",
    "transform_inverse",
    "transform_multiply",
    "transform_point",
    "transform_vector",
    "transpose",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unroll",
    "vec",
    "vec2",
    "vec2i",
    "vec3",
    "vec3i",
    "vec4",
    "vec4i",
]

# Importing these registers the bundled worlds, by id: the modules of worlds are imported on first use.
from worldloom import atari as _atari
from worldloom import envs as _envs
from worldloom.vector import registration as _registration
from worldloom.vector.make import list_all_envs, make, make_spec
from worldloom.vector.rollouts.result import RolloutResult
from worldloom.vector.rollouts.rollout import Rollout, rollout
