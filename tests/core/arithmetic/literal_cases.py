"""Systems with a literal of every kind beside a value of every scalar type, one expression or statement each."""

from __future__ import annotations

KINDS = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
)  # fmt: skip
LITERALS = ("True", "False", "1", "-2", "2147483647", "1.5", "-0.0", "not True", "True and False", "1 < 2")
_OPERATORS = (
    "+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "==", "!=", "<", "<=", ">", ">=", "and", "or",
)  # fmt: skip
_CALLS = (
    "min(row.x, {})", "max({}, row.x)", "wl.clamp(row.x, {}, row.y)", "wl.clamp(row.x, row.y, {})",
    "wl.clamp({}, row.x, row.y)", "K({})", "float({})", "int({})", "bool({})", "abs({})", "wl.sign({})", "-({})",
    "~({})", "pow(row.x, {})", "wl.sqrt({})", "wl.lerp(row.x, row.y, {})", "wl.step({})", "round({})",
    "(row.x if row.p else {})", "({} if row.p else row.x)", "(row.x if {} else row.y)", "row.x in ({}, 3)",
    "V(row.x, {}, row.y).y", "V({}).x", "V().x", "(V(row.x, row.y, row.x) * {}).y", "({} * row.v).y", "row.v[{}]",
    "wl.dot(row.v, V({}, {}, {}))", "row.a[{}]", "wl.where({}, row.x, row.y)", "wl.select({}, row.x, row.y)",
    "wl.nonzero({})", "wl.isfinite({})", "twice({})", "row.x < {} < row.y", "world.random({}, 2.0)",
    "world.integer({}, 9)", "world.normal(0.0, {})", "same(row.p, {})", "wl.cw_mul(row.v, V({}, {}, {})).x",
)  # fmt: skip
_STATEMENTS = (
    "row.x = {}", "row.x += {}", "row.x -= {}", "row.x *= {}", "row.x //= {}", "row.x |= {}", "row.x <<= {}",
    "row.a[1] = {}", "row.a[1] += {}", "row.a[row.i] = {}", "row.v[1] = {}", "row.v[1] += {}", "row.v.y = {}",
    "row.v[row.i] = {}", "row.v *= {}", "row.v = V({}, {}, {})", "row.v = V({})", "world.sum += {}", "world.set |= {}",
    "t = row.x; t = {}; row.x = t", "t = {}; row.x = t", "t = row.x; t += {}; row.x = t",
    "t = V(row.x, row.x, row.x); t[1] = {}; row.v = t", "t = row.x if row.p else {}; row.x = t",
    "row.x = row.y if {} else row.x", "row.a[{}] = row.x", "row.x = returned(row.p)",
)  # fmt: skip
_HEAD = """
import worldloom as wl
import warp as wp

K = {{"bool": bool, "int32": int, "float32": float}}.get("{kind}") or wl.{kind}
V = None if "{kind}" == "bool" else wp.types.vector(3, getattr(wp, "{kind}"))
SYSTEMS = []


class Row(wl.Entity):
    x: K
    y: K
    p: bool
    i: int
    a: wl.Array(K, 4)
{vector}
    out: wl.float64
    whole: wl.int64


class Rows(wl.World):
    sum: K
    set: K


@wl.function
def twice(n: K):
    return n + n


@wl.function
def same(p: bool, n: K):
    return n if p else n
"""
_SYSTEM = """
try:
{helper}
    @wl.system
    def case_{number}(row: Row, world: Rows):
        if world.id == {number}:
            {body}
    SYSTEMS.append((case_{number}, {text!r}))
except wl.DefinitionError:
    pass
"""
_HELPER = """
    @wl.function
    def returned(p: bool):
        if p:
            return K({literal})
        return {literal}
"""


def cases() -> list[tuple[str, str]]:
    """Each text with a place for a literal, and the statement that it becomes."""
    binary = [form for o in _OPERATORS for form in (f"row.x {o} {{}}", f"{{}} {o} row.x")]
    values = [(text, f"row.out = wl.float64({text})") for text in (*binary, *_CALLS)]
    return [*values, *((text, text) for text in _STATEMENTS)]


def module_text(kind: str, literals: tuple[str, ...] = LITERALS) -> str:
    """A module with ``SYSTEMS``: the text and the system of each case that is accepted for a scalar type."""
    parts = [_HEAD.format(kind=kind, vector="" if kind == "bool" else "    v: V")]
    number = 0
    for literal in literals:
        shown = literal if literal.isidentifier() or literal[0].isdigit() else f"({literal})"
        for text, statement in cases():
            body = statement.replace("{}", shown).replace("; ", "\n            ")
            helper = _HELPER.format(literal=shown) if "returned" in text else ""
            parts.append(_SYSTEM.format(number=number, body=body, text=text.replace("{}", shown), helper=helper))
            number += 1
    return "".join(parts)
