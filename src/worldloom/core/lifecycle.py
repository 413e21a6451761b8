"""What the engine does around the user's systems, written as systems: counting steps, ending episodes, starting new ones.

Since these are systems like any other, they are fused, compiled and interpreted with the user's.
"""

from __future__ import annotations

import ast
import textwrap
from typing import Any

from worldloom.core.entity import AGENT_FIELDS, Entity, Has, World
from worldloom.core.fields import Field, Role, is_composite, shape_of
from worldloom.core.math import FUNCTIONS, construct
from worldloom.core.registry import Definition
from worldloom.core.source import Source
from worldloom.core.spaces import Box, Discrete, MultiDiscrete
from worldloom.core.system import System

FINAL = "final_"
"""What the columns that keep an episode's last observation are called, before the observation's own name."""


_TOLD = (Role.OBSERVATION, Role.INFO)
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
    found = {"World": TableView(world, "World", {})}
    for kind in definition.entities:
        extra = _final(kind.fields) if keep_final else {}
        if definition.agents(kind):
            extra.update(AGENT_FIELDS)
        found[kind.__name__] = TableView(kind, kind.__name__, extra)
    return found


def _final(fields: dict[str, Field]) -> dict[str, Field]:
    kept = [f for f in fields.values() if f.role in _TOLD]
    return {FINAL + f.name: Field(FINAL + f.name, f.dtype, f.shape, Role.ENGINE, keep=True) for f in kept}


def _system(name: str, lines: list[str], over: TableView | None, world: type[World], **names: Any) -> System:
    """A system from its lines; ``e`` is the entity, ``world`` the world."""
    head = f"def {name}(world: World):" if over is None else f"def {name}(e: Kind, world: World):"
    text = head + "\n" + textwrap.indent("\n".join(lines), "    ")
    space: dict[str, Any] = {"World": world, "Kind": over, "isfinite": FUNCTIONS["isfinite"], "dot": FUNCTIONS["dot"], **names}
    exec(text, space)  # noqa: S102 - the engine's own text
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return System(Source(space[name], tree, "worldloom"), engine=True)


def begin_step(world: type[World]) -> System:
    """The flags of the last step are gone."""
    return _system("begin_step", ["world.terminated = False", "world.truncated = False", "world.faulty = False"], None, world)


def begin_step_or_reset(world: type[World]) -> System:
    """With next-step autoreset: worlds that finished in the last step start anew in this one."""
    lines = ["world.resetting = world.finished", "world.terminated = False", "world.truncated = False", "world.faulty = False"]
    return _system("begin_step", lines, None, world)


def advance(world: type[World]) -> System:
    """The step is over: count it, and see whether the episode is."""
    lines = [
        "world.step += 1",
        "if world.broken[0]:",
        "    world.truncated = True",
        "    world.broken[0] = False",
        "if world.max_steps > 0 and world.step >= world.max_steps:",
        "    world.truncated = True",
        "world.finished = world.terminated or world.truncated",
    ]
    return _system("end_step", lines, None, world)


def begin_episode(world: type[World]) -> System:
    """A fault found after the last step of an episode is no reason to cut the next one short."""
    return _system("begin_episode", ["world.episode += 1", "world.step = 0", "world.broken[0] = False"], None, world)


def forget(world: type[World]) -> System:
    """After a reset from outside, nothing of the last episode shows."""
    lines = ["world.finished = False", "world.terminated = False", "world.truncated = False", "world.broken[0] = False"]
    return _system("forget_episode", lines, None, world)


def settle(world: type[World]) -> System:
    """With next-step autoreset: the world has been reset."""
    return _system("settle", ["world.finished = False"], None, world)


def everyone_left(definition: Definition, tables: dict[str, TableView]) -> System | None:
    """A world that all its agents have left is over."""
    kinds = {k.__name__: tables[k.__name__] for k in definition.entities if definition.agents(k)}
    if not kinds:
        return None
    lines = ["here = 0"]
    for name in kinds:
        lines += [f"for e in world.all({name}):" if len(kinds) == 1 else f"for {name.lower()}_ in world.all({name}):"]
        lines += [f"    if {'e' if len(kinds) == 1 else name.lower() + '_'}.active:", "        here += 1"]
    lines += ["if here == 0:", "    world.terminate()"]
    return _system("everyone_left", lines, None, definition.world, **kinds)


def agent_flags(view: TableView, world: type[World]) -> tuple[System, System, System]:
    """For agents that leave one by one: clear their flags, tell them how the world ended, and bring them back."""
    name = view.__name__
    clear = _system(f"clear_{name}", ["e.terminated = False", "e.truncated = False"], view, world)
    told = ["if e.active:", "    if world.terminated:", "        e.terminated = True", "    if world.truncated:", "        e.truncated = True"]
    back = _system(f"return_{name}", ["e.active = True"], view, world)
    return clear, _system(f"tell_{name}", told, view, world), back


def _loops(shape: tuple[int, ...], body: str) -> list[str]:
    """``body`` for every element of an array; ``{}`` in it is the index."""
    names = [f"i{d}" for d in range(len(shape))]
    lines = [f"{'    ' * d}for {n} in range({size}):" for d, (n, size) in enumerate(zip(names, shape, strict=True))]
    return [*lines, "    " * len(shape) + body.replace("{}", "[" + ", ".join(names) + "]")]


def _copy(target: str, field: Field, value: str) -> list[str]:
    return _loops(field.shape, f"{target}{{}} = {value}") if field.is_array else [f"{target} = {value.replace('{}', '')}"]


def keep_final(view: TableView, world: type[World]) -> System | None:
    """Keep what a finished episode showed last."""
    me = _me(view)
    lines: list[str] = []
    for field in view.fields.values():
        if field.role in _TOLD:
            lines += _copy(f"{me}.{FINAL}{field.name}", field, f"{me}.{field.name}{{}}")
    return _for_table(f"keep_{view.__name__}", lines, view, world)


def clear_rewards(view: TableView, world: type[World]) -> System | None:
    me = _me(view)
    lines = [f"{me}.{f.name} = 0.0" for f in view.fields.values() if f.role is Role.REWARD]
    return _for_table(f"clear_reward_{view.__name__}", lines, view, world)


def clear_state(view: TableView, world: type[World]) -> System | None:
    """Put every component back to its default, so that no episode depends on the one before."""
    me = _me(view)
    lines: list[str] = []
    defaults: dict[str, Any] = {}
    for field in view.fields.values():
        if field.role not in (Role.STATE, Role.OBSERVATION, Role.INFO) or field.keep:
            continue
        if field.ref is not None:
            lines.append(f"{me}.{field.name} = None")
            continue
        defaults[f"default_{field.name}"] = (
            construct(field.dtype, list(field.default.ravel()) if field.default.shape else [field.default]) if is_composite(field.dtype) else field.default
        )
        lines += _copy(f"{me}.{field.name}", field, f"default_{field.name}")
    return _for_table(f"clear_{view.__name__}_state", lines, view, world, **defaults)


def find_faults(view: TableView, world: type[World]) -> tuple[System | None, System | None]:
    """Look for actions that do not exist before the step, and for numbers that are not finite after it.

    These run for every row of every step, so they only raise a flag, without a branch; :func:`name_faults` finds the words.
    """
    me, parts = _me(view), ([], [])  # type: tuple[str, tuple[list[str], list[str]]]
    for field in view.fields.values():
        if field.role is Role.ACTION and isinstance(field.space, Discrete):
            parts[0].append(f"{me}.raw__{field.name} != {me}.{field.name}")
        elif field.role is Role.ACTION and isinstance(field.space, MultiDiscrete):
            parts[0].extend(f"{me}.raw__{field.name}[{i}] != {me}.{field.name}[{i}]" for i in range(len(field.space.choices)))
        elif field.finite or isinstance(field.space, Box):
            parts[1 if field.role is not Role.ACTION else 0].append(field.name)
    return tuple(_flag(f"find_{what}_{view.__name__}", p, view, world) for what, p in zip(("bad_actions", "not_finite"), parts, strict=True))  # type: ignore[return-value]


def _flag(name: str, parts: list[str], view: TableView, world: type[World]) -> System | None:
    """A system that sets ``world.faulty`` where a condition holds or a component named alone is not finite."""
    me, lines = _me(view), list[str]()
    conditions = [p for p in parts if "=" in p]
    values: list[str] = []
    for field in (view.fields[p] for p in parts if "=" not in p):
        if field.is_array:
            lines += _loops(field.shape, f"world.faulty |= not isfinite({me}.{field.name}{{}})")
        else:
            less = f"({me}.{field.name} - {me}.{field.name})"
            values.append(f"dot({less}, {less})" if shape_of(field.dtype) else less)
    if values:  # a number less itself is 0 or not a number, and so is the sum of all of them
        conditions.append(f"not isfinite({' + '.join(values)})")
    if conditions:
        lines.append(f"world.faulty |= {' or '.join(conditions)}")
    return _for_table(name, lines, view, world)


def name_faults(view: TableView, world: type[World]) -> System | None:
    """For worlds whose flag was raised: say what is wrong."""
    me, lines = _me(view), list[str]()
    for field in view.fields.values():
        name = f"{view.__name__}.{field.name}"
        if field.role is Role.ACTION and isinstance(field.space, Discrete):
            lines += _bad_choice(f"{me}.raw__{field.name}", f"{me}.{field.name}", f"action {name}", field.space.n)
        elif field.role is Role.ACTION and isinstance(field.space, MultiDiscrete):
            for i, n in enumerate(field.space.choices):
                lines += _bad_choice(f"{me}.raw__{field.name}[{i}]", f"{me}.{field.name}[{i}]", f"action {name}[{i}]", n)
        elif field.finite or isinstance(field.space, Box):
            what = f"{'action ' if field.role is Role.ACTION else ''}{name if me == 'world' else field.name}"
            indent = "    " * len(field.shape)
            lines += _loops(field.shape, f"if not isfinite({me}.{field.name}{{}}):") if field.is_array else [f"if not isfinite({me}.{field.name}):"]
            whose = f"{what} of {view.__name__} {{value}}" if me == "e" else what
            lines.append(indent + f'    world.fail("{whose} is not a finite number", {"e.id" if me == "e" else "0"})')
    return _for_table(f"name_faults_{view.__name__}", lines, view, world)


def _bad_choice(raw: str, clean: str, what: str, n: int) -> list[str]:
    return [f"if {raw} != {clean}:", f'    world.fail("{what} is {{value}}, which is not in 0 to {n - 1}", {raw})']


def _me(view: TableView) -> str:
    return "world" if view.__name__ == "World" else "e"


def _for_table(name: str, lines: list[str], view: TableView, world: type[World], **names: Any) -> System | None:
    if not lines:
        return None
    return _system(name, lines, None if view.__name__ == "World" else view, world, **names)
