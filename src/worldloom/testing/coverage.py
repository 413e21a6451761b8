"""Coverage: the number of systems with each construct of the language."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from worldloom.testing.reference.functions import ROUGH

_METHODS = (
    "all", "near", "nearest", "at", "count", "spawn", "despawn", "terminate", "truncate", "random", "integer",
    "normal", "choice", "weighted", "shuffle", "get",
)  # fmt: skip
_VECTORS = ("dot", "cross", "length", "length_sq", "normalize", "cw_mul", "quat_rotate", "lerp", "argmin", "argmax")

CONSTRUCTS = (
    "entity system", "world system", "pair system", "shared loop", "4 threads per world", "8 threads per world",
    "16 threads per world", "32 threads per world", "several threads per entity", "shared loop in a loop",
    "break or continue beside a shared loop", "system for some actions", "limit of registers", "separate system",
    "reset system", "observe system",
    "system for one value", "system for several values", "disjoint system", "system together with others",
    "system at the same time as the next", "transient component", "workload", "if", "elif", "else",
    "while", "for range", "for world.all", "for world.near", "for world.nearest", "break", "continue",
    "return", "flag changed in a loop of its branch", "ternary", "chained comparison", "and", "or", "not", "in",
    "helper call", "helper with several results", "helper that changes a parameter", "function of the world",
    "function of the world in a function", "loop in a function of the world", "integer arithmetic",
    "division", "floor division", "modulo", "shift", "bits", "power", "conversion", "min or max", "clamp",
    "vector function", "elementary function", "matrix product", "array element", "index that may not exist",
    "augmented assignment", "accumulation +=", "accumulation |= or &=", "accumulation min or max",
    "several assignments at once", "reference: alive", "reference: get", "reference: None", "configuration",
    "configuration array", "NaN or infinity test", "world.at", "world.count", "spawn", "despawn",
    "terminate or truncate", "random number", "world.choice", "world.weighted", "world.normal", "event",
    "population",
)  # fmt: skip
"""The constructs of the report."""
NEAR = ("for world.near", "for world.nearest")
"""Queries of neighbours, which the variant ``cuda-text`` lacks."""


def coverage(text: str) -> Counter[str]:
    """The number of systems of a world with each of :data:`CONSTRUCTS`."""
    return Counter(name for constructs in by_system(text).values() for name in constructs)


def by_system(text: str) -> dict[str, set[str]]:
    """The constructs of each system of a world, including those of the helpers that it calls."""
    tree = ast.parse(text)
    constructs_of: dict[str, set[str]] = {}
    phases = {
        ast.unparse(item): k.arg
        for k in ast.walk(tree)
        if isinstance(k, ast.keyword) and k.arg in ("reset", "observe")
        for item in getattr(k.value, "elts", [])
    }
    helpers = {
        f.name: f
        for f in tree.body
        if isinstance(f, ast.FunctionDef) and ast.unparse(f.decorator_list[0]) == "wl.function"
    }
    kinds = {c.name: c for c in tree.body if isinstance(c, ast.ClassDef)}
    varying = {
        ast.unparse(k)
        for d in ast.walk(tree)
        if isinstance(d, ast.Dict)
        for k, v in zip(d.keys, d.values, strict=True)
        if k and "UpTo" in ast.unparse(v)
    }
    components = [item for kind in kinds.values() for item in kind.body if isinstance(item, ast.AnnAssign)]
    transient = {ast.unparse(i.target) for i in components if ast.unparse(i.annotation).startswith("wl.Transient")}
    weighed = {ast.unparse(i.target) for i in components if ast.unparse(i.annotation) == "wl.Workload"}
    for function in tree.body:
        if not isinstance(function, ast.FunctionDef) or function.name in helpers:
            continue
        constructs = set(_of_system(function, helpers))
        if function.name in phases:
            constructs.add(f"{phases[function.name]} system")
        names = {ast.unparse(a.annotation) for a in function.args.args if a.annotation}
        names |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
        if any("wl.Event" in ast.unparse(kinds[n].bases[0]) for n in names if n in kinds):
            constructs.add("event")
        if names & varying:
            constructs.add("population")
        if any(isinstance(n, ast.Attribute) and n.attr in transient for n in ast.walk(function)):
            constructs.add("transient component")
        if any(isinstance(n, ast.Attribute) and n.attr in weighed for n in ast.walk(function)):
            constructs.add("workload")
        constructs_of[function.name] = constructs
    return constructs_of


def _of_system(function: ast.FunctionDef, helpers: dict[str, ast.FunctionDef]) -> Iterator[str]:
    entities = [a.arg for a in function.args.args if a.arg != "world"]
    yield ("world system", "entity system", "pair system")[len(entities)]
    for decorator in function.decorator_list:
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else []:
            if keyword.arg == "disjoint":
                yield "disjoint system"
            if keyword.arg == "together":
                yield "system together with others"
            if keyword.arg == "concurrent":
                yield "system at the same time as the next"
            if keyword.arg == "threads":
                over_world = not entities
                yield f"{ast.unparse(keyword.value)} threads per world" if over_world else "several threads per entity"
            if keyword.arg == "registers":
                yield "limit of registers"
            if keyword.arg == "separate":
                yield "separate system"
            if keyword.arg == "where" and "'act'" in ast.unparse(keyword.value):
                yield "system for some actions"
            if keyword.arg == "where" and isinstance(keyword.value, ast.Tuple):
                several = isinstance(keyword.value.elts[1], (ast.Tuple, ast.Call))
                yield "system for several values" if several else "system for one value"
    called = {
        n.func.id
        for n in ast.walk(function)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in helpers
    }
    own = entities[0] if len(entities) == 1 else ""
    for name in called:
        if _takes_world(helpers[name]):
            yield from _of_world_function(helpers[name], helpers, own)
        else:
            yield "helper call"
            yield from _of_helper(helpers[name], helpers)
    for node in ast.walk(function):
        yield from _of_node(node, own)


def _takes_world(helper: ast.FunctionDef) -> bool:
    return bool(helper.args.args) and helper.args.args[0].arg == "world"


def _of_world_function(function: ast.FunctionDef, helpers: dict[str, ast.FunctionDef], own: str) -> Iterator[str]:
    yield "function of the world"
    for node in ast.walk(function):
        yield from _of_node(node, own)
        if isinstance(node, (ast.For, ast.While)):
            yield "loop in a function of the world"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in helpers:
            if _takes_world(helpers[node.func.id]):
                yield "function of the world in a function"
                yield from _of_world_function(helpers[node.func.id], helpers, own)
            else:
                yield "helper call"
                yield from _of_helper(helpers[node.func.id], helpers)


def _of_helper(helper: ast.FunctionDef, helpers: dict[str, ast.FunctionDef]) -> Iterator[str]:
    names = {a.arg for a in helper.args.args}
    for node in ast.walk(helper):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            yield "helper with several results"
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in names:
            yield "helper that changes a parameter"
        if isinstance(node, ast.If):
            yield from _of_node(node, "")
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in helpers:
            yield from _of_helper(helpers[node.func.id], helpers)


_SIMPLE: dict[type[ast.AST], str] = {
    ast.While: "while", ast.Break: "break", ast.Continue: "continue", ast.Return: "return", ast.IfExp: "ternary",
    ast.And: "and", ast.Or: "or", ast.Not: "not", ast.In: "in", ast.Div: "division", ast.FloorDiv: "floor division",
    ast.Mod: "modulo", ast.LShift: "shift", ast.RShift: "shift", ast.BitAnd: "bits", ast.BitOr: "bits", ast.BitXor:
    "bits", ast.Invert: "bits", ast.Pow: "power", ast.MatMult: "matrix product", ast.Mult: "integer arithmetic",
}  # fmt: skip


def _of_node(node: ast.AST, own: str) -> Iterator[str]:
    if type(node) in _SIMPLE:
        yield _SIMPLE[type(node)]
    if isinstance(node, (ast.For, ast.While)) and not _shares(node) and any(map(_shares, ast.walk(node))):
        yield "shared loop in a loop"
    if isinstance(node, ast.If):
        blocks = [block for block in (node.body, node.orelse) if any(map(_shares, block))]
        if any(isinstance(s, (ast.Break, ast.Continue)) for block in blocks for s in block):
            yield "break or continue beside a shared loop"
        yield "if"
        if node.orelse:
            yield "elif" if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If) else "else"
        if isinstance(node.test, (ast.Name, ast.Attribute)) and _changed_in_loop(node, ast.unparse(node.test)):
            yield "flag changed in a loop of its branch"
    elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
        name = ast.unparse(node.iter.func)
        yield "shared loop" if name == "wl.share" else f"for {name}"
    elif isinstance(node, ast.Compare) and len(node.ops) > 1:
        yield "chained comparison"
    elif isinstance(node, ast.AugAssign):
        yield "augmented assignment"
        if _shared(node.target, own):
            yield "accumulation +=" if isinstance(node.op, (ast.Add, ast.Sub)) else "accumulation |= or &="
    elif isinstance(node, ast.Assign):
        if isinstance(node.targets[0], ast.Tuple):
            yield "several assignments at once"
        extreme = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) in ("min", "max")
        if extreme and _shared(node.targets[0], own):
            yield "accumulation min or max"
    elif isinstance(node, ast.Subscript):
        yield "array element"
        if isinstance(node.slice, (ast.Name, ast.Attribute, ast.BinOp)) and "%" not in ast.unparse(node.slice):
            yield "index that may not exist"
    elif isinstance(node, ast.Attribute):
        if node.attr == "alive":
            yield "reference: alive"
        if ast.unparse(node) in ("world.cf", "world.ci", "world.cb"):
            yield "configuration"
        if ast.unparse(node) in ("world.ca", "world.cm"):
            yield "configuration array"
    elif isinstance(node, ast.Constant) and node.value is None:
        yield "reference: None"
    elif isinstance(node, ast.Call):
        yield from _of_call(node)


def _of_call(node: ast.Call) -> Iterator[str]:
    full = ast.unparse(node.func)
    name = full.rsplit(".", 1)[-1]
    if full in ("min", "max", "wl.min", "wl.max"):
        yield "min or max"
    elif name == "clamp":
        yield "clamp"
    elif name in ("isnan", "isinf", "isfinite"):
        yield "NaN or infinity test"
    elif full.startswith("wl.") and name in _VECTORS:
        yield "vector function"
    elif full.startswith("wl.") and name in ROUGH:
        yield "elementary function"
    elif name in ("int", "float", "bool") or (full.startswith("wl.") and name.startswith(("int", "uint", "float"))):
        yield "conversion"
    elif name == "get":
        yield "reference: get"
    elif name in ("terminate", "truncate"):
        yield "terminate or truncate"
    elif name in ("random", "integer"):
        yield "random number"
    elif name in _METHODS:
        yield name if name in ("spawn", "despawn") else f"world.{name}"


def _shares(node: ast.AST) -> bool:
    """Whether a statement is a shared loop."""
    return isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "wl.share"


def _changed_in_loop(branch: ast.If, flag: str) -> bool:
    loops = [n for s in branch.body for n in ast.walk(s) if isinstance(n, (ast.For, ast.While))]
    stores = [n for loop in loops for n in ast.walk(loop) if isinstance(n, (ast.Assign, ast.AugAssign))]
    return any(ast.unparse(n.targets[0] if isinstance(n, ast.Assign) else n.target) == flag for n in stores)


def _shared(target: ast.expr, own: str) -> bool:
    """Whether a target belongs to another row or to the world, in a system over entities."""
    while isinstance(target, ast.Subscript):
        target = target.value
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
        return False
    return bool(own) and target.value.id != own
