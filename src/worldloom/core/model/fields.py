"""Fields: what the annotation of a component declares, and how the component is stored."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import misuse
from worldloom.core.model.dtypes import FLOATS, canonical, is_composite, narrowed, shape_of, type_name, vec
from worldloom.core.model.observation_layout import DEFAULT_LAYOUT, ChannelOrder, ObservationLayout
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete, Space

VECTOR_LIMIT = 16
"""One-dimensional components up to this length are vectors in registers. Longer ones are arrays in memory."""

SEED_HIGH = "seed__high"
"""Name of the engine's field with the upper 32 bits of the seeds."""

Bound = float | tuple[float, ...]

Check = Callable[[np.ndarray[Any, Any]], "dict[str, np.ndarray[Any, Any]]"]
"""A check of restored values. It takes the values of a component, shape (entities, ...). It returns, for each
requirement in words, which entities meet it, bool of shape (entities,)."""


class Role(enum.Enum):
    """The writer and the readers of a component."""

    STATE = "state"
    ACTION = "action"
    OBSERVATION = "observation"
    REWARD = "reward"
    INFO = "info"
    CONFIG = "config"
    ENGINE = "engine"


@dataclass(frozen=True)
class ComponentSpec:
    """A component as its annotation declares it, without a name.

    Attributes:
        dtype: A Warp scalar, vector, matrix or quaternion type.
        shape: Dimensions in addition to those of ``dtype``; ``()`` for a value, ``(n, ...)`` for an array component.
        role: The writer and the readers of the component.
        default: The value after a reset: a number, or one value of ``dtype``. For an array of configuration all its
            elements.
        space: The action space, for actions.
        finite: Whether a NaN or an infinity in it is a fault of its world.
        keep: Whether it persists across resets.
        transient: Whether it has a meaning only within one step, so that it need not be stored in memory.
        workload: Whether worlds with similar values share a thread block; see :data:`Workload`.
        ref: The kind of entity that it refers to, or its name, for references.
        low, high: Bounds of an observation, one for all its numbers or one for each.
        valid_range: The lowest and the highest number that a restored state may hold in it, inclusive; see
            :func:`Between`.
        check: A further check of the values of a restored state; see :func:`Checked`.
        layout: The meaning of an observation's axes, and its readers. It is not part of a world's fingerprint.
        metric: Whether evaluations report the mean of its last value in an episode. Not part of the fingerprint either.
    """

    dtype: Any
    shape: tuple[int, ...] = ()
    role: Role = Role.STATE
    default: Any = None
    space: Space | None = None
    finite: bool = False
    keep: bool = False
    transient: bool = False
    ref: Any = None
    low: Bound = -math.inf
    high: Bound = math.inf
    valid_range: tuple[float, float] | None = None
    check: Check | None = None
    layout: ObservationLayout = DEFAULT_LAYOUT
    metric: bool = False
    workload: bool = False


@dataclass(frozen=True)
class _Named:
    """The first attribute of :class:`Field`."""

    name: str


@dataclass(frozen=True)
class Field(ComponentSpec, _Named):
    """One column of a table: a component with a name.

    Attributes:
        name: The component's name in the user's class.
    """

    default: Any = 0

    @property
    def batch_wide(self) -> bool:
        """Whether it holds one value for the batch, or one per world, and systems cannot write it."""
        return self.role is Role.CONFIG or self.name == SEED_HIGH

    @property
    def is_array(self) -> bool:
        """Whether it is read and written element by element, in memory."""
        return bool(self.shape)

    def narrowed(self) -> Field:
        """The field with 32 instead of 64 bits per real number."""
        dtype = narrowed(self.dtype)
        if dtype is self.dtype:
            return self
        default = (
            self.default.astype(np.float32) if isinstance(self.default, (np.ndarray, np.generic)) else self.default
        )
        return replace(self, dtype=dtype, default=default)

    @property
    def value_shape(self) -> tuple[int, ...]:
        """The shape of this component of one entity, as exported."""
        return self.shape + shape_of(self.dtype)


# -- declarations ----------------------------------------------------------------------------------------------------


def _component_type(dtype: Any, what: str) -> Any:
    component_type = canonical(dtype)
    if component_type is None:
        raise misuse(
            f"{what} takes bool, int, float or a Warp scalar, vector, matrix or quaternion type, not {dtype!r}",
            "name one of those types",
        )
    return component_type


def _component(dtype: Any, what: str) -> ComponentSpec:
    """The component that ``dtype`` is or names, for the declaration ``what``."""
    return dtype if isinstance(dtype, ComponentSpec) else ComponentSpec(_component_type(dtype, what))


def _lasting(dtype: Any, what: str) -> ComponentSpec:
    """A component that is not transient, for the declaration ``what``."""
    component = _component(dtype, what)
    if component.transient:
        raise misuse(f"{what} takes no transient component, whose value is lost", f"write wl.{what}(float)")
    return component


def _check_shape(shape: tuple[Any, ...], what: str, example: str) -> None:
    if not 1 <= len(shape) <= 3 or any(not isinstance(n, int) or n < 1 for n in shape):
        raise misuse(f"{what} takes one to three whole numbers of 1 or more as its shape, not {shape!r}", example)


def _packed(dtype: Any, shape: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """Short one-dimensional components become vectors; the others stay arrays of up to three dimensions."""
    if len(shape) == 1 and shape[0] <= VECTOR_LIMIT and not is_composite(dtype) and dtype is not wp.bool:
        return vec(shape[0], dtype), ()
    return dtype, shape


def Array(dtype: Any, *shape: int) -> ComponentSpec:
    """A component of ``shape`` elements, read and written one by one: ``cards: wl.Array(int, 5)``."""
    _check_shape(shape, "Array", "write for example wl.Array(int, 5)")
    return ComponentSpec(_component_type(dtype, "Array"), shape)


def Observation(
    *shape: int | Discrete | MultiDiscrete,
    dtype: Any = float,
    low: Bound = -math.inf,
    high: Bound = math.inf,
    finite: bool = False,
    channels: ChannelOrder = "last",
    entities: bool = False,
    mask: str = "",
    critic: bool = False,
) -> ComponentSpec:
    """An observation, written by the systems of ``observe``: ``shape`` numbers, or one value of a discrete space.

    Args:
        *shape: One to three sizes, or one ``wl.Discrete`` or ``wl.MultiDiscrete``.
        dtype: Type of the numbers.
        low, high: Bounds of the numbers, one for all or one for each. They describe the space and are not enforced.
        finite: Whether a NaN or an infinity in it is a fault of its world.
        channels: Channel axis of an image: ``(height, width, channels)`` for ``"last"``, else first.
        entities: Whether it is a set of entities: K entities with F numbers each for the shape ``(K, F)``; or, as a
            component of other entities that a single agent observes, the F numbers of one of them.
        mask: Name of the observation of shape ``(K,)``, of the same class, that is not 0 for the entities present.
        critic: Whether only the critic of a training gets it.
    """
    layout = ObservationLayout(channels, entities, mask, critic)
    layout.check(tuple(n for n in shape if isinstance(n, int)))
    if len(shape) == 1 and isinstance(shape[0], Discrete | MultiDiscrete):
        return replace(Action(shape[0]), role=Role.OBSERVATION, layout=layout)
    scalar = _component_type(dtype, "Observation")
    if shape:
        _check_shape(shape, "Observation", "write for example wl.Observation(3, 4)")
    packed, array_shape = _packed(scalar, tuple(n for n in shape if isinstance(n, int)))
    return ComponentSpec(packed, array_shape, Role.OBSERVATION, finite=finite, low=low, high=high, layout=layout)


def Info(dtype: Any, *shape: int, metric: bool = False) -> ComponentSpec:
    """State that every step returns in addition to observations and rewards.

    Args:
        dtype: The type of a value.
        shape: Dimensions of an array of them.
        metric: Whether evaluations report the mean of its last value in an episode; for one number.
    """
    component = Array(dtype, *shape) if shape else ComponentSpec(_component_type(dtype, "Info"))
    if metric and (shape or shape_of(component.dtype)):
        raise misuse("a metric is one number", "declare an info of type bool, int or float with metric=True")
    return replace(component, role=Role.INFO, metric=metric)


def Action(space: Space) -> ComponentSpec:
    """An action of an agent, written from outside before each step."""
    if isinstance(space, Discrete):
        return ComponentSpec(wp.int32, (), Role.ACTION, space=space)
    if isinstance(space, MultiDiscrete):
        if len(space.choices) > VECTOR_LIMIT:
            raise misuse(
                f"one action takes at most {VECTOR_LIMIT} choices at once", "declare several action components"
            )
        return ComponentSpec(vec(len(space.choices), wp.int32), (), Role.ACTION, space=space)
    if isinstance(space, Box):
        dtype, shape = _packed(wp.float32, space.shape)
        return ComponentSpec(dtype, shape, Role.ACTION, space=space)
    raise misuse(
        f"Action takes wl.Discrete, wl.MultiDiscrete or wl.Box, not {space!r}",
        "write for example wl.Action(wl.Discrete(2))",
    )


class _Ref:
    """A reference to an entity of one kind (a class, or its name) in the same world, or to none.

    It is written ``wl.Ref[Kind]`` or ``wl.Ref(Kind)``. Where the number of entities is fixed, it holds the entity's
    slot. Where it varies, it holds a serial number, unique in the episode, so that a reference to a despawned entity is
    known to be stale.
    """

    def __call__(self, kind: Any) -> ComponentSpec:
        return ComponentSpec(wp.int64, (), ref=kind, default=-1)

    __getitem__ = __call__


Ref = _Ref()


def Finite(dtype: Any) -> ComponentSpec:
    """A component that must stay finite. A NaN or an infinity in it is a fault, and its world is reset."""
    return replace(_lasting(dtype, "Finite"), finite=True)


def Persistent(dtype: Any) -> ComponentSpec:
    """A component that persists across resets, such as the level of a curriculum."""
    return replace(_lasting(dtype, "Persistent"), keep=True)


def Transient(dtype: Any) -> ComponentSpec:
    """A component with a meaning only within a step: systems write it before they read it.

    An entity that is spawned does not get its default, and one that moves to another row does not take it along.
    Snapshots and comparisons leave it out.
    """
    component = _component(dtype, "Transient")
    if component.role is not Role.STATE or component.keep or component.finite:
        raise misuse(
            "Transient takes a type, not a component that others read, that persists or that must be finite",
            "write wl.Transient(float)",
        )
    return replace(component, transient=True)


Workload = ComponentSpec(wp.int32, transient=True, workload=True)
"""A whole number of the world: how much work systems with ``together=True`` have in it, from 0 to 31.

In large batches on a GPU, worlds with similar numbers share a thread block, and those with the largest run first.
Results do not depend on it. It is transient, and a world has at most one.
"""


def Between(dtype: Any, low: float, high: float) -> ComponentSpec:
    """A component whose numbers always lie between ``low`` and ``high``, inclusive: ``slot: wl.Between(int, 0, 5)``.

    A snapshot, replay or checkpoint with any other number in it is refused. What systems write is not checked: clamp it
    there.
    """
    component = _component(dtype, "Between")
    numbers = all(isinstance(bound, (int, float)) and not isinstance(bound, bool) for bound in (low, high))
    if not numbers or not low <= high:
        raise misuse(
            f"Between takes two numbers, the lower one first, not {low!r} and {high!r}",
            "write for example wl.Between(int, 0, 5)",
        )
    return replace(component, valid_range=(low, high))


def Checked(dtype: Any, check: Check) -> ComponentSpec:
    """A component with a check of its values: ``deck: wl.Checked(wl.Array(int, 52), is_shuffled)``.

    A snapshot, replay or checkpoint is refused if a requirement of ``check`` is not met. ``check`` takes the values of
    the component in the restored state, a NumPy array of shape (entities, ...). It returns for each requirement, in
    words that follow "must have", which of the entities meet it: ``{"each card once": (np.sort(values) ==
    np.arange(52)).all(axis=1)}``.
    """
    component = _component(dtype, "Checked")
    if not callable(check):
        raise misuse(
            f"Checked takes a function of the component's values, not {check!r}",
            "write for example wl.Checked(wl.Array(int, 52), is_shuffled)",
        )
    return replace(component, check=check)


class Reward:
    """The reward of an agent in this step, set to 0 before it: a float, or as in ``wl.Reward(wl.float64)``."""

    def __new__(cls, dtype: Any) -> ComponentSpec:  # type: ignore[misc]
        scalar = _component_type(dtype, "Reward")
        if scalar not in FLOATS:
            raise misuse(
                f"a reward is a real number, not {type_name(scalar)}", "write wl.Reward or wl.Reward(wl.float64)"
            )
        return ComponentSpec(scalar, role=Role.REWARD, finite=True)


class Config:
    """A value of the world that can be changed at run time, for the batch or per world: ``force: wl.Config = 10.0``.

    A NumPy array of one to three dimensions declares an array of its shape and type, read element by element from
    memory.
    """
