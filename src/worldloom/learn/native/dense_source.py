"""C++ text of the kernels: matrix products, activation functions and their derivatives, and Adam.

Vectors are clang's vector extension: no intrinsics, no headers. Every number of a product is summed in the order of the
inner index, so results do not depend on the width of vectors or tiles.
"""

from __future__ import annotations

TILE_ROWS = 4
"""Rows of a tile of two vectors each; its sums fit into the registers of all processors."""

_TYPES = """
#if defined(__AVX512F__)
    enum { LANES = 16 };
#else
    enum { LANES = 8 };
#endif
    typedef float Floats __attribute__((vector_size(LANES * 4), aligned(4)));
    typedef int Ints __attribute__((vector_size(LANES * 4), aligned(4)));
#define WIDE __attribute__((min_vector_width(512), always_inline)) static inline
"""
"""``min_vector_width``: clang splits vectors of 512 bits otherwise."""


def _tile(rows: int, vectors: int) -> str:
    """A function for a tile of ``rows`` x ``vectors`` vectors of a product."""
    cells = [(r, v) for r in range(rows) for v in range(vectors)]
    begin = " ".join(
        f"Floats s{r}{v} = start ? *(const Floats*)(start + {r} * start_row + {v} * LANES) : Floats{{}};"
        for r, v in cells
    )
    load = " ".join(f"Floats b{v} = *(const Floats*)(b + {v} * LANES);" for v in range(vectors))
    add = " ".join(f"s{r}{v} += a[{r} * a_row] * b{v};" for r, v in cells)
    store = " ".join(f"*(Floats*)(c + {r} * c_row + {v} * LANES) = s{r}{v};" for r, v in cells)
    return f"""
    WIDE void tile_{rows}_{vectors}(const float* a, long a_row, long a_column, const float* b, long b_row,
                                    const float* start, long start_row, float* c, long c_row, long inner) {{
        {begin}
        for (long i = 0; i < inner; ++i) {{
            {load}
            {add}
            a += a_column;
            b += b_row;
        }}
        {store}
    }}"""


def _panel(vectors: int) -> str:
    """A loop over the rows of a product, for some columns."""
    height = 2 * TILE_ROWS // vectors
    call = (
        "Local::tile_{}_" + str(vectors) + "(a.data + m * (long)a_row, a_row, a_column, b.data + n, b_row, "
        "start.data ? start.data + m * (long)start_row + n : nullptr, start_row, "
        "c.data + m * (long)c_row + n, c_row, inner);"
    )
    return f"""
        int m = 0;
        for (; m + {height} <= rows; m += {height}) {call.format(height)}
        for (; m < rows; ++m) {call.format(1)}"""


PRODUCT = f"""{_TYPES}
struct Local {{{_tile(TILE_ROWS, 2)}{_tile(2 * TILE_ROWS, 1)}{_tile(1, 2)}{_tile(1, 1)}
}};
int n = 0;
for (; n + 2 * LANES <= columns; n += 2 * LANES) {{{_panel(2)}
}}
for (; n < columns; n += LANES) {{{_panel(1)}
}}
#undef WIDE
"""
"""``c = start + a b``. Rows of ``b``, ``start`` and ``c`` are padded to whole vectors."""

TANH_NUMERATOR = (0.9999999935758913, 0.13444501444989937, 0.003571602149258789, 2.1894730616274407e-05,
                  1.523051551036322e-08)  # fmt: skip
TANH_DENOMINATOR = (1.0, 0.46777828766189194, 0.02616445860068878, 0.00034112987910558636,
                    8.522486013177693e-07)  # fmt: skip
TANH_BOUND = 8.0
"""tanh(x) = x P(x^2) / Q(x^2) for abs(x) up to TANH_BOUND and constant beyond: a least-maximum fit of the relative
error. It is at most 4e-7 in float32, 7e-9 without rounding."""

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.7580993408473766
"""The scale of selu, and its scale times alpha."""


def _polynomial(coefficients: tuple[float, ...], variable: str) -> str:
    """Horner's scheme."""
    text = f"{coefficients[-1]!r}f"
    for coefficient in reversed(coefficients[:-1]):
        text = f"({text} * {variable} + {coefficient!r}f)"
    return text


_INVERSE_FACTORIALS = (1.0, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040)

_FUNCTIONS = f"""
    WIDE Floats bounded(Floats x, float least, float most) {{
        Floats low = {{}}, high = {{}};
        low += least;
        high += most;
        x = x < low ? low : x;
        return x > high ? high : x;
    }}
    WIDE Floats tanh(Floats x) {{
        x = bounded(x, -{TANH_BOUND}f, {TANH_BOUND}f);
        Floats y = x * x;
        return x * {_polynomial(TANH_NUMERATOR, "y")} / {_polynomial(TANH_DENOMINATOR, "y")};
    }}
    WIDE Floats expm1_negative(Floats x) {{  // exp(x) - 1 for x <= 0: 2^n (exp(r) - 1) + 2^n - 1
        x = bounded(x, -80.0f, 0.0f);
        Ints n = __builtin_convertvector(x * 1.44269504088896341f - 0.5f, Ints);
        Floats whole = __builtin_convertvector(n, Floats);
        Floats r = (x - whole * 0.693145751953125f) - whole * 1.428606765330187e-06f;
        Floats power = (Floats)((n + 127) << 23);
        return power * (r * {_polynomial(_INVERSE_FACTORIALS, "r")}) + (power - 1.0f);
    }}"""

_FORWARD = {
    "tanh": "Local::tanh(x)",
    "relu": "x > zero ? x : zero",
    "elu": "x > zero ? x : Local::expm1_negative(x)",
    "selu": f"x > zero ? x * {SELU_SCALE}f : Local::expm1_negative(x) * {SELU_ALPHA}f",
}
_DERIVATIVE = {
    "tanh": "x * (1.0f - y * y)",
    "relu": "y > zero ? x : zero",
    "elu": "y > zero ? x : x * (y + 1.0f)",
    "selu": f"y > zero ? x * {SELU_SCALE}f : x * (y + {SELU_ALPHA}f)",
}
ACTIVATIONS: dict[str, int] = {"none": -1, **{name: code for code, name in enumerate(_FORWARD)}}
"""Codes of the activation functions."""


def _elementwise(expressions: dict[str, str], operand: str = "") -> str:
    cases = "".join(
        f"""
    WIDE void run_{name}(float* values, const float* others, long count) {{
        const Floats zero = {{}};
        for (long i = 0; i < count; i += LANES) {{
            Floats x = *(Floats*)(values + i);{operand}
            *(Floats*)(values + i) = {expression};
        }}
    }}"""
        for name, expression in expressions.items()
    )
    calls = "\n".join(
        f"if (kind == {ACTIVATIONS[name]}) Local::run_{name}(values.data, others.data, count);" for name in expressions
    )
    return f"{_TYPES}\nstruct Local {{{_FUNCTIONS}{cases}\n}};\n{calls}\n#undef WIDE\n"


ACTIVATE = _elementwise(_FORWARD)
"""Activation functions in place."""

DERIVE = _elementwise(_DERIVATIVE, "\n            Floats y = *(const Floats*)(others + i);")
"""Gradients in place, times the derivative of the activation; ``others`` are its values."""

ADAM = f"""{_TYPES}
struct Local {{
    WIDE void step(float* values, const float* gradient, float* first, float* second, float scale, float rate,
                   float correction, float beta1, float beta2, float epsilon) {{
        Floats slope = *(const Floats*)gradient * scale;
        Floats mean = beta1 * *(Floats*)first + (1.0f - beta1) * slope;
        Floats square = beta2 * *(Floats*)second + (1.0f - beta2) * slope * slope;
        *(Floats*)first = mean;
        *(Floats*)second = square;
        *(Floats*)values -= rate * mean / (__builtin_elementwise_sqrt(square) * correction + epsilon);
    }}
}};
long i = 0;
for (; i + LANES <= count; i += LANES)
    Local::step(values.data + i, gradient.data + i, first.data + i, second.data + i, scale, rate, correction,
                beta1, beta2, epsilon);
if (i < count) {{
    float v[LANES] = {{}}, g[LANES] = {{}}, f[LANES] = {{}}, s[LANES] = {{}};
    for (long k = i; k < count; ++k) {{
        v[k - i] = values.data[k]; g[k - i] = gradient.data[k]; f[k - i] = first.data[k]; s[k - i] = second.data[k];
    }}
    Local::step(v, g, f, s, scale, rate, correction, beta1, beta2, epsilon);
    for (long k = i; k < count; ++k) {{
        values.data[k] = v[k - i]; first.data[k] = f[k - i]; second.data[k] = s[k - i];
    }}
}}
#undef WIDE
"""
"""One step of Adam for all parameters."""

COLUMN_SUMS = """
float* out = sums.data;
for (int r = 0; r < rows; ++r) {
    const float* row = values.data + (long)r * row_stride;
    for (int k = 0; k < columns; ++k) out[k] += row[k];
}
"""
"""Sums over the rows of a matrix."""

REDUCE = """
for (long row = 0; row < rows; ++row) {
    float* out = gradient.data + row * columns;
    for (int part = 0; part < parts; ++part) {
        const float* in = sums.data + part * (long)part_stride + row * (long)row_stride;
        if (part == 0) for (int k = 0; k < columns; ++k) out[k] = in[k];
        else for (int k = 0; k < columns; ++k) out[k] += in[k];
    }
}
"""
"""Sums over the parts of a minibatch, in order."""

PACK = """
for (int u = 0; u < units; ++u) {
    const float* in = weight.data + u * (long)inputs;
    float* out = rows.data + u * (long)row_stride;
    for (int k = 0; k < inputs; ++k) out[k] = in[k];
    packed_bias.data[u] = bias.data[u];
}
for (int k = 0; k < inputs; ++k) {
    float* out = columns.data + k * (long)column_stride;
    for (int u = 0; u < units; ++u) out[u] = weight.data[u * (long)inputs + k];
}
"""
"""Weights in padded rows, and their transpose in padded rows."""

SQUARED_NORM = """
double sums[8] = {};
long i = 0;
for (; i + 8 <= count; i += 8)
    for (int k = 0; k < 8; ++k) sums[k] += (double)values.data[i + k] * (double)values.data[i + k];
for (; i < count; ++i) sums[0] += (double)values.data[i] * (double)values.data[i];
return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
"""
"""The sum of squares, in eight interleaved sums."""

MOVE = """
for (long k = 0; k < count; ++k) {
    target.data[offset + k] = source.data[k];
    source.data[k] = 0.0f;
}
"""
"""Numbers moved from ``source``, which is cleared, to ``target`` from ``offset`` on."""
