"""Components: what an annotation in an entity or a world declares, and how it is stored."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import misuse
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete, Space

_SHAPE_FIX = "write for example wl.Array(int, 5)"
VECTOR_LIMIT = 16
"""One-dimensional components up to this long are vectors in registers; longer ones are arrays in memory."""

SCALARS: dict[type, Any] = {
    wp.bool: np.bool_,
    wp.int8: np.int8,
    wp.uint8: np.uint8,
    wp.int16: np.int16,
    wp.uint16: np.uint16,
    wp.int32: np.int32,
    wp.uint32: np.uint32,
    wp.int64: np.int64,
    wp.uint64: np.uint64,
    wp.float16: np.float16,
    wp.float32: np.float32,
    wp.float64: np.float64,
}
"""Every scalar width a component may have, with its NumPy twin."""

FLOATS = (wp.float16, wp.float32, wp.float64)
PYTHON_SCALARS = {bool: wp.bool, int: wp.int32, float: wp.float32}
"""What Python's own number types mean in a world."""

_NAMED = [
    getattr(wp, name)
    for name in dir(wp)
    if name[:3] in ("vec", "mat", "qua", "tra", "spa") and isinstance(getattr(wp, name), type)
]


Bound = float | tuple[float, ...]

Check = Callable[[np.ndarray[Any, Any]], "dict[str, np.ndarray[Any, Any]]"]
"""Given the values of a component, shape (entities, ...): by the requirement in words, which entities meet it, bool of shape (entities,)."""


class Role(enum.Enum):
    """Who writes a component, and who reads it."""

    STATE = "state"
    ACTION = "action"
    OBSERVATION = "observation"
    REWARD = "reward"
    INFO = "info"
    CONFIG = "config"
    ENGINE = "engine"


def is_composite(dtype: Any) -> bool:
    """Whether ``dtype`` is a vector, matrix, quaternion or transform type."""
    return isinstance(dtype, type) and hasattr(dtype, "_wp_scalar_type_")


def scalar_of(dtype: Any) -> Any:
    """The scalar type of a component type: ``vec3f`` gives ``float32``, ``int32`` gives itself."""
    return dtype._wp_scalar_type_ if is_composite(dtype) else dtype


def shape_of(dtype: Any) -> tuple[int, ...]:
    """The shape of one value of a component type: ``vec3f`` gives ``(3,)``, a scalar ``()``."""
    return tuple(dtype._shape_) if is_composite(dtype) else ()


def vec(length: int, dtype: Any = wp.float32) -> Any:
    """The vector type of ``length`` numbers, always the same object for the same arguments."""
    return canonical(wp.types.vector(length=length, dtype=PYTHON_SCALARS.get(dtype, dtype)))


_CACHE: dict[tuple[str, tuple[int, ...], str], Any] = {}


def canonical(dtype: Any) -> Any:
    """One object per component type, so that types compare with ``is``; None where ``dtype`` is no component type."""
    dtype = PYTHON_SCALARS.get(dtype, dtype) if isinstance(dtype, type) else dtype
    if isinstance(dtype, type) and dtype in SCALARS:
        return dtype
    if not is_composite(dtype):
        return None
    family = getattr(dtype._wp_generic_type_hint_, "__name__", str(dtype._wp_generic_type_hint_))
    key = (family, shape_of(dtype), scalar_of(dtype).__name__)
    if not _CACHE:
        for named in _NAMED:
            if is_composite(named):
                name = getattr(named._wp_generic_type_hint_, "__name__", str(named._wp_generic_type_hint_))
                _CACHE.setdefault((name, shape_of(named), scalar_of(named).__name__), named)
    return _CACHE.setdefault(key, dtype)


def with_scalar(dtype: Any, scalar: Any) -> Any:
    """The vector or matrix type of the same shape made of another scalar type."""
    shape = shape_of(dtype)
    return canonical(
        wp.types.vector(length=shape[0], dtype=scalar)
        if len(shape) == 1
        else wp.types.matrix(shape=shape, dtype=scalar)
    )


def type_name(dtype: Any) -> str:
    """How a component type is called in messages: ``float``, ``int64``, ``vec3``."""
    if dtype is wp.float32:
        return "float"
    if dtype is wp.int32:
        return "int"
    if dtype is wp.bool:
        return "bool"
    if is_composite(dtype) and dtype.__name__.endswith("_t"):
        return f"vec{shape_of(dtype)[0]} of {type_name(scalar_of(dtype))}"
    name = getattr(dtype, "__name__", str(dtype))
    return name[:-1] if is_composite(dtype) and name.endswith("f") else name


@dataclass(frozen=True)
class Field:
    """One column of a table.

    Attributes:
        name: The component's name in the user's class.
        dtype: A Warp scalar, vector, matrix or quaternion type.
        shape: Dimensions beside those of ``dtype``; ``()`` for a value, ``(n, ...)`` for an array component.
        role: Who writes it.
        default: What a reset puts into it; a number, or one value of ``dtype``. For an array of configuration all its elements.
        space: The action space, for actions.
        finite: Whether a NaN or an infinity in it is a fault of its world.
        keep: Whether it outlives a reset.
        transient: Whether it means something only within one step, so that it need not be kept in memory.
        ref: The kind of entity that it refers to, or its name, for references.
        low, high: Bounds of an observation, one for all its numbers or one for each.
        valid_range: The least and the greatest number that a restored state may hold in it, both included; see :func:`Between`.
        check: What else tells valid values of a restored state from others; see :func:`Checked`.
    """

    name: str
    dtype: Any
    shape: tuple[int, ...] = ()
    role: Role = Role.STATE
    default: Any = 0
    space: Space | None = None
    finite: bool = False
    keep: bool = False
    ref: Any = None
    low: Bound = -math.inf
    high: Bound = math.inf
    transient: bool = False
    valid_range: tuple[float, float] | None = None
    check: Check | None = None

    @property
    def is_array(self) -> bool:
        """Whether it is read and written element by element, in memory."""
        return bool(self.shape)

    @property
    def value_shape(self) -> tuple[int, ...]:
        """The shape of this component of one entity, as exported."""
        return self.shape + shape_of(self.dtype)


@dataclass(frozen=True)
class ComponentSpec:
    """A component as written in an annotation, before it has a name."""

    dtype: Any
    shape: tuple[int, ...] = ()
    role: Role = Role.STATE
    default: Any = None
    space: Space | None = None
    finite: bool = False
    keep: bool = False
    ref: Any = None
    low: Bound = -math.inf
    high: Bound = math.inf
    valid_range: tuple[float, float] | None = None
    check: Check | None = None


def _component(dtype: Any, what: str) -> Any:
    found = canonical(dtype)
    if found is None:
        raise misuse(
            f"{what} takes bool, int, float or a Warp scalar, vector, matrix or quaternion type, not {dtype!r}",
            "name one of those types",
        )
    return found


def _packed(dtype: Any, shape: tuple[int, ...], what: str) -> tuple[Any, tuple[int, ...]]:
    """Short one-dimensional components become vectors; the rest stay arrays of up to three dimensions."""
    if len(shape) > 3 or any(not isinstance(n, int) or n < 1 for n in shape):
        raise misuse(
            f"{what} takes one to three whole numbers of 1 or more as its shape, not {shape!r}",
            f"write for example wl.{what}(3, 4)",
        )
    if len(shape) == 1 and shape[0] <= VECTOR_LIMIT and not is_composite(dtype) and dtype is not wp.bool:
        return vec(shape[0], dtype), ()
    return dtype, shape


def Array(dtype: Any, *shape: int) -> ComponentSpec:
    """A component of ``shape`` elements, read and written one by one: ``cards: wl.Array(int, 5)``."""
    if not shape or len(shape) > 3 or any(not isinstance(n, int) or n < 1 for n in shape):
        raise misuse(f"Array takes one to three whole numbers of 1 or more as its shape, not {shape!r}", _SHAPE_FIX)
    return ComponentSpec(_component(dtype, "Array"), shape)


def Observation(
    *shape: int | Discrete | MultiDiscrete,
    dtype: Any = float,
    low: Bound = -math.inf,
    high: Bound = math.inf,
    finite: bool = False,
) -> ComponentSpec:
    """What an agent sees, written by the systems of ``observe``: ``shape`` numbers, or one of the choices of a space.

    ``low`` and ``high`` are the bounds of the numbers, one for all or one for each. They describe the space, and are not enforced.
    """
    if len(shape) == 1 and isinstance(shape[0], Discrete | MultiDiscrete):
        chosen = Action(shape[0])
        return replace(chosen, role=Role.OBSERVATION)
    sizes = tuple(n for n in shape if isinstance(n, int))
    packed, rest = _packed(_component(dtype, "Observation"), sizes if len(sizes) == len(shape) else (0,), "Observation")
    return ComponentSpec(packed, rest, Role.OBSERVATION, finite=finite, low=low, high=high)


def Info(dtype: Any, *shape: int) -> ComponentSpec:
    """State that the outside is told with every step, beside observations and rewards."""
    declared = Array(dtype, *shape) if shape else ComponentSpec(_component(dtype, "Info"))
    return replace(declared, role=Role.INFO)


def Action(space: Space) -> ComponentSpec:
    """What an agent does: written from outside before each step."""
    if isinstance(space, Discrete):
        return ComponentSpec(wp.int32, (), Role.ACTION, space=space)
    if isinstance(space, MultiDiscrete):
        if len(space.choices) > VECTOR_LIMIT:
            raise misuse(
                f"one action takes at most {VECTOR_LIMIT} choices at once", "declare several action components"
            )
        return ComponentSpec(vec(len(space.choices), wp.int32), (), Role.ACTION, space=space)
    if isinstance(space, Box):
        dtype, shape = _packed(wp.float32, space.shape, "Box") if space.shape else (wp.float32, ())
        return ComponentSpec(dtype, shape, Role.ACTION, space=space)
    raise misuse(
        f"Action takes wl.Discrete, wl.MultiDiscrete or wl.Box, not {space!r}",
        "write for example wl.Action(wl.Discrete(2))",
    )


class _Ref:
    """A reference to an entity of one kind (a class, or its name) in the same world, or to none: ``wl.Ref[Kind]`` or ``wl.Ref(Kind)``.

    It holds the entity's place where the number of entities is fixed. Where it varies, it holds a number that no other entity of
    the world has in the same episode, so that a reference to one that has left is known to be stale.
    """

    def __call__(self, kind: Any) -> ComponentSpec:
        return ComponentSpec(wp.int64, (), ref=kind, default=-1)

    __getitem__ = __call__


Ref = _Ref()


def Finite(dtype: Any) -> ComponentSpec:
    """A component that must stay finite: a NaN or an infinity in it is a fault, and its world is reset."""
    inner = dtype if isinstance(dtype, ComponentSpec) else ComponentSpec(_component(dtype, "Finite"))
    return replace(inner, finite=True)


def Persistent(dtype: Any) -> ComponentSpec:
    """A component that outlives resets, such as the level of a curriculum."""
    inner = dtype if isinstance(dtype, ComponentSpec) else ComponentSpec(_component(dtype, "Persistent"))
    return replace(inner, keep=True)


def Between(dtype: Any, low: float, high: float) -> ComponentSpec:
    """A component whose numbers always lie between ``low`` and ``high``, both included: ``slot: wl.Between(int, 0, 5)``.

    A snapshot, replay or checkpoint with any other number in it is refused. What systems write is not checked: clamp it there.
    """
    inner = dtype if isinstance(dtype, ComponentSpec) else ComponentSpec(_component(dtype, "Between"))
    numbers = all(isinstance(bound, (int, float)) and not isinstance(bound, bool) for bound in (low, high))
    if not numbers or not low <= high:
        raise misuse(
            f"Between takes two numbers, the lower one first, not {low!r} and {high!r}",
            "write for example wl.Between(int, 0, 5)",
        )
    return replace(inner, valid_range=(low, high))


def Checked(dtype: Any, check: Check) -> ComponentSpec:
    """A component of which more is known than one range for all its numbers: ``deck: wl.Checked(wl.Array(int, 52), is_shuffled)``.

    A snapshot, replay or checkpoint is refused where ``check`` finds a requirement that is not met. It is called with the values of
    the component in the restored state, a NumPy array of shape (entities, ...), and returns for each requirement, in words that follow
    "must have", which of the entities meet it: ``{"each card once": (np.sort(values) == np.arange(52)).all(axis=1)}``.
    """
    inner = dtype if isinstance(dtype, ComponentSpec) else ComponentSpec(_component(dtype, "Checked"))
    if not callable(check):
        raise misuse(
            f"Checked takes a function of the component's values, not {check!r}",
            "write for example wl.Checked(wl.Array(int, 52), is_shuffled)",
        )
    return replace(inner, check=check)


class Reward:
    """The reward of an agent in this step: a float, set to 0 by the engine before each step."""


class Config:
    """A value of the world that is changed from outside at run time, for the batch or per world: ``force: wl.Config = 10.0``.

    A NumPy array of one to three dimensions declares an array of its shape and type, read element by element from memory.
    """


def _declare_config(name: str, default: Any) -> ComponentSpec:
    """The configuration that ``name: wl.Config = default`` declares."""
    dtype = canonical(type(default))
    if dtype is not None:
        return ComponentSpec(dtype, role=Role.CONFIG)
    if not isinstance(default, np.ndarray):
        raise TypeError(
            f"configuration '{name}' has a default of type {type(default).__name__}, which no component can hold"
        )
    element = next((kind for kind, twin in SCALARS.items() if default.dtype == twin), None)
    if element is None:
        raise TypeError(f"configuration '{name}' is an array of {default.dtype.name}, which no component can hold")
    if not 1 <= default.ndim <= 3 or default.size == 0:
        raise ValueError(
            f"configuration '{name}' is an array of shape {default.shape}: it takes one to three dimensions of 1 or more"
        )
    return ComponentSpec(element, default.shape, Role.CONFIG)


def declare(name: str, annotation: Any, default: Any, has_default: bool) -> Field:
    """The field that ``name: annotation = default`` declares; raises TypeError or ValueError with one sentence where type or default are wrong."""
    if annotation is Reward:
        declared = ComponentSpec(wp.float32, role=Role.REWARD, finite=True)
    elif annotation is Config:
        if not has_default:
            raise ValueError(f"configuration '{name}' needs a default value, such as '{name}: wl.Config = 1.0'")
        declared = _declare_config(name, default)
    elif isinstance(annotation, ComponentSpec):
        declared = annotation
    else:
        dtype = canonical(annotation)
        if dtype is None:
            raise TypeError(f"component '{name}' has the annotation {annotation!r}, which is no component type")
        declared = ComponentSpec(dtype)
    if declared.ref is not None and has_default and default is not None:
        raise ValueError(f"reference '{name}' starts empty and takes no default but None")
    if declared.ref is not None:
        has_default = False
    value = default if has_default else (0 if declared.default is None else declared.default)
    if declared.finite and has_default and not np.all(np.isfinite(np.asarray(value, dtype=float))):
        raise ValueError(f"component '{name}' must stay finite, but its default is {value!r}")
    if declared.valid_range is not None and not np.all(
        (np.asarray(value) >= declared.valid_range[0]) & (np.asarray(value) <= declared.valid_range[1])
    ):
        raise ValueError(
            f"component '{name}' lies between {declared.valid_range[0]:g} and {declared.valid_range[1]:g}, but its default is {value!r}"
        )
    if has_default and declared.role in (Role.ACTION, Role.OBSERVATION, Role.REWARD):
        raise ValueError(f"component '{name}' is an {declared.role.value}, which takes no default")
    return Field(
        name,
        declared.dtype,
        declared.shape,
        declared.role,
        default.copy() if declared.role is Role.CONFIG and declared.shape else check_value(name, declared.dtype, value),
        declared.space,
        declared.finite,
        declared.keep,
        declared.ref,
        declared.low,
        declared.high,
        valid_range=declared.valid_range,
        check=declared.check,
    )


def check_value(name: str, dtype: Any, value: Any) -> Any:
    """``value`` as one that a field of ``dtype`` can hold, or ValueError."""
    scalar = SCALARS[scalar_of(dtype)]
    try:
        array = np.asarray([getattr(n, "value", n) for n in value] if is_composite(type(value)) else value)
        kinds = "b" if scalar is np.bool_ else "biu" if np.issubdtype(scalar, np.integer) else "biuf"
        if not is_composite(dtype) and array.shape != ():
            raise ValueError
        if array.dtype.kind not in kinds and not (array.shape == () and array == 0):
            raise ValueError
        np.broadcast_to(array.astype(scalar), shape_of(dtype))
        if kinds != "biuf" and not np.array_equal(array.astype(scalar).astype(np.int64), array.astype(np.int64)):
            raise ValueError
    except (ValueError, TypeError):
        raise ValueError(f"'{name}' is of type {type_name(dtype)}, which cannot hold {value!r}") from None
    return array.astype(scalar) if array.shape else scalar(array)
