"""Access to columns in kernels by plain address.

Columns are contiguous, and indices are checked before. Warp's own indexing handles signs and strides at every access,
which cost CartPole two thirds of its instructions on an H200.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Any

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.targets.kernel_names import column_argument
from worldloom.core.model.columns import ColumnKey
from worldloom.core.model.dtypes import canonical, scalar_of, shape_of
from worldloom.core.model.fields import Field

_STREAMED = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "float2", 16: "float4"}
_WIDE = {8: "float2", 16: "float4"}
"""Vectors of these sizes in bytes are moved by one instruction on CUDA."""
_CONSTANT = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "uint2", 16: "uint4"}
"""Types of the pieces of constant columns, by size in bytes."""
_MAX_PIECES = 8
"""Longer vectors of floats are moved in at most this many such pieces."""
_REPEATED = {1: "0x01010101", 2: "0x00010001"}
"""Factors that repeat an element of so many bytes in all places of a word."""
_LINE = 64
"""Bytes of a cache line of a CPU."""
_PREFETCH_BYTES = range(4 * _LINE, 2**14)
"""Bytes of a row that are worth prefetching: more would evict data that is needed sooner."""
_PREFETCH_ROWS = 2
"""Rows by which stores are prefetched on a CPU: a core keeps few misses in flight without explicit prefetches."""
_PREFETCH = (
    "auto from = (const char*)((size_t)column.data"
    f" + ((size_t)(row + {_PREFETCH_ROWS}) * size + place) * sizeof(*column.data));"
    f" for (int i = 0; i < bytes; i += {_LINE}) __builtin_prefetch(from + i, 1);"
)
_NO_OPERATION = ";"


def type_code(kind: Any, types: dict[str, Any]) -> str:
    """A component type in generated code; types without a name in Warp are added to ``types``."""
    if canonical(getattr(wp, kind.__name__, None)) is kind:
        return f"wp.{kind.__name__}"
    code = f"vec{'x'.join(map(str, shape_of(kind)))}_{scalar_of(kind).__name__}"
    types[code] = kind
    return code


def array_code(field: Field, types: dict[str, Any]) -> str:
    """The annotation of a whole column of ``field``."""
    suffix = f", ndim={1 + len(field.shape)}" if field.shape else ""
    return f"wp.array(dtype={type_code(field.dtype, types)}{suffix})"


def numbers_code(kind: Any) -> str:
    """The type of an array of the numbers of a vector type."""
    return f"wp.array(dtype={type_code(scalar_of(kind), {})})"


def view_text(column: str, field: Field, row: str) -> str:
    """The numbers of the vector in a row of a column, as an array that is not copied."""
    return f"{_name('view', field)}({column}, {row})"


def view_definition(field: Field, types: dict[str, Any]) -> str:
    """The definition of the function that :func:`view_text` calls."""
    texts: dict[str, str] = {}
    (size,) = shape_of(field.dtype)
    number = type_code(scalar_of(field.dtype), {}).removeprefix("wp.")
    snippet = f"return wp::array_t<wp::{number}>(reinterpret_cast<wp::{number}*>(column.data + row), {size});"
    parameters = f"column: {array_code(field, types)}, row: wp.int32"
    _define(texts, _name("view", field), snippet, parameters, numbers_code(field.dtype))
    return next(iter(texts.values()))


def row_size(field: Field) -> int:
    """The number of values in one row of an array component."""
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


def call_start(column: str, field: Field, constant: bool = False) -> str:
    """The text with which a call of :func:`get` begins; ``constant`` for a column that its kernel does not write.

    Loads of constant columns may be issued before stores to other columns that precede them.
    """
    return f"{_name('read' if constant else 'get', field)}({column}, "


def shared_name(verb: str, column: ColumnKey) -> str:
    """The function that loads (``get``) or stores (``put``) a row of a column in shared memory."""
    return f"shared_{verb}_{column_argument(column)}"


def with_shared_column(body: str, column: ColumnKey, field: Field) -> str:
    """The text of a function that loads and stores a column by :func:`shared_name`."""
    name = column_argument(column)
    for verb in ("get", "put"):
        body = body.replace(f"{_name(verb, field)}({name}, ", f"{shared_name(verb, column)}({name}, ")
    return body


def only_stores(body: str, column: ColumnKey, field: Field) -> bool:
    """Whether the text of a function uses a column only to store elements of it."""
    name = column_argument(column)
    stores = sum(body.count(f"{_name(verb, field)}({name}, ") for verb in ("put", "fill"))
    return stores == len(re.findall(rf"\b{name}\b", body))


def put(
    column: ast.expr, field: Field, row: ast.expr, value: ast.expr, indices: list[ast.expr] | None = None
) -> ast.stmt:
    """Store the value of a row of a column, or one element of it."""
    return ast.Expr(nodes.call(_name("put", field), column, row, *_inner(field, indices), value))


def is_worth_prefetching(array: Field, elements: int) -> bool:
    """Whether the size of this many elements of an array is in the range worth prefetching."""
    return elements * _element_bytes(array) in _PREFETCH_BYTES


def prefetch(column: ast.expr, array: Field, row: ast.expr, first: int, elements: int) -> ast.stmt:
    """Prefetch some elements of the rows after ``row``, which will be stored soon; no operation on CUDA."""
    start, size = row_size(array) // array.shape[0] * first, elements * _element_bytes(array)
    return ast.Expr(
        nodes.call(_name("ahead", array), column, row, *map(nodes.constant, (row_size(array), start, size)))
    )


def _element_bytes(array: Field) -> int:
    """Bytes of one element along the first axis."""
    return row_size(array) // array.shape[0] * int(wp.types.type_size_in_bytes(array.dtype))


def differs_text(field: Field, one: str, other: str) -> str:
    """Whether two values of a component differ in any bit, as text."""
    return f"{_name('differs', field)}({one}, {other})"


def stream_text(column: str, field: Field, row: str, value: str) -> str:
    """:func:`put` as text, with a streaming store for a value that no kernel reads soon."""
    return ast.unparse(ast.Expr(nodes.call(_name("stream", field), nodes.name(column), _parse(row), _parse(value))))


def put_part_text(column: str, field: Field, row: str, place: int, value: str) -> str:
    """Store one number of the vector that a row of a column holds, as text."""
    return ast.unparse(
        ast.Expr(
            nodes.call(_name("part", field), nodes.name(column), _parse(row), nodes.constant(place), _parse(value))
        )
    )


def get_once(column: ast.expr, field: Field, row: ast.expr) -> ast.expr:
    """:func:`get` with a streaming load, for a value that no kernel reads again soon, such as an action."""
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
    """The size of a row and the index in it, for array components."""
    if not field.shape:
        return []
    position: ast.expr | None = None
    for index, size in zip(indices or [], field.shape, strict=True):
        position = (
            index
            if position is None
            else nodes.binary(nodes.binary(position, ast.Mult(), nodes.constant(size)), ast.Add(), index)
        )
    assert position is not None
    return [nodes.constant(row_size(field)), position]


def definitions(fields: Iterable[Field], types: dict[str, Any], cuda: bool) -> str:
    """The definitions of the functions that :func:`get` and :func:`put` call, for columns of ``fields``."""
    texts: dict[str, str] = {}
    for field in fields:
        kind, column = type_code(field.dtype, types), array_code(field, types)
        head, place = (
            ("row: wp.int32", "row"),
            ("row: wp.int32, size: wp.int32, place: wp.int32", "(size_t)row * size + place"),
        )[bool(field.shape)]
        load, store = _native(field, place, cuda)
        _define(texts, _name("get", field), load, f"column: {column}, {head}", kind)
        if cuda:
            _define(texts, _name("read", field), _constant_load(field, place), f"column: {column}, {head}", kind)
            _define(texts, _name("differs", field), _difference(field), f"one: {kind}, other: {kind}", "wp.bool")
        _define(texts, _name("put", field), store, f"column: {column}, {head}, value: {kind}")
        if field.shape:
            snippet = _NO_OPERATION if cuda else _PREFETCH
            _define(texts, _name("ahead", field), snippet, f"column: {column}, {head}, bytes: wp.int32")
            parameters = f"column: {column}, {head}, count: wp.int32, value: {kind}"
            _define(texts, _name("fill", field), _fill(field, place, cuda), parameters)
        if not field.shape and len(shape_of(field.dtype)) == 1 and scalar_of(field.dtype) is wp.float32:
            size = shape_of(field.dtype)[0]
            snippet = f"reinterpret_cast<float*>(column.data)[(size_t)row * {size} + place] = value;"
            parameters = f"column: {column}, row: wp.int32, place: wp.int32, value: wp.float32"
            _define(texts, _name("part", field), snippet, parameters)
        if streams(field):
            load, store = _streaming(field) if cuda else (load, store)
            _define(texts, _name("once", field), load, f"column: {column}, row: wp.int32", kind)
            _define(texts, _name("stream", field), store, f"column: {column}, row: wp.int32, value: {kind}")
    return "\n".join(texts.values())


def _define(texts: dict[str, str], name: str, snippet: str, parameters: str, returns: str = "") -> None:
    """Add the definition of a native function, unless it is there."""
    arrow = f" -> {returns}" if returns else ""
    texts.setdefault(name, f'@wp.func_native(snippet="{snippet}")\ndef {name}({parameters}){arrow}: ...\n')


def streams(field: Field) -> bool:
    """Whether :func:`stream_text` and :func:`get_once` support ``field``."""
    return not field.shape and (wp.types.type_size_in_bytes(field.dtype) in _STREAMED or alignment(field.dtype) > 1)


def _streaming(field: Field) -> tuple[str, str]:
    size = wp.types.type_size_in_bytes(field.dtype)
    if size not in _STREAMED:
        width = alignment(field.dtype)
        return _in_pieces(_WIDE[width], width // 4, size // width, "row", ("__ldcs(from + {})", "__stcs(to + {}, {});"))
    kind = _STREAMED[size]
    load = (
        f"auto held = __ldcs(reinterpret_cast<const {kind}*>(column.data) + row);"
        " return *reinterpret_cast<decltype(column.data)>(&held);"
    )
    return load, f"__stcs(reinterpret_cast<{kind}*>(column.data) + row, reinterpret_cast<const {kind}&>(value));"


def alignment(kind: Any) -> int:
    """The bytes of the pieces in which CUDA moves vectors of a type; 1 where alignment does not matter."""
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
    load = (
        f"auto held = reinterpret_cast<const {wide}*>(column.data)[{place}];"
        " return *reinterpret_cast<decltype(column.data)>(&held);"
    )
    return load, f"reinterpret_cast<{wide}*>(column.data)[{place}] = reinterpret_cast<const {wide}&>(value);"


def _constant_load(field: Field, place: str) -> str:
    """The code of a load through the read-only cache, in the widest pieces.

    CUDA's function for pieces of several words is volatile assembly: in a loop over the elements of an array, the
    compiler would compute the address of each from the start. These are loaded as any other.
    """
    size, width = int(wp.types.type_size_in_bytes(field.dtype)), alignment(field.dtype)
    if field.shape and width in _WIDE:
        return _native(field, place, cuda=True)[0]
    if width == 1:
        width = min(int(wp.types.type_size_in_bytes(scalar_of(field.dtype))), 8)
    kind, pieces = _CONSTANT[width], size // width
    loads = " ".join(f"held[{k}] = __ldg(from + {k});" for k in range(pieces))
    return (
        f"auto from = reinterpret_cast<const {kind}*>(column.data) + (size_t)({place}) * {pieces};"
        f" {kind} held[{pieces}]; {loads} return *reinterpret_cast<decltype(column.data)>(held);"
    )


def _difference(field: Field) -> str:
    """The code that compares all bits of two values."""
    size = int(wp.types.type_size_in_bytes(field.dtype))
    width = min(size & -size, 4)
    kind = _CONSTANT[width]
    tests = " | ".join(f"(from[{k}] != with[{k}])" for k in range(size // width))
    start = f"auto from = reinterpret_cast<const {kind}*>(&one); auto with = reinterpret_cast<const {kind}*>(&other);"
    return f"{start} return {tests};"


def _fill(field: Field, place: str, cuda: bool) -> str:
    """The code that stores a value ``count`` times from a place on, on CUDA in words where elements are narrower."""
    size = int(wp.types.type_size_in_bytes(field.dtype))
    start, rest = f"auto to = column.data + {place}; int i = 0;", "for (; i < count; ++i) to[i] = value;"
    if not cuda or size not in _REPEATED:
        return f"{start} {rest}"
    kind, ones = _STREAMED[size], _REPEATED[size]
    return (
        f"{start} const unsigned int word = {ones}u * reinterpret_cast<const {kind}&>(value);"
        " for (; i < count && reinterpret_cast<size_t>(to + i) % 4; ++i) to[i] = value;"
        f" for (; i + {4 // size} <= count; i += {4 // size}) memcpy(__builtin_assume_aligned(to + i, 4), &word, 4);"
        f" {rest}"
    )


def _in_pieces(
    kind: str, numbers: int, pieces: int, place: str, moves: tuple[str, str] = ("from[{}]", "to[{}] = {};")
) -> tuple[str, str]:
    """The load and the store of a vector of ``pieces`` times ``numbers`` floats.

    Fewer and wider stores are faster, since the addresses of a warp are a whole vector apart. ``moves`` are the
    templates of the load and of the store of one piece.
    """
    start = f"reinterpret_cast<{{}}{kind}*>(column.data) + (size_t)({place}) * {pieces};"
    loads = " ".join(f"held[{k}] = {moves[0].format(k)};" for k in range(pieces))
    floats = [", ".join(f"from[{numbers * k + i}]" for i in range(numbers)) for k in range(pieces)]
    stores = " ".join(moves[1].format(k, f"make_{kind}({floats[k]})") for k in range(pieces))
    load = (
        f"auto from = {start.format('const ')} {kind} held[{pieces}]; {loads}"
        " return *reinterpret_cast<decltype(column.data)>(held);"
    )
    return load, f"auto to = {start.format('')} auto from = reinterpret_cast<const float*>(&value); {stores}"
