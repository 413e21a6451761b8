"""The reference interpreter: a world file run by its syntax tree over NumPy scalars.

It reads only the text of the file, and has tables, a life cycle and random numbers of its own.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldloom.testing.reference.statements import Statements
from worldloom.testing.reference.tables import Kind, Run, State
from worldloom.testing.reference.types import BOOL, INT, NAMED, Component, RefType, component

_ENGINE = {
    "step": Component("step", INT),
    "episode": Component("episode", INT),
    "active": Component("active", BOOL),
}


@dataclass
class System:
    """A translated system: its function, and the kinds of its parameters by name.

    ``where`` is the component and the value of the entities that it runs for; None for all of them.
    """

    name: str
    do: Any
    parameters: dict[str, str]
    world_parameter: str | None
    where: tuple[str, int] | None = None


class Helper:
    """A translated ``@wl.function``. Its parameters are local variables."""

    def __init__(self, world: Reference, tree: ast.FunctionDef) -> None:
        self.names = [a.arg for a in tree.args.args]
        self.kinds = [NAMED[ast.unparse(a.annotation)] for a in tree.args.args if a.annotation is not None]
        flow = Statements(world, helper=True)
        flow.locals.update(zip(self.names, self.kinds, strict=True))
        flow.returns = NAMED[ast.unparse(tree.returns)] if tree.returns is not None else None
        self.do = flow.block(tree.body)
        self.returns: Any = flow.returns

    def call(self, caller: Run, arguments: list[Any]) -> Any:
        run = Run(caller.state, caller.world, {}, 0, 0, 1)
        run.locals.update(zip(self.names, arguments, strict=True))
        self.do(run)
        return run.result


class Reference:
    """A batch of worlds of a file, run by the reference.

    Args:
        text: The file: classes of entities and of one world, helpers, systems, and ``DEFINITION = wl.Definition(...)``.
        num_worlds: Number of worlds in the batch.
        seed: Seed of the random numbers.
        autoreset: Reset mode at the end of an episode, as for ``wl.Simulation``.
        config: Values of the configuration, for all worlds or with a first axis of worlds.
        undefined: The number in transient components that nothing has written in the step, see :class:`State`.
    """

    def __init__(
        self,
        text: str,
        num_worlds: int,
        seed: int = 0,
        autoreset: str = "same_step",
        config: dict[str, Any] | None = None,
        undefined: float = np.nan,
    ) -> None:
        self.autoreset = autoreset
        tree = ast.parse(text)
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        self.constants = _constants(tree)
        call = next(
            n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "DEFINITION"
        )
        assert isinstance(call, ast.Call)
        arguments = {k.arg: k.value for k in call.keywords}
        self.max_steps = ast.literal_eval(arguments["max_steps"]) if "max_steps" in arguments else 0
        self.kinds = {"World": Kind("World", _fields(classes[ast.unparse(arguments["world"])], classes))}
        entities = arguments["entities"]
        assert isinstance(entities, ast.Dict)
        for key, count in zip(entities.keys, entities.values, strict=True):
            assert key is not None
            self.kinds[ast.unparse(key)] = _kind(classes[ast.unparse(key)], classes, count)
        self._find_agents(tree)
        self.tables: dict[str, dict[str, Any]] = {name: {} for name in self.kinds}
        self.state = State(self.kinds, num_worlds, [seed] * num_worlds, self.tables, undefined=undefined)
        for name, value in (config or {}).items():
            per_world = np.shape(value)[:1] == (num_worlds,)
            self.tables["World"][name][...] = np.asarray(value)[:, None] if per_world else np.asarray(value)
        self.helpers: dict[str, Helper] = {}
        self.world_class = ast.unparse(arguments["world"])
        self.world_functions: dict[str, ast.FunctionDef] = {}
        systems: dict[str, ast.FunctionDef] = {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and _decorated(node, "wl.function"):
                if _takes_world(node, self.world_class):
                    self.world_functions[node.name] = node
                else:
                    self.helpers[node.name] = Helper(self, node)
            elif isinstance(node, ast.FunctionDef) and _decorated(node, "wl.system"):
                systems[node.name] = node
        self.phases: dict[str, list[tuple[System, list[str], int]]] = {}
        ordinal = 1
        for phase in ("reset", "step", "observe"):
            self.phases[phase] = []
            listed = arguments.get(phase)
            for item in listed.elts if isinstance(listed, (ast.List, ast.Tuple)) else []:
                function = systems[ast.unparse(item)]
                component, values = _condition(function)
                tables_of = self._tables_of(function)
                for turn, value in enumerate(values):  # first all tables with the first value
                    for number, tables in enumerate(tables_of):
                        where = (component, value) if component else None
                        system = self._system(function, tables, where)
                        self.phases[phase].append((system, tables, ordinal + number * len(values) + turn))
                ordinal += len(tables_of) * len(values)
        self.tables["World"]["episode"][...] = -1
        self.reset()

    # -- translation -----------------------------------------------------------------------------------------------

    def field(self, kind: str, name: str | None) -> Component:
        """A component of a kind, or one that the engine adds to it."""
        declared = self.kinds[kind].fields.get(name or "")
        return declared if declared is not None else _ENGINE[name or ""]

    def room(self, kind: str) -> int:
        return self.kinds[kind].rows

    def _system(self, tree: ast.FunctionDef, tables: list[str], where: tuple[str, int] | None = None) -> System:
        """A system that runs over some tables: those of the kinds it names, or of kinds derived from them."""
        parameters: dict[str, str] = {}
        world = None
        flow = Statements(self, helper=False)
        for argument in tree.args.args:
            assert argument.annotation is not None
            kind = ast.unparse(argument.annotation)
            if kind in self.kinds:
                kind = tables[len(parameters)]
                parameters[argument.arg] = kind
            else:
                world = argument.arg
            flow.rows[argument.arg] = kind if kind in self.kinds else "World"
        return System(tree.name, flow.block(tree.body), parameters, world, where)

    def _tables_of(self, system: ast.FunctionDef) -> list[list[str]]:
        """The tables that a system runs over: one list for each table, of two kinds for pairs."""
        annotations = [ast.unparse(a.annotation) for a in system.args.args if a.annotation is not None]
        kinds = [kind for kind in annotations if kind in self.kinds]
        if len(kinds) != 1:
            return [kinds]
        return [[k.name] for k in self.kinds.values() if k.name == kinds[0] or kinds[0] in k.ancestors]

    def _find_agents(self, tree: ast.Module) -> None:
        """Mark the kinds whose entities end their episodes one by one, or whose ``active`` flag is read."""
        for function in tree.body:
            if not isinstance(function, ast.FunctionDef):  # helpers have no entities
                continue
            kinds = {a.arg: ast.unparse(a.annotation) for a in function.args.args if a.annotation is not None}
            for node in ast.walk(function):
                if isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
                    name, call = ast.unparse(node.target), node.iter
                elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                    name, call = ast.unparse(node.targets[0]), node.value
                else:
                    continue
                called = ast.unparse(call.func)
                if called in ("world.all", "world.near", "world.nearest", "world.at"):
                    kinds[name] = ast.unparse(call.args[0])
                elif called.endswith(".get"):
                    owner, _, reference = called.removesuffix(".get").rpartition(".")
                    kinds[name] = self._referred(kinds.get(owner, ""), reference)
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and node.attr in ("terminate", "truncate", "active"):
                    kind = kinds.get(ast.unparse(node.value), "")
                    for known in self.kinds.values():
                        known.agents |= known.name != "World" and (known.name == kind or kind in known.ancestors)

    def _referred(self, kind: str, reference: str) -> str:
        """The kind that a reference of a kind refers to; "" where there is no such reference."""
        declared = self.kinds[kind].fields.get(reference) if kind in self.kinds else None
        return declared.type.kind if declared is not None and isinstance(declared.type, RefType) else ""

    # -- running -----------------------------------------------------------------------------------------------------

    def reset(self, worlds: Any = None) -> None:
        """Start a new episode in some worlds, or in all."""
        selected = list(range(self.state.num_worlds)) if worlds is None else [int(w) for w in np.flatnonzero(worlds)]
        with np.errstate(all="ignore"):
            self._begin(selected)
            for table, name in self._rewards():
                self.tables[table][name][selected] = 0
            for kind in self.kinds.values():
                for flag_name in ("terminated", "truncated") if kind.agents else ():
                    self.tables[kind.name][flag_name][selected] = False
            self._run("observe", selected)
            for flag in self.state.flags.values():
                flag[selected] = False

    def step(self, actions: dict[tuple[str, str], Any] | None = None) -> None:
        """Step every world."""
        for (kind, name), values in (actions or {}).items():
            self.tables[kind][name][...] = values
        with np.errstate(all="ignore"):
            self._step()

    def _step(self) -> None:
        state, worlds = self.state, list(range(self.state.num_worlds))
        resetting = [w for w in worlds if self.autoreset == "next_step" and state.flags["finished"][w]]
        stepping = [w for w in worlds if w not in resetting]
        state.flags["terminated"][:] = state.flags["truncated"][:] = False
        for kind in self.kinds.values():
            state.forget(kind, slice(None))
            if kind.event:
                state.counts[kind.name][:] = 0
            if kind.agents:
                self.tables[kind.name]["terminated"][:] = self.tables[kind.name]["truncated"][:] = False
        for name, reward in self._rewards():
            self.tables[name][reward][:] = 0
        self._check_actions(stepping)
        self._run("step", stepping)
        self._end(stepping)
        if resetting:
            self._begin(resetting)
            state.flags["finished"][resetting] = False
        self._run("observe", worlds)
        if self.autoreset == "same_step":
            finished = [w for w in worlds if state.flags["finished"][w]]
            self._keep_final(finished)
            self._begin(finished)
            self._run("observe", finished)

    def _keep_final(self, worlds: list[int]) -> None:
        """Copy the observations of some worlds to their ``final_`` columns."""
        for kind in self.kinds.values():
            table = self.tables[kind.name]
            for c in kind.fields.values():
                if c.role == "observation":
                    final = table.setdefault(f"final_{c.name}", np.zeros_like(table[c.name]))
                    final[worlds] = table[c.name][worlds]

    def _rewards(self) -> list[tuple[str, str]]:
        return [(kind.name, c.name) for kind in self.kinds.values() for c in kind.fields.values() if c.role == "reward"]

    def _check_actions(self, worlds: list[int]) -> None:
        for kind in self.kinds.values():
            for c in kind.fields.values():
                for w in worlds if c.role == "action" else []:
                    values = self.tables[kind.name][c.name][w]
                    self.state.flags["broken"][w] |= bool(((values < 0) | (values >= c.choices)).any())

    def _end(self, worlds: list[int]) -> None:
        """The end of a step: faults, terminated and truncated episodes."""
        state, flags = self.state, self.state.flags
        agents = [kind for kind in self.kinds.values() if kind.agents]
        for w in worlds:
            for kind in self.kinds.values():
                occupied = slice(0, int(state.counts[kind.name][w]) if kind.varies else kind.rows)
                for c in kind.fields.values():
                    if c.finite:
                        flags["broken"][w] |= not np.isfinite(self.tables[kind.name][c.name][w, occupied]).all()
            if agents and not any(self.tables[kind.name]["active"][w].any() for kind in agents):
                ended = any(self.tables[kind.name]["terminated"][w].any() for kind in agents)
                flags["terminated" if ended else "truncated"][w] = True
            self.tables["World"]["step"][w] += 1
            if flags["broken"][w]:
                flags["truncated"][w], flags["broken"][w] = True, False
            if 0 < self.max_steps <= self.tables["World"]["step"][w, 0]:
                flags["truncated"][w] = True
            flags["finished"][w] = flags["terminated"][w] or flags["truncated"][w]
            for kind in agents:
                table = self.tables[kind.name]
                for name in ("terminated", "truncated"):
                    table[name][w] |= table["active"][w] & flags[name][w]

    def _begin(self, worlds: list[int]) -> None:
        """Start a new episode in some worlds."""
        for w in worlds:
            self.tables["World"]["episode"][w] += 1
            self.tables["World"]["step"][w] = 0
            self.state.flags["broken"][w] = False
            self.state.clear(w)
        self._run("reset", worlds)

    def _run(self, phase: str, worlds: list[int]) -> None:
        """Run the systems of a phase in order, and apply spawns and despawns after each."""
        for system, kinds, ordinal in self.phases[phase]:
            for w in worlds:
                for rows, number, runs in self._runs(system, kinds, w):
                    if system.world_parameter is not None:
                        rows[system.world_parameter] = 0
                    system.do(Run(self.state, w, rows, ordinal, number, runs))
                self.state.compact(w)

    def _runs(self, system: System, kinds: list[str], world: int) -> list[tuple[dict[str, int], int, int]]:
        """The rows of each run of a system in a world, its number, and the maximum number of runs."""
        names = list(system.parameters)
        counts = [int(self.state.counts[k][world]) if self.kinds[k].varies else self.kinds[k].rows for k in kinds]
        capacities = [self.kinds[k].rows for k in kinds]
        if not kinds:
            return [({}, 0, 1)]
        if len(kinds) == 1:
            slots = [*range(counts[0])]
            if system.where is not None:
                values = self.tables[kinds[0]][system.where[0]][world]
                choices = self.kinds[kinds[0]].fields[system.where[0]].choices
                if choices:  # of an action, whose other values are choice 0
                    values = np.where((values < 0) | (values >= choices), 0, values)
                slots = [slot for slot in slots if values[slot] == system.where[1]]
            return [({names[0]: slot}, slot, capacities[0]) for slot in slots]
        if kinds[0] == kinds[1]:
            runs = max(1, capacities[0] * (capacities[0] - 1) // 2)
            return [
                ({names[0]: i, names[1]: j}, j * (j - 1) // 2 + i, runs) for j in range(counts[0]) for i in range(j)
            ]
        runs = max(1, capacities[0] * capacities[1])
        return [
            ({names[0]: i, names[1]: j}, i * capacities[1] + j, runs)
            for i in range(counts[0])
            for j in range(counts[1])
        ]


def _takes_world(node: ast.FunctionDef, world: str) -> bool:
    """Whether the first parameter of a function is the world."""
    first = node.args.args[0].annotation if node.args.args else None
    return first is not None and ast.unparse(first) == world


def _condition(system: ast.FunctionDef) -> tuple[str, tuple[int, ...]]:
    """The component and the values of ``where=(component, values)``; an empty name and one value without it."""
    arguments = [k for d in system.decorator_list if isinstance(d, ast.Call) for k in d.keywords if k.arg == "where"]
    if not arguments:
        return "", (0,)
    pair = arguments[0].value
    assert isinstance(pair, ast.Tuple)
    component, given = pair.elts
    if isinstance(given, ast.Call):
        return ast.literal_eval(component), tuple(range(ast.literal_eval(given.args[0])))
    values = ast.literal_eval(given)
    return ast.literal_eval(component), values if isinstance(values, tuple) else (values,)


def _decorated(node: ast.FunctionDef, name: str) -> bool:
    return any(ast.unparse(d.func if isinstance(d, ast.Call) else d) == name for d in node.decorator_list)


def _fields(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> dict[str, Component]:
    fields: dict[str, Component] = {}
    for base in node.bases:
        if ast.unparse(base) in classes:
            fields.update(_fields(classes[ast.unparse(base)], classes))
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            fields[item.target.id] = component(item.target.id, item.annotation, item.value)
    return fields


def _ancestors(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> tuple[str, ...]:
    bases = [ast.unparse(base) for base in node.bases]
    return (*bases, *(a for base in bases if base in classes for a in _ancestors(classes[base], classes)))


def _kind(node: ast.ClassDef, classes: dict[str, ast.ClassDef], count: ast.expr) -> Kind:
    ancestors = _ancestors(node, classes)
    event = "wl.Event" in ancestors
    if isinstance(count, ast.Call):
        capacity, fields = ast.literal_eval(count.args[0]), _fields(node, classes)
        overflow = next((ast.literal_eval(k.value) for k in count.keywords if k.arg == "overflow"), "error")
        pooled = any(k.arg == "batch" for k in count.keywords)
        return Kind(node.name, fields, capacity, True, event, overflow, ancestors=ancestors, pooled=pooled)
    return Kind(node.name, _fields(node, classes), ast.literal_eval(count), event=event, ancestors=ancestors)


def _constants(tree: ast.Module) -> dict[str, Any]:
    """The constants of the file: literals, and those with a type, such as ``wl.int64(5)``."""
    constants: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
            if isinstance(value, ast.Call) and ast.unparse(value.func) in NAMED:
                constants[name] = NAMED[ast.unparse(value.func)].numpy(ast.literal_eval(value.args[0]))
            elif name.isupper() and isinstance(value, (ast.Constant, ast.UnaryOp)):
                constants[name] = ast.literal_eval(value)
    return constants
