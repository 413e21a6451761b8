"""What the engine does around the user's systems, written as systems: counting steps, ending episodes, starting new ones.

Since these are systems like any other, they are fused, compiled and interpreted with the user's.
"""

from __future__ import annotations

import ast
import itertools
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from worldloom.core.arithmetic.functions import FUNCTIONS, construct
from worldloom.core.base.source import Source
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import AGENT_FIELDS, Entity, Has, World
from worldloom.core.model.fields import FLOATS, Field, Role, is_composite, scalar_of, shape_of
from worldloom.core.model.grid import grid_fields
from worldloom.core.model.launch import LaunchNode, Mask
from worldloom.core.model.population import ROW_FIELDS, ROW_WORLD, SERIAL, Population, world_fields
from worldloom.core.model.spaces import Box, Discrete, MultiDiscrete
from worldloom.core.registry.registry import Definition
from worldloom.core.schedule.long_arrays import array_copy_node, is_long

FINAL = "final_"
"""What the columns that keep an episode's last observation are called, before the observation's own name."""

_EXPORTED_ROLES = (Role.OBSERVATION, Role.INFO)
"""What the outside is shown, and kept of the last step of an episode."""


class TableView(Has):
    """A kind of entity with the columns that the engine adds to it."""

    def __init__(self, kind: type[Entity] | type[World], name: str, extra: dict[str, Field]) -> None:
        self.kind = kind
        self.groups = (kind,)
        self.reserved = kind.reserved
        self.fields = {**kind.fields, **extra}
        self.__name__ = name


def views(definition: Definition, keep_final: bool) -> dict[str, TableView]:
    """Every table of a simulation by name, the world's first."""
    world: type[World] = type(definition.world.__name__, (definition.world,), {"__module__": __name__})
    world.fields = {**world.fields, **(_final(world.fields) if keep_final else {})}
    for population in definition.populations.values():
        world.fields.update(world_fields(population.table, population.pooled))
    world.fields.update(grid_fields(definition.grids.values()))
    found = {"World": TableView(world, "World", {})}
    for kind in definition.entities:
        if kind.__name__ in definition.populations:
            population = definition.populations[kind.__name__]
            found[kind.__name__] = TableView(kind, kind.__name__, population.row_fields)
            stage = TableView(kind, population.new_table, {})
            kept = (SERIAL, *([ROW_WORLD] if population.pooled else []), *population.spawn_fields)
            stage.fields = {
                n: replace(f, transient=True) for n, f in {**kind.fields, **ROW_FIELDS}.items() if n in kept
            }
            found[population.new_table] = stage
            continue
        extra = _final(kind.fields) if keep_final else {}
        if definition.agents(kind):
            extra.update(AGENT_FIELDS)
        found[kind.__name__] = TableView(kind, kind.__name__, extra)
    return found


def _final(fields: dict[str, Field]) -> dict[str, Field]:
    kept = [f for f in fields.values() if f.role in _EXPORTED_ROLES]
    return {FINAL + f.name: Field(FINAL + f.name, f.dtype, f.shape, Role.ENGINE, keep=True) for f in kept}


def _system(name: str, lines: list[str], over: TableView | None, world: type[World], **names: Any) -> System:
    """A system from its lines; ``e`` is the entity, ``world`` the world."""
    head = f"def {name}(world: World):" if over is None else f"def {name}(e: Kind, world: World):"
    text = head + "\n" + textwrap.indent("\n".join(lines), "    ")
    space: dict[str, Any] = {
        "World": world,
        "Kind": over,
        "isfinite": FUNCTIONS["isfinite"],
        "dot": FUNCTIONS["dot"],
        **names,
    }
    exec(text, space)
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return System(Source(space[name], tree, "worldloom"), engine=True)


def begin_step(world: type[World]) -> System:
    """The flags of the last step are gone."""
    return _system(
        "begin_step", ["world.terminated = False", "world.truncated = False", "world.faulty = False"], None, world
    )


def begin_step_or_reset(world: type[World]) -> System:
    """With next-step autoreset: worlds that finished in the last step start anew in this one."""
    lines = [
        "world.resetting = world.finished",
        "world.terminated = False",
        "world.truncated = False",
        "world.faulty = False",
    ]
    return _system("begin_step", lines, None, world)


def truncate_at_fault(world: type[World]) -> System:
    """A world at fault ends its episode.

    It runs before the faults that the checks found are put into words, which writes to memory: a kernel can then load ``broken`` with
    everything else, and need not wait for it at the end.
    """
    lines = [
        "if world.broken[0]:",
        "    world.truncated = True",
        "    world.broken[0] = False",
        "if world.faulty:",
        "    world.truncated = True",
    ]
    return _system("judge_faults", lines, None, world)


def end_step(world: type[World]) -> System:
    """The step is over: count it, and see whether the episode is."""
    lines = [
        "world.step += 1",
        "if world.faulty:",
        "    world.broken[0] = False",
        "if world.max_steps > 0 and world.step >= world.max_steps:",
        "    world.truncated = True",
        "world.finished = world.terminated or world.truncated",
    ]
    return _system("end_step", lines, None, world)


def begin_episode(world: type[World]) -> System:
    """A fault found after the last step of an episode is no reason to cut the next one short."""
    return _system("begin_episode", ["world.episode += 1", "world.step = 0", "world.broken[0] = False"], None, world)


def clear_episode_flags(world: type[World]) -> System:
    """After a reset from outside, nothing of the last episode shows."""
    lines = ["world.finished = False", "world.terminated = False", "world.truncated = False", "world.broken[0] = False"]
    return _system("forget_episode", lines, None, world)


def finish_reset(world: type[World]) -> System:
    """With next-step autoreset: the world has been reset."""
    return _system("settle", ["world.finished = False"], None, world)


def end_without_agents(definition: Definition, tables: dict[str, TableView]) -> System | None:
    """A world that all its agents have left is over: terminated if the last of them was, and truncated otherwise.

    The first one that is still there settles it, so that of thousands few are looked at.
    """
    kinds = {k.__name__: tables[k.__name__] for k in definition.entities if definition.agents(k)}
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
    return _system("everyone_left", lines, None, definition.world, **kinds)


def agent_flags(view: TableView, world: type[World]) -> tuple[System, System, System]:
    """For agents that leave one by one: clear their flags, tell them how the world ended, and bring them back."""
    name = view.__name__
    clear = _system(f"clear_{name}", ["e.terminated = False", "e.truncated = False"], view, world)
    told = [
        "if e.active:",
        "    if world.terminated:",
        "        e.terminated = True",
        "    if world.truncated:",
        "        e.truncated = True",
    ]
    back = _system(f"return_{name}", ["e.active = True"], view, world)
    return clear, _system(f"tell_{name}", told, view, world), back


def _loops(shape: tuple[int, ...], body: str) -> list[str]:
    """``body`` for every element of an array; ``{}`` in it is the index."""
    if not shape:
        return [body.replace("{}", "")]
    names = [f"i{d}" for d in range(len(shape))]
    lines = [f"{'    ' * d}for {n} in range({size}):" for d, (n, size) in enumerate(zip(names, shape, strict=True))]
    return [*lines, "    " * len(shape) + body.replace("{}", "[" + ", ".join(names) + "]")]


def clear_population(population: Population, world: type[World]) -> System:
    """Nobody is left of a population."""
    return _system(f"clear_{population.table}", [f"world.{population.table}__count = 0"], None, world)


def _exported_fields(view: TableView, long: bool) -> list[Field]:
    return [f for f in view.fields.values() if f.role in _EXPORTED_ROLES and is_long(f) == long]


def keep_final(view: TableView, world: type[World]) -> System | None:
    """Keep what a finished episode showed last, but for long arrays."""
    me = _receiver(view)
    lines = [
        line
        for f in _exported_fields(view, False)
        for line in _loops(f.shape, f"{me}.{FINAL}{f.name}{{}} = {me}.{f.name}{{}}")
    ]
    return _for_table(f"keep_{view.__name__}", lines, view, world)


def keep_final_arrays(view: TableView, mask: Mask) -> LaunchNode | None:
    """Keep the long arrays that a finished episode showed last."""
    names = [f.name for f in _exported_fields(view, True)]
    return (
        array_copy_node(f"keep_{view.__name__}_arrays", mask, view.__name__, [FINAL + name for name in names], names)
        if names
        else None
    )


def clear_rewards(view: TableView, world: type[World]) -> System | None:
    me = _receiver(view)
    lines = [f"{me}.{f.name} = 0.0" for f in view.fields.values() if f.role is Role.REWARD]
    return _for_table(f"clear_reward_{view.__name__}", lines, view, world)


def _reset_fields(view: TableView, long: bool) -> list[Field]:
    return [
        f
        for f in view.fields.values()
        if f.role in (Role.STATE, *_EXPORTED_ROLES) and not f.keep and is_long(f) == long
    ]


def clear_state(view: TableView, world: type[World]) -> System | None:
    """Put every component but long arrays back to its default, so that no episode depends on the one before."""
    me = _receiver(view)
    lines: list[str] = []
    defaults: dict[str, Any] = {}
    for field in _reset_fields(view, False):
        if field.ref is not None:
            lines.append(f"{me}.{field.name} = None")
            continue
        defaults[f"default_{field.name}"] = (
            construct(field.dtype, list(field.default.ravel()) if field.default.shape else [field.default])
            if is_composite(field.dtype)
            else field.default
        )
        lines += _loops(field.shape, f"{me}.{field.name}{{}} = default_{field.name}")
    return _for_table(f"clear_{view.__name__}_state", lines, view, world, **defaults)


def clear_state_arrays(view: TableView, mask: Mask) -> LaunchNode | None:
    """Put long arrays back to their defaults."""
    names = [f.name for f in _reset_fields(view, True)]
    return array_copy_node(f"clear_{view.__name__}_arrays", mask, view.__name__, names, None) if names else None


def check_actions(view: TableView, world: type[World]) -> tuple[System | None, System | None]:
    """Look for actions that do not exist, before the user's systems run, and say which they are.

    The first of the two runs for every row of every step, so it only raises a flag, without a branch; the second runs for the
    worlds whose flag is up, and finds the words.
    """
    me, flags, words = _receiver(view), list[str](), list[str]()
    for field in view.fields.values():
        if field.role is not Role.ACTION:
            continue
        name = f"{view.__name__}.{field.name}"
        if isinstance(field.space, Discrete):
            flags.append(f"{me}.raw__{field.name} != {me}.{field.name}")
            words += _bad_choice(f"{me}.raw__{field.name}", f"{me}.{field.name}", f"action {name}", field.space.n)
        elif isinstance(field.space, MultiDiscrete):
            for i, n in enumerate(field.space.choices):
                flags.append(f"{me}.raw__{field.name}[{i}] != {me}.{field.name}[{i}]")
                words += _bad_choice(
                    f"{me}.raw__{field.name}[{i}]", f"{me}.{field.name}[{i}]", f"action {name}[{i}]", n
                )
    numbers = [f for f in view.fields.values() if f.role is Role.ACTION and isinstance(f.space, Box)]
    lines = [f"world.faulty |= {' or '.join(flags)}"] if flags else []
    return (
        _for_table(f"find_bad_actions_{view.__name__}", lines + _flag_not_finite(view, numbers), view, world),
        _for_table(f"name_bad_actions_{view.__name__}", words + _name_not_finite(view, numbers), view, world),
    )


def check_finite(
    view: TableView, world: type[World], observations: bool, writers: Callable[[TableView, str], str]
) -> tuple[System | None, System | None]:
    """Likewise for components that must stay finite: after the step, or for observations after they were written. ``writers`` says who writes one."""
    numbers = [
        f for f in view.fields.values() if f.finite and scalar_of(f.dtype) in FLOATS and f.role is not Role.ACTION
    ]
    found = [f for f in numbers if (f.role is Role.OBSERVATION) == observations]
    what = "observations" if observations else "numbers"
    return (
        _for_table(f"find_bad_{what}_{view.__name__}", _flag_not_finite(view, found), view, world),
        _for_table(f"name_bad_{what}_{view.__name__}", _name_not_finite(view, found, writers), view, world),
    )


def truncate_bad_observations(world: type[World]) -> System:
    """The episode of a world whose observation is not finite ends in the same step."""
    return _system(
        "give_up",
        ["if world.faulty:", "    world.truncated = True", "    world.finished = True", "    world.broken[0] = False"],
        None,
        world,
    )


def _flag_not_finite(view: TableView, fields: list[Field]) -> list[str]:
    """Raise the flag where one of ``fields`` is not finite; one test for all values of a row."""
    me, lines, terms = _receiver(view), list[str](), list[str]()
    for field in fields:
        if field.is_array:
            lines += _loops(field.shape, f"world.faulty |= {_not_finite(f'{me}.{field.name}{{}}', field)}")
        elif _is_vector(field) or not shape_of(field.dtype):
            less = f"({me}.{field.name} - {me}.{field.name})"
            terms.append(f"float(dot({less}, {less}))" if shape_of(field.dtype) else f"float({less})")
        else:
            lines.append(f"world.faulty |= {_not_finite(f'{me}.{field.name}', field)}")
    if terms:  # a number less itself is 0 or not a number, and so is the sum of all of them
        lines.append(f"world.faulty |= not isfinite({' + '.join(terms)})")
    return lines


def _name_not_finite(
    view: TableView, fields: list[Field], writers: Callable[[TableView, str], str] | None = None
) -> list[str]:
    me, lines = _receiver(view), list[str]()
    for field in fields:
        what = f"{'action ' if field.role is Role.ACTION else ''}{field.name if me == 'e' else f'World.{field.name}'}"
        whose = f"{what} of {view.__name__} {{value}}" if me == "e" else what
        lines += _loops(field.shape, f"if {_not_finite(f'{me}.{field.name}{{}}', field)}:")
        wrote = "" if writers is None else writers(view, field.name)
        message = f"{whose} is not a finite number{f' (written by {wrote})' if wrote else ''}"
        lines.append("    " * len(field.shape) + f"    world.fail({message!r}, {'e.id' if me == 'e' else '0'})")
    return lines


def _not_finite(value: str, field: Field) -> str:
    """The test of one value: as a whole for numbers and vectors, number by number for matrices and transforms."""
    if _is_vector(field) or not shape_of(field.dtype):
        return f"not isfinite({value})"
    places = itertools.product(*[range(n) for n in shape_of(field.dtype)])
    return " or ".join(f"not isfinite({value}[{', '.join(map(str, p))}])" for p in places)


def _is_vector(field: Field) -> bool:
    return len(shape_of(field.dtype)) == 1 and field.dtype.__name__.startswith("vec")


def _bad_choice(raw: str, clean: str, what: str, n: int) -> list[str]:
    return [f"if {raw} != {clean}:", f'    world.fail("{what} is {{value}}, which is not in 0 to {n - 1}", {raw})']


def _receiver(view: TableView) -> str:
    return "world" if view.__name__ == "World" else "e"


def _for_table(name: str, lines: list[str], view: TableView, world: type[World], **names: Any) -> System | None:
    if not lines:
        return None
    return _system(name, lines, None if view.__name__ == "World" else view, world, **names)
