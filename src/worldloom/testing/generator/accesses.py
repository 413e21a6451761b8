"""What the systems of a world file read and write, and which of them can run at the same time as the next one.

It reads the text of a file, so that the promises of ``concurrent=True`` can be checked again when systems are removed.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

PHASES = ("reset", "step", "observe")
"""The arguments of a definition with systems."""
_ROWS = ("all", "near", "nearest", "at")
"""Methods of the world whose first argument is the kind of their entities."""
_CHANGES = ("spawn", "despawn", "terminate", "truncate")
"""Methods after which more than components has changed."""
_NO_COMPONENTS = ("id", "ref", "alive")


@dataclass(frozen=True)
class Access:
    """A component that a system uses; ``own`` only in the entity that it runs for."""

    kind: str
    component: str
    own: bool


@dataclass
class Accesses:
    """The components that a system reads and writes.

    Attributes:
        reads, writes: The components.
        where: The kind, the component and the values of the entities that it runs for.
        known: Whether it does nothing else, such as spawns.
        together, concurrent: Its options.
    """

    reads: set[Access] = field(default_factory=set)
    writes: set[Access] = field(default_factory=set)
    where: tuple[str, str, tuple[int, ...]] | None = None
    known: bool = True
    together: bool = False
    concurrent: bool = False

    def independent(self, following: Accesses) -> bool:
        """Whether ``following``, for its first value, uses nothing that this one writes, nor the other way round."""
        apart = self._runs_for_others_than(following)
        return (
            self.known
            and following.known
            and not any(_meet(one, two, apart) for one in self.writes for two in following.reads | following.writes)
            and not any(_meet(one, two, apart) for one in self.reads for two in following.writes)
        )

    def _runs_for_others_than(self, following: Accesses) -> bool:
        """Whether no entity that this system runs for is one that ``following`` runs for with its first value."""
        if self.where is None or following.where is None or self.where[:2] != following.where[:2]:
            return False
        return following.where[2][0] not in self.where[2]


def _meet(one: Access, two: Access, apart: bool) -> bool:
    same = (one.kind, one.component) == (two.kind, two.component)
    return same and not (one.own and two.own and apart)


class _Reader:
    """Reads the functions of one file."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef)}
        classes = [c for c in tree.body if isinstance(c, ast.ClassDef)]
        bases = {c.name: ast.unparse(c.bases[0]) for c in classes}
        self.roots = {name: bases[name] if bases[name] in bases else name for name in bases}
        self.derived = {base for base in bases.values() if base in bases}
        self.references: dict[str, str] = {}
        for item in (item for c in classes for item in c.body if isinstance(item, ast.AnnAssign)):
            found = re.fullmatch(r"wl\.Ref\('(\w+)'\)", ast.unparse(item.annotation))
            if found:  # references of one name may belong to several kinds
                name, kind = ast.unparse(item.target), found.group(1)
                self.references[name] = kind if self.references.get(name, kind) == kind else ""

    def system(self, name: str) -> Accesses:
        tree, found = self.functions[name], Accesses()
        parameters = [a for a in tree.args.args if a.arg != "world"]
        own = parameters[0].arg if len(parameters) == 1 else ""
        self._add(found, tree, own)
        for keyword in (k for d in tree.decorator_list if isinstance(d, ast.Call) for k in d.keywords):
            if keyword.arg == "where":
                kind = self.roots[ast.unparse(parameters[0].annotation or ast.Name(""))]
                component, values = _condition(keyword.value)
                found.where = kind, component, values
                found.reads.add(Access(kind, component, True))
            found.together |= keyword.arg == "together"
            found.concurrent |= keyword.arg == "concurrent"
        return found

    def _add(self, found: Accesses, tree: ast.FunctionDef, own: str) -> None:
        """Add what a function uses, and the functions of the world that it calls."""
        rows, owned = self._rows(tree, own)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._add_call(found, node, rows)
            elif isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Name):
                found.known &= node.attr in ("x", "y", "z", "w", *_NO_COMPONENTS, "get")
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in rows:
                name = node.value.id
                if node.attr not in (*_NO_COMPONENTS, *_ROWS) and rows[name]:
                    found.reads.add(Access(rows[name], node.attr, name in owned))
                found.known &= bool(rows[name]) or node.attr in _NO_COMPONENTS
        for target in _targets(tree):
            while isinstance(target, (ast.Subscript, ast.Attribute)) and not isinstance(target.value, ast.Name):
                target = target.value
            if isinstance(target, ast.Subscript):  # an element of a local vector
                continue
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in rows:
                name = target.value.id
                found.writes.add(Access(rows[name], target.attr, name in owned))

    def _rows(self, tree: ast.FunctionDef, own: str) -> tuple[dict[str, str], set[str]]:
        """The kinds of all variables that are entities, "" where unknown, and the names of the own one."""
        rows = {"world": "World"}
        owned = {own}
        for argument in tree.args.args:
            kind = ast.unparse(argument.annotation) if argument.annotation is not None else ""
            if argument.arg != "world" and kind in self.roots:
                rows[argument.arg] = self.roots[kind]
        for node in ast.walk(tree):
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                name, call = node.target.id, node.iter
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name, call = node.targets[0].id, node.value
            else:
                continue
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            if call.func.attr == "get":
                text = ast.unparse(call.func.value)
                rows[name] = self.roots.get(self.references.get(text.rsplit(".", 1)[-1], ""), "")
            elif call.func.attr in _ROWS and ast.unparse(call.func.value) == "world":
                kind = ast.unparse(call.args[0])
                rows[name] = self.roots[kind]
                same = call.func.attr == "at" and ast.unparse(call.args[1]) == f"{own}.id"
                parameter = next((a for a in tree.args.args if a.arg == own), None)
                if same and parameter is not None and ast.unparse(parameter.annotation or call) == kind:
                    owned |= set() if kind in self.derived else {name}
        return rows, owned

    def _add_call(self, found: Accesses, node: ast.Call, rows: dict[str, str]) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in self.functions:
            self._add(found, self.functions[node.func.id], "")
        if not isinstance(node.func, ast.Attribute):
            return
        name = node.func.attr
        found.known &= name not in _CHANGES
        if name in ("near", "nearest"):
            found.reads.add(Access(self.roots[ast.unparse(node.args[0])], "position", False))
        if name == "shuffle" and isinstance(node.args[0], ast.Attribute) and isinstance(node.args[0].value, ast.Name):
            found.writes.add(Access(rows.get(node.args[0].value.id, ""), node.args[0].attr, False))


def _targets(tree: ast.FunctionDef) -> Iterator[ast.expr]:
    """All expressions that a function assigns."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            yield node.target
        elif isinstance(node, ast.Assign):
            yield from node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else node.targets


def _condition(node: ast.expr) -> tuple[str, tuple[int, ...]]:
    """The component and the values of ``where``."""
    assert isinstance(node, ast.Tuple)
    component, given = node.elts
    if isinstance(given, ast.Call):
        return ast.literal_eval(component), tuple(range(ast.literal_eval(given.args[0])))
    values = ast.literal_eval(given)
    return ast.literal_eval(component), values if isinstance(values, tuple) else (values,)


def accesses(text: str) -> dict[str, Accesses]:
    """What each scheduled system of a file reads and writes."""
    tree = ast.parse(text)
    reader = _Reader(tree)
    return {name: reader.system(name) for names in schedule(tree) for name in names}


def schedule(tree: ast.Module) -> list[list[str]]:
    """The names of the systems of each phase, in order."""
    return [
        [ast.unparse(item) for item in getattr(node.value, "elts", [])]
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg in PHASES
    ]


def possible_promises(text: str) -> list[str]:
    """The systems that can run at the same time as the next one, both of which run together with others."""
    known = accesses(text)
    pairs = [pair for names in schedule(ast.parse(text)) for pair in itertools.pairwise(names)]
    fitting = {one for one, two in pairs if known[one].together and known[two].together}
    fitting -= {one for one, two in pairs if not known[one].independent(known[two])}
    return [name for name in known if name in fitting]


def broken_promises(text: str) -> list[str]:
    """The systems with ``concurrent=True`` that may not run at the same time as the next one."""
    known = accesses(text)
    pairs = [pair for names in schedule(ast.parse(text)) for pair in itertools.pairwise(names)]
    return [one for one, two in pairs if known[one].concurrent and not known[one].independent(known[two])]


def keep_promises(text: str) -> str:
    """A world without the options ``concurrent=True`` that it breaks."""
    if "concurrent=True" not in text or not (broken := set(broken_promises(text))):
        return text
    tree = ast.parse(text)
    for function in (f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name in broken):
        for decorator in (d for d in function.decorator_list if isinstance(d, ast.Call)):
            decorator.keywords = [k for k in decorator.keywords if k.arg != "concurrent"]
    return ast.unparse(ast.fix_missing_locations(tree))
