"""Components that mask choices: the elements that allow the choices of an action component."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from worldloom.core.model.fields import Field, Role
from worldloom.core.model.spaces import Discrete, MultiDiscrete

MASKS = ("action_mask", "{}_mask")
"""Names of a component that masks the choices of all actions, and of one; ``{}`` is the action's name."""


@dataclass(frozen=True)
class MaskRange:
    """The elements of a mask that belong to one action component.

    Attributes:
        name: Name of the component with one number per choice, 0 for those that are not allowed.
        start: Index of the first of the elements.
        sizes: Choices of each element of the action.
    """

    name: str
    start: int
    sizes: tuple[int, ...]


def choices_of(field: Field) -> tuple[int, ...]:
    """The choices of each element of an action component; empty for numbers."""
    if isinstance(field.space, Discrete):
        return (field.space.n,) * math.prod(field.value_shape)
    return tuple(field.space.choices) if isinstance(field.space, MultiDiscrete) else ()


def mask_range(fields: Mapping[str, Field], action: str) -> MaskRange | None:
    """The mask of an action component among ``fields``, those of an agent; None without one of the right size."""
    sizes = choices_of(fields[action])
    own = MASKS[1].format(action)
    if not sizes or (MASKS[0] not in fields and own not in fields):
        return None
    name, start, total = own, 0, sum(sizes)
    if MASKS[0] in fields:
        choices = {field.name: sum(choices_of(field)) for field in fields.values() if field.role is Role.ACTION}
        name, total = MASKS[0], sum(choices.values())
        start = sum(list(choices.values())[: list(choices).index(action)])
    return MaskRange(name, start, sizes) if math.prod(fields[name].value_shape) == total else None
