"""The reward rules of all games as C++ text: a switch over the game's number, compiled into the console."""

from __future__ import annotations

import ast

from worldloom.atari.games.game_table import GAMES
from worldloom.atari.games.multiplayer import MULTIPLAYER_VARIANTS
from worldloom.atari.games.reward_rules import KEPT, OTHERS, WORDS, Rule, rules
from worldloom.core.base.errors import InputError

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "/",  # for non-negative numbers
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.And: "&&",
    ast.Or: "||",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Not: "!",
    ast.USub: "-",
    ast.Invert: "~",
}
_FIELDS = {
    **{f"note{cell}": f"note[{cell}]" for cell in range(4)},
    **{name: f"others[{index}]" for index, name in enumerate(OTHERS)},
}
_HELPERS = """
CUDA_CALLABLE s32 bcd(u32 a) { return (s32)((a >> 4) * 10 + (a & 15)); }
CUDA_CALLABLE s32 bcd(u32 a, u32 b) { return bcd(a) + 100 * bcd(b); }
CUDA_CALLABLE s32 bcd(u32 a, u32 b, u32 c) { return bcd(a) + 100 * bcd(b) + 10000 * bcd(c); }
CUDA_CALLABLE s32 digit(s32 value) { return (value & 15) == 10 ? 0 : value & 15; }
CUDA_CALLABLE s32 eighth(s32 value) { return value == 128 ? 0 : value >> 3; }
CUDA_CALLABLE s32 sprite(s32 value) { return (value & 7) == 0 && value < 80 ? value >> 3 : 0; }
CUDA_CALLABLE s32 signed_byte(s32 value) { return value > 127 ? value - 256 : value; }
CUDA_CALLABLE s32 lesser(s32 a, s32 b) { return a < b ? a : b; }
CUDA_CALLABLE s32 greater(s32 a, s32 b) { return a > b ? a : b; }
"""
LIVES: dict[str, int] = {game.name: game.lives for game in GAMES} | {
    variant.rule: variant.game.lives for variant in MULTIPLAYER_VARIANTS.values()
}
"""Initial lives by name of the rule, in the order of rule numbers: games by name, then multiplayer rules."""
_SHARED = frozenset(variant.rule for variant in MULTIPLAYER_VARIANTS.values())
_CALLS = {
    "bcd": "bcd",
    "digit": "digit",
    "eighth": "eighth",
    "sprite": "sprite",
    "signed": "signed_byte",
    "min": "lesser",
    "max": "greater",
}


def number_of(rule: str) -> int:
    """The number of a rule in the compiled switch; for a game its index among the games."""
    return list(LIVES).index(rule)


def rules_source() -> str:
    """Member functions ``score_frame(game)`` and ``begin_rules(game)`` of the struct of ``native/machine/state.h``."""
    begin, score = [], []
    for number, (name, lives) in enumerate(LIVES.items()):
        rule = rules()[name]
        first = "".join(_lines(rule, rule.begin, set()))
        begin.append(f"    case {number}: lives = {lives}; {first.strip()} break;  // {name}\n")
        fixed = "" if rule.sets("lives") else f"        lives = {lives};\n"
        body = fixed + "".join(_lines(rule, rule.body, set()))
        score.append(f"    case {number}: {{  // {name}\n{body}        break;\n    }}\n")
    return f"""{_HELPERS}
NOINLINE CUDA_CALLABLE void begin_rules(u32 game) {{
    score = 0; reward = 0; lives = 0; over = 0;
    for (s32 cell = 0; cell < 4; cell++) note[cell] = 0;
    switch (game) {{
{"".join(begin)}    default: break;
    }}
}}

NOINLINE CUDA_CALLABLE void score_frame(u32 game) {{
    const s32 score_before = score;
    switch (game) {{
{"".join(score)}    default: break;
    }}
}}
"""


def _lines(
    rule: Rule, statements: tuple[ast.stmt, ...] | list[ast.stmt], declared: set[str], depth: int = 2
) -> list[str]:
    """The C++ lines of ``statements``; ``declared`` are the names declared in enclosing blocks."""
    lines, pad, declared = [], "    " * depth, set(declared)
    for line in statements:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            name = line.targets[0].id
            kind = "" if name in declared or name in KEPT else "s32 "
            declared.add(name)
            cast = "(u8)" if name == "over" else ""
            lines.append(f"{pad}{kind}{_FIELDS.get(name, name)} = {cast}{_value(rule, line.value)};\n")
        elif isinstance(line, ast.If):
            lines += [
                f"{pad}if ({_value(rule, line.test)}) {{\n",
                *_lines(rule, line.body, declared, depth + 1),
                f"{pad}}}\n",
            ]
            if line.orelse:
                lines += [f"{pad}else {{\n", *_lines(rule, line.orelse, declared, depth + 1), f"{pad}}}\n"]
        elif isinstance(line, ast.For) and isinstance(line.target, ast.Name) and isinstance(line.iter, ast.Call):
            start, stop, *by = (_value(rule, bound) for bound in line.iter.args)
            name, step = line.target.id, by[0] if by else "1"
            lines += [
                f"{pad}for (s32 {name} = {start}; {name} < {stop}; {name} += {step}) {{\n",
                *_lines(rule, line.body, declared | {name}, depth + 1),
                f"{pad}}}\n",
            ]
        else:
            raise _unknown(rule, line)
    if depth == 2 and statements is rule.body and not rule.sets("reward"):
        lines.append(f"{pad}reward = score - score_before;\n")
    if depth == 2 and statements is rule.body and rule.name in _SHARED and not rule.sets("second"):
        lines.append(f"{pad}others[0] = -reward;\n")
    if depth == 2 and statements is rule.body and not rule.keeps_lives:
        lines.append(f"{pad}if (over) lives = 0;\n")
    return lines


def _value(rule: Rule, node: ast.expr) -> str:
    """The C++ of an expression, with parentheses around compound ones."""
    if isinstance(node, ast.Name):
        return _FIELDS.get(node.id, node.id)
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return str(int(node.value))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return f"({_value(rule, node.left)} {_OPERATORS[type(node.op)]} {_value(rule, node.right)})"
    if isinstance(node, ast.UnaryOp):
        return f"({_OPERATORS[type(node.op)]}{_value(rule, node.operand)})"
    if isinstance(node, ast.BoolOp):
        return "(" + f" {_OPERATORS[type(node.op)]} ".join(_value(rule, part) for part in node.values) + ")"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return f"({_value(rule, node.left)} {_OPERATORS[type(node.ops[0])]} {_value(rule, node.comparators[0])})"
    if isinstance(node, ast.IfExp):
        return f"({_value(rule, node.test)} ? {_value(rule, node.body)} : {_value(rule, node.orelse)})"
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in ("ram", "cart"):
        return f"(s32){'ram' if node.value.id == 'ram' else 'cart_ram'}[{_value(rule, node.slice)}]"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WORDS:
        arguments = ", ".join(_value(rule, argument) for argument in node.args)
        return f"(s32)({arguments})" if node.func.id == "int" else f"{_CALLS[node.func.id]}({arguments})"
    raise _unknown(rule, node)


def _unknown(rule: Rule, node: ast.AST) -> InputError:
    return InputError(
        f"the rule of '{rule.name}' contains '{ast.unparse(node)}', which rules do not support; "
        "write it as the others in rules.txt"
    )
