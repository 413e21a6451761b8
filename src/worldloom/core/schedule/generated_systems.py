"""The engine's systems that are generated from the components of a world, with one line per component.

They set defaults, keep final observations, clear rewards, check actions and check that numbers are finite. Systems with
a fixed text are in :mod:`worldloom.core.schedule.lifecycle`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from worldloom.core.arithmetic.functions import construct
from worldloom.core.frontend.system import System
from worldloom.core.model.dtypes import FLOATS, is_composite, scalar_of, shape_of
from worldloom.core.model.entity import World
from worldloom.core.model.fields import Field, Role
from worldloom.core.model.launch import LaunchNode, Mask
from worldloom.core.model.population import Population
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete
from worldloom.core.registry.definition import Definition
from worldloom.core.schedule.long_arrays import array_copy_node, is_long
from worldloom.core.schedule.system_text import element_loops, make_system
from worldloom.core.schedule.table_views import EXPORTED_ROLES, FINAL, TableView

Systems = tuple[System | None, System | None]
"""A system that sets a flag, and one that reports the fault behind it; None where a table has nothing to check."""


def _table_system(name: str, lines: list[str], view: TableView, world: type[World], **names: Any) -> System | None:
    """A system over the rows of a table, or over the world; None without lines."""
    if not lines:
        return None
    return make_system(name, lines, None if view.__name__ == "World" else view, world, **names)


def _receiver(view: TableView) -> str:
    """The name of the row in the lines of a system over a table."""
    return "world" if view.__name__ == "World" else "e"


# -- episodes --------------------------------------------------------------------------------------------------------


def end_without_agents(definition: Definition, tables: dict[str, TableView]) -> System | None:
    """End the episode of a world without active agents: terminated if the last agent was, and truncated otherwise.

    The loops stop at the first active agent. They are generated, since a system names each kind that it loops over.
    """
    kinds: dict[str, Any] = {k.__name__: tables[k.__name__] for k in definition.entities if definition.agents(k)}
    if not kinds:
        return None
    lines = ["here = 0", "terminated = 0"]
    for number, name in enumerate(kinds):
        lines += [
            f"for e{number} in world.all({name}):",
            f"    if e{number}.active:",
            "        here = 1",
            "    if here > 0:",
            "        break",
        ]
        lines += [f"    if e{number}.terminated:", "        terminated = 1"]
    lines += [
        "if here == 0:",
        "    if terminated > 0:",
        "        world.terminate()",
        "    else:",
        "        world.truncate()",
    ]
    return make_system("everyone_left", lines, None, definition.world, **kinds)


def clear_population(population: Population, world: type[World]) -> System:
    """Remove all entities of a population. It is generated, since the name of the column contains that of the table."""
    return make_system(f"clear_{population.table}", [f"world.{population.table}__count = 0"], None, world)


def _exported_fields(view: TableView, long: bool) -> list[Field]:
    return [f for f in view.fields.values() if f.role in EXPORTED_ROLES and is_long(f) == long]


def keep_final(view: TableView, world: type[World]) -> System | None:
    """Keep the last observations of a finished episode, except for long arrays."""
    row = _receiver(view)
    lines = [
        line
        for f in _exported_fields(view, False)
        for line in element_loops(f.shape, f"{row}.{FINAL}{f.name}{{}} = {row}.{f.name}{{}}")
    ]
    if f"{FINAL}active" in view.fields:
        lines.append(f"{row}.{FINAL}active = {row}.active")
    return _table_system(f"keep_{view.__name__}", lines, view, world)


def keep_final_arrays(view: TableView, mask: Mask) -> LaunchNode | None:
    """Keep the long arrays among the last observations of a finished episode."""
    names = [f.name for f in _exported_fields(view, True)]
    return (
        array_copy_node(f"keep_{view.__name__}_arrays", mask, view.__name__, [FINAL + name for name in names], names)
        if names
        else None
    )


def clear_rewards(view: TableView, world: type[World]) -> System | None:
    row = _receiver(view)
    lines = [f"{row}.{f.name} = 0.0" for f in view.fields.values() if f.role is Role.REWARD]
    return _table_system(f"clear_reward_{view.__name__}", lines, view, world)


def _reset_fields(view: TableView, long: bool) -> list[Field]:
    return [
        f for f in view.fields.values() if f.role in (Role.STATE, *EXPORTED_ROLES) and not f.keep and is_long(f) == long
    ]


def clear_state(view: TableView, world: type[World]) -> System | None:
    """Set every component except long arrays to its default, so that no episode depends on the one before."""
    row = _receiver(view)
    lines: list[str] = []
    defaults: dict[str, Any] = {}
    for field in _reset_fields(view, False):
        if field.ref is not None:
            lines.append(f"{row}.{field.name} = None")
            continue
        default = field.default
        if is_composite(field.dtype):
            default = construct(field.dtype, list(default.ravel()) if default.shape else [default])
        defaults[f"default_{field.name}"] = default
        lines += element_loops(field.shape, f"{row}.{field.name}{{}} = default_{field.name}")
    return _table_system(f"clear_{view.__name__}_state", lines, view, world, **defaults)


def clear_state_arrays(view: TableView, mask: Mask) -> LaunchNode | None:
    """Set long arrays to their defaults."""
    names = [f.name for f in _reset_fields(view, True)]
    return array_copy_node(f"clear_{view.__name__}_arrays", mask, view.__name__, names, None) if names else None


# -- checks ----------------------------------------------------------------------------------------------------------


def check_actions(view: TableView, world: type[World]) -> Systems:
    """Check actions before the user's systems run: choices that do not exist, and numbers that are not finite.

    The first system runs for every row of every step. It only sets a flag, without a branch. The second one runs for
    the worlds whose flag is set, and reports the fault.
    """
    row, flags = _receiver(view), list[str]()
    for field in view.fields.values():
        if field.role is Role.ACTION:
            flags += [f"{row}.raw__{field.name}{index} != {row}.{field.name}{index}" for index, _ in _choices(field)]
    lines = [f"world.faulty |= {' or '.join(flags)}"] if flags else []
    lines += _flag_not_finite(view, _number_actions(view))
    return (
        _table_system(f"find_bad_actions_{view.__name__}", lines, view, world),
        _table_system(f"name_bad_actions_{view.__name__}", _report_actions(view, view.__name__), view, world),
    )


def check_agent_actions(view: TableView, population: str, world: type[World]) -> Systems:
    """The same for the agent rows ``view`` of a population. Actions of free rows are ignored."""
    lines = [f"    {line}" for line in _report_actions(view, population)]
    return None, _table_system(f"name_bad_actions_{view.__name__}", ["if e.active:", *lines], view, world)


def _report_actions(view: TableView, kind: str) -> list[str]:
    """Report each action of a row that does not exist or is not finite."""
    row, reports = _receiver(view), list[str]()
    for field in view.fields.values():
        if field.role is Role.ACTION:
            for index, n in _choices(field):
                raw, clean = f"{row}.raw__{field.name}{index}", f"{row}.{field.name}{index}"
                reports += _report_choice(raw, clean, f"action {kind}.{field.name}{index}", n)
    return reports + _report_not_finite(view, _number_actions(view), kind=kind)


def _number_actions(view: TableView) -> list[Field]:
    return [f for f in view.fields.values() if f.role is Role.ACTION and isinstance(f.space, Box)]


def _choices(field: Field) -> list[tuple[str, int]]:
    """The choices of a discrete action: the index of each in the component, and its number of options."""
    if isinstance(field.space, Discrete):
        return [("", field.space.n)]
    if isinstance(field.space, MultiDiscrete):
        return [(f"[{i}]", n) for i, n in enumerate(field.space.choices)]
    return []


def _report_choice(raw: str, clean: str, what: str, n: int) -> list[str]:
    return [f"if {raw} != {clean}:", f'    world.fail("{what} is {{value}}, which is not in 0 to {n - 1}", {raw})']


def check_finite(
    view: TableView, world: type[World], observations: bool, writers: Callable[[TableView, str], str]
) -> Systems:
    """Check components that must stay finite, observations or all others, with systems like :func:`check_actions`.

    ``writers`` gives the systems that write a component.
    """
    fields = [
        field
        for field in view.fields.values()
        if field.finite
        and scalar_of(field.dtype) in FLOATS
        and field.role is not Role.ACTION
        and (field.role is Role.OBSERVATION) == observations
    ]
    what = "observations" if observations else "numbers"
    return (
        _table_system(f"find_bad_{what}_{view.__name__}", _flag_not_finite(view, fields), view, world),
        _table_system(f"name_bad_{what}_{view.__name__}", _report_not_finite(view, fields, writers), view, world),
    )


def _flag_not_finite(view: TableView, fields: list[Field]) -> list[str]:
    """Set the flag where one of ``fields`` is not finite; one test for all values of a row."""
    row, lines, terms = _receiver(view), list[str](), list[str]()
    for field in fields:
        value = f"{row}.{field.name}"
        if field.is_array:
            lines += element_loops(field.shape, f"world.faulty |= {_not_finite(value + '{}', field)}")
        elif _is_scalar_or_vector(field):
            difference = f"({value} - {value})"
            terms.append(f"float(dot({difference}, {difference}))" if shape_of(field.dtype) else f"float({difference})")
        else:
            lines.append(f"world.faulty |= {_not_finite(value, field)}")
    if terms:  # x - x is 0 if x is finite, and NaN otherwise; so is the sum of such terms
        lines.append(f"world.faulty |= not isfinite({' + '.join(terms)})")
    return lines


def _report_not_finite(
    view: TableView,
    fields: list[Field],
    writers: Callable[[TableView, str], str] | None = None,
    kind: str | None = None,
) -> list[str]:
    """Report each value that is not finite, with the entity and the systems that write the component."""
    over_world = view.__name__ == "World"
    row, lines = _receiver(view), list[str]()
    for field in fields:
        name = f"World.{field.name}" if over_world else f"{field.name} of {kind or view.__name__} {{value}}"
        name = f"action {name}" if field.role is Role.ACTION else name
        systems = "" if writers is None else writers(view, field.name)
        message = f"{name} is not a finite number{f' (written by {systems})' if systems else ''}"
        lines += element_loops(field.shape, f"if {_not_finite(f'{row}.{field.name}{{}}', field)}:")
        pad = "    " * (len(field.shape) + 1)
        lines.append(f"{pad}world.fail({message!r}, {'0' if over_world else 'e.id'})")
    return lines


def _not_finite(value: str, field: Field) -> str:
    """The test of one value: at once for scalars and vectors, number by number for matrices and transforms."""
    if _is_scalar_or_vector(field):
        return f"not isfinite({value})"
    indices = itertools.product(*[range(n) for n in shape_of(field.dtype)])
    return " or ".join(f"not isfinite({value}[{', '.join(map(str, index))}])" for index in indices)


def _is_scalar_or_vector(field: Field) -> bool:
    shape = shape_of(field.dtype)
    return not shape or (len(shape) == 1 and field.dtype.__name__.startswith("vec"))
