"""How compiled code reaches into a column: by its plain address.

Columns are contiguous, and indices were checked before. Warp's own indexing asks for signs and strides at every access, which cost
CartPole two thirds of its instructions on an H200.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.model.fields import Field, canonical, scalar_of, shape_of

_STREAMED = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "float2", 16: "float4"}
_WIDE = {8: "float2", 16: "float4"}
"""Vectors of these sizes in bytes are moved in one piece on CUDA."""
_MAX_PIECES = 8
"""Longer vectors of real numbers are moved in up to so many such pieces."""
_LINE = 64
"""Bytes of a line of a CPU's cache."""
_PREFETCH_BYTES = range(4 * _LINE, 2**14)
"""Bytes of a row: more would drive out of the nearest cache what is needed sooner."""
_PREFETCH_ROWS = 2
"""A CPU is asked this many rows ahead for what will be stored: a core waits for few lines at once of its own accord, and for more when asked."""
_PREFETCH = (
    f"auto from = (const char*)((size_t)column.data + ((size_t)(row + {_PREFETCH_ROWS}) * size + place) * sizeof(*column.data));"
    f" for (int i = 0; i < bytes; i += {_LINE}) __builtin_prefetch(from + i, 1);"
)
_NOTHING = ";"


def type_code(kind: Any, types: dict[str, Any]) -> str:
    """How generated code spells a component type; types without a name in Warp are added to ``types``."""
    if canonical(getattr(wp, kind.__name__, None)) is kind:
        return f"wp.{kind.__name__}"
    code = f"vec{'x'.join(map(str, shape_of(kind)))}_{scalar_of(kind).__name__}"
    types[code] = kind
    return code


def array_code(field: Field, types: dict[str, Any]) -> str:
    """The annotation of a whole column of ``field``."""
    suffix = f", ndim={1 + len(field.shape)}" if field.shape else ""
    return f"wp.array(dtype={type_code(field.dtype, types)}{suffix})"


def row_size(field: Field) -> int:
    """How many values of its type one row of an array component holds."""
    size = 1
    for n in field.shape:
        size *= n
    return size


def _name(verb: str, field: Field) -> str:
    kind = type_code(field.dtype, {}).removeprefix("wp.")
    return f"wl_{verb}_{kind}" + (f"_{len(field.shape)}" if field.shape else "")


def get(column: ast.expr, field: Field, row: ast.expr, indices: list[ast.expr] | None = None) -> ast.expr:
    """The value of a row of a column, or one element of it."""
    return nodes.call(_name("get", field), column, row, *_inner(field, indices))


def put(
    column: ast.expr, field: Field, row: ast.expr, value: ast.expr, indices: list[ast.expr] | None = None
) -> ast.stmt:
    """Store the value of a row of a column, or one element of it."""
    return ast.Expr(nodes.call(_name("put", field), column, row, *_inner(field, indices), value))


def is_worth_prefetching(array: Field, elements: int) -> bool:
    """Whether so many elements of an array are many bytes, and not too many."""
    return elements * _element_bytes(array) in _PREFETCH_BYTES


def prefetch(column: ast.expr, array: Field, row: ast.expr, first: int, elements: int) -> ast.stmt:
    """Ask for the memory of some elements of the rows after ``row``, which are about to be stored; on CUDA nothing is done."""
    start, size = row_size(array) // array.shape[0] * first, elements * _element_bytes(array)
    return ast.Expr(
        nodes.call(_name("ahead", array), column, row, *map(nodes.constant, (row_size(array), start, size)))
    )


def _element_bytes(array: Field) -> int:
    """Bytes of what one index of the first axis stands for."""
    return row_size(array) // array.shape[0] * int(wp.types.type_size_in_bytes(array.dtype))


def stream_text(column: str, field: Field, row: str, value: str) -> str:
    """:func:`put` as text, for a value that no kernel reads soon: it leaves the cache to those that are."""
    return ast.unparse(ast.Expr(nodes.call(_name("stream", field), nodes.name(column), _parse(row), _parse(value))))


def put_part_text(column: str, field: Field, row: str, place: int, value: str) -> str:
    """Store one number of the vector that a row of a column holds, as text."""
    return ast.unparse(
        ast.Expr(
            nodes.call(_name("part", field), nodes.name(column), _parse(row), nodes.constant(place), _parse(value))
        )
    )


def get_once(column: ast.expr, field: Field, row: ast.expr) -> ast.expr:
    """:func:`get` for a value that no kernel reads soon again, such as an action: it leaves the cache to those that are."""
    return nodes.call(_name("once" if streams(field) else "get", field), column, row)


def get_text(column: str, field: Field, row: str, indices: str = "") -> str:
    """:func:`get` as text; ``indices`` are separated by commas."""
    return ast.unparse(get(nodes.name(column), field, _parse(row), _parse_all(indices)))


def put_text(column: str, field: Field, row: str, value: str, indices: str = "") -> str:
    """:func:`put` as text."""
    return ast.unparse(put(nodes.name(column), field, _parse(row), _parse(value), _parse_all(indices)))


def _parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _parse_all(text: str) -> list[ast.expr]:
    return [_parse(part.strip()) for part in text.split(",") if part.strip()]


def _inner(field: Field, indices: list[ast.expr] | None) -> list[ast.expr]:
    """The size of a row and the place in it, for array components."""
    if not field.shape:
        return []
    place: ast.expr | None = None
    for index, size in zip(indices or [], field.shape, strict=True):
        place = (
            index
            if place is None
            else nodes.binary(nodes.binary(place, ast.Mult(), nodes.constant(size)), ast.Add(), index)
        )
    assert place is not None
    return [nodes.constant(row_size(field)), place]


def definitions(fields: Iterable[Field], types: dict[str, Any], cuda: bool) -> str:
    """The functions that :func:`get` and :func:`put` call, for columns of ``fields``."""
    texts: dict[str, str] = {}
    for field in fields:
        kind, column = type_code(field.dtype, types), array_code(field, types)
        head, place = (
            ("row: wp.int32", "row"),
            ("row: wp.int32, size: wp.int32, place: wp.int32", "(size_t)row * size + place"),
        )[bool(field.shape)]
        load, store = _native(field, place, cuda)
        texts.setdefault(
            _name("get", field),
            f'@wp.func_native(snippet="{load}")\ndef {_name("get", field)}(column: {column}, {head}) -> {kind}: ...\n',
        )
        texts.setdefault(
            _name("put", field),
            f'@wp.func_native(snippet="{store}")\ndef {_name("put", field)}(column: {column}, {head}, value: {kind}): ...\n',
        )
        if field.shape:
            ahead, taken = _name("ahead", field), f"column: {column}, {head}, bytes: wp.int32"
            texts.setdefault(
                ahead, f'@wp.func_native(snippet="{_NOTHING if cuda else _PREFETCH}")\ndef {ahead}({taken}): ...\n'
            )
        if not field.shape and len(shape_of(field.dtype)) == 1 and scalar_of(field.dtype) is wp.float32:
            part, size = _name("part", field), shape_of(field.dtype)[0]
            one = f"reinterpret_cast<float*>(column.data)[(size_t)row * {size} + place] = value;"
            taken = f"column: {column}, row: wp.int32, place: wp.int32, value: wp.float32"
            texts.setdefault(part, f'@wp.func_native(snippet="{one}")\ndef {part}({taken}): ...\n')
        if streams(field):
            load, store = _streaming(field) if cuda else (load, store)
            once, stream = _name("once", field), _name("stream", field)
            texts.setdefault(
                once, f'@wp.func_native(snippet="{load}")\ndef {once}(column: {column}, row: wp.int32) -> {kind}: ...\n'
            )
            texts.setdefault(
                stream,
                f'@wp.func_native(snippet="{store}")\ndef {stream}(column: {column}, row: wp.int32, value: {kind}): ...\n',
            )
    return "\n".join(texts.values())


def streams(field: Field) -> bool:
    """Whether :func:`stream_text` and :func:`get_once` know how to move ``field``."""
    return not field.shape and (wp.types.type_size_in_bytes(field.dtype) in _STREAMED or alignment(field.dtype) > 1)


def _streaming(field: Field) -> tuple[str, str]:
    size = wp.types.type_size_in_bytes(field.dtype)
    if size not in _STREAMED:
        width = alignment(field.dtype)
        return _in_pieces(_WIDE[width], width // 4, size // width, "row", ("__ldcs(from + {})", "__stcs(to + {}, {});"))
    kind = _STREAMED[size]
    load = f"auto held = __ldcs(reinterpret_cast<const {kind}*>(column.data) + row); return *reinterpret_cast<decltype(column.data)>(&held);"
    return load, f"__stcs(reinterpret_cast<{kind}*>(column.data) + row, reinterpret_cast<const {kind}&>(value));"


def alignment(kind: Any) -> int:
    """The bytes of the pieces in which CUDA moves vectors of a type; 1 where their address does not matter."""
    size: int = wp.types.type_size_in_bytes(kind)
    if not shape_of(kind):
        return 1
    if size in _WIDE:
        return size
    if len(shape_of(kind)) > 1 or scalar_of(kind) is not wp.float32:
        return 1
    return next((width for width in (16, 8) if size % width == 0 and size // width <= _MAX_PIECES), 1)


def _native(field: Field, place: str, cuda: bool) -> tuple[str, str]:
    size, width = wp.types.type_size_in_bytes(field.dtype), alignment(field.dtype)
    if not cuda or width == 1:
        return f"return column.data[{place}];", f"column.data[{place}] = value;"
    wide = _WIDE[width]
    if size > width:
        return _in_pieces(wide, width // 4, size // width, place)
    load = f"auto held = reinterpret_cast<const {wide}*>(column.data)[{place}]; return *reinterpret_cast<decltype(column.data)>(&held);"
    return load, f"reinterpret_cast<{wide}*>(column.data)[{place}] = reinterpret_cast<const {wide}&>(value);"


def _in_pieces(
    kind: str, numbers: int, pieces: int, place: str, moves: tuple[str, str] = ("from[{}]", "to[{}] = {};")
) -> tuple[str, str]:
    """How a vector of ``pieces`` times ``numbers`` real numbers is moved: the fewer stores, since those of a warp lie a whole vector apart.

    ``moves`` loads the piece of a number, and stores a piece there.
    """
    start = f"reinterpret_cast<{{}}{kind}*>(column.data) + (size_t)({place}) * {pieces};"
    loads = " ".join(f"held[{k}] = {moves[0].format(k)};" for k in range(pieces))
    given = [", ".join(f"from[{numbers * k + i}]" for i in range(numbers)) for k in range(pieces)]
    stores = " ".join(moves[1].format(k, f"make_{kind}({given[k]})") for k in range(pieces))
    load = f"auto from = {start.format('const ')} {kind} held[{pieces}]; {loads} return *reinterpret_cast<decltype(column.data)>(held);"
    return load, f"auto to = {start.format('')} auto from = reinterpret_cast<const float*>(&value); {stores}"
