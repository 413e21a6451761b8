"""The action components of a kind of agent: the action that a policy makes of them, and their masks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from worldloom.core.base.errors import InputError
from worldloom.core.model.action_masks import MASKS, choices_of
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.spaces import Box
from worldloom.learn.agents.specs import ActionSpec
from worldloom.learn.config.policy_config import PolicyConfig


@dataclass(frozen=True)
class ActionColumn:
    """An action component of an agent.

    Attributes:
        name: Name of the column.
        start: Index of its first element in the policy's action, which holds all choices, then all numbers.
        width: Number of its elements.
        sizes: Choices of each element; empty for numbers.
    """

    name: str
    start: int
    width: int
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class MaskColumn:
    """Allowed choices of some parts of an action.

    Attributes:
        name: Name of the column with one flag per choice; None where all choices are allowed.
        choices: Number of choices.
    """

    name: str | None
    choices: int


def action_columns(
    world: str, table: str, fields: Mapping[str, Field], policy: PolicyConfig
) -> tuple[ActionSpec, list[ActionColumn]]:
    """The action of a policy for the agents of ``table``, and the components it consists of, in their order.

    Args:
        world: Id of the world, for errors.
        table: Name of the agents' table, for errors.
        fields: All components of an agent.
        policy: Settings of the distribution of numbers.
    """
    actions = [field for field in fields.values() if field.role is Role.ACTION]
    parts = sum(len(choices_of(field)) for field in actions)
    sizes: list[int] = []
    low: list[float] = []
    high: list[float] = []
    columns = []
    for field in actions:
        if isinstance(field.space, Box):
            lower, upper = field.space.each()
            columns.append(ActionColumn(field.name, parts + len(low), len(lower), ()))
            low += lower
            high += upper
        else:
            own = choices_of(field)
            columns.append(ActionColumn(field.name, len(sizes), len(own), own))
            sizes += own
    squashed = bool(low) and policy.action_distribution == "squashed_gaussian"
    for column in columns:
        bounds = low[column.start - parts :][: column.width] + high[column.start - parts :][: column.width]
        if squashed and not column.sizes and not all(map(math.isfinite, bounds)):
            raise InputError(
                f"{table}.{column.name} of world '{world}' has an infinite bound, "
                "and squashed_gaussian needs two finite ones: "
                "give its Box a low and a high, or train with ppo and set action_distribution to gaussian"
            )
    return (
        ActionSpec(
            "mixed" if sizes and low else "gaussian" if low else "categorical",
            tuple(sizes),
            tuple(low),
            tuple(high),
            squashed=squashed,
            state_std=bool(low) and policy.action_std == "state",
        ),
        columns,
    )


def mask_columns(table: str, fields: Mapping[str, Field], columns: Sequence[ActionColumn]) -> list[MaskColumn]:
    """The components with the action masks, in the order of the choices; empty where nothing is masked."""
    choices = [column for column in columns if column.sizes]
    if not choices:
        return []
    if MASKS[0] in fields:
        masks = [MaskColumn(MASKS[0], sum(sum(column.sizes) for column in choices))]
    else:
        own = {column: MASKS[1].format(column.name) for column in choices}
        masks = [MaskColumn(name if name in fields else None, sum(column.sizes)) for column, name in own.items()]
    for mask in masks:
        if mask.name is not None and math.prod(fields[mask.name].value_shape) != mask.choices:
            raise InputError(
                f"{table}.{mask.name} has {math.prod(fields[mask.name].value_shape)} elements, "
                f"but there are {mask.choices} choices to allow or forbid"
            )
    return masks if any(mask.name for mask in masks) else []
