"""C++ text of the kernels: matrix products, activation functions and their derivatives, and Adam.

Vectors are clang's vector extension: no intrinsics, no headers. Every number of a wide product is summed in the order
of the inner index, so no result depends on the size of tiles and vectors.
"""

from __future__ import annotations

TILE_ROWS = {"LANES_16": 8, "!LANES_16": 4}
"""Rows of a tile of two vectors each, by processor; its sums fit into the registers."""

INNER = 128
"""Terms of a product's sums that are added at a time, whose factors stay in the first cache."""

WIDE_VECTORS = "defined(__AVX512F__)"
"""The condition for vectors of 16 numbers."""

_TYPES = f"""
#if {WIDE_VECTORS}
#define LANES_16 1
    enum {{ LANES = 16 }};
#else
#define LANES_16 0
    enum {{ LANES = 8 }};
#endif
    typedef float Floats __attribute__((vector_size(LANES * 4), aligned(4)));
    typedef int Ints __attribute__((vector_size(LANES * 4), aligned(4)));
#define WIDE __attribute__((min_vector_width(512), always_inline)) static inline
#define FUSED _Pragma("clang fp contract(fast)")
"""
"""``min_vector_width``: clang splits vectors of 512 bits otherwise. ``FUSED`` as the first statement of a function lets
it multiply and add in one instruction, which kernels of worlds must not."""
_END = "#undef WIDE\n#undef FUSED\n#undef LANES_16\n"


def _tile(rows: int, vectors: int) -> str:
    """A function for a tile of ``rows`` x ``vectors`` vectors of a product."""
    cells = [(r, v) for r in range(rows) for v in range(vectors)]
    begin = " ".join(
        f"Floats s{r}{v} = start ? *(const Floats*)(start + {r} * start_row + {v} * LANES) : Floats{{}};"
        for r, v in cells
    )
    load = " ".join(f"Floats b{v} = *(const Floats*)(b + {v} * LANES);" for v in range(vectors))
    places = ("0", "a_row", "2 * a_row", "three_rows")
    add = " ".join(f"s{r}{v} += a{r // 4}[{places[r % 4]}] * b{v};" for r, v in cells)
    groups = range((rows + 3) // 4)
    pointers = " ".join(f"const float* a{group} = a + {4 * group} * a_row;" for group in groups)
    advance = " ".join(f"a{group} += a_column;" for group in groups)
    store = " ".join(f"*(Floats*)(c + {r} * c_row + {v} * LANES) = s{r}{v};" for r, v in cells)
    return f"""
    WIDE void tile_{rows}_{vectors}(const float* a, long a_row, long a_column, const float* b, long b_row,
                                    const float* start, long start_row, float* c, long c_row, long inner) {{
        FUSED
        {begin}
        long three_rows = 3 * a_row;
        asm("" : "+r"(three_rows));  // an unknown number, so that addresses are no chain of sums
        {pointers}
        for (long i = 0; i < inner; ++i) {{
            {load}
            {add}
            {advance}
            b += b_row;
        }}
        {store}
    }}"""


def _tiles(rows: int) -> str:
    """Tiles of two vectors with ``rows`` rows, of one vector with twice as many, and of single rows."""
    return _tile(rows, 2) + _tile(2 * rows, 1) + _tile(1, 2) + _tile(1, 1)


def _panel(tile_rows: int, vectors: int) -> str:
    """A loop over the rows of a product, for some columns."""
    height = 2 * tile_rows // vectors
    call = (
        "Local::tile_{}_" + str(vectors) + "(a_data + m * (long)a_row, a_row, a_column, b_data + n, b_row, "
        "s_data ? s_data + m * s_row + n : nullptr, s_row, c.data + m * (long)c_row + n, c_row, end - first);"
    )
    return f"""
        int m = 0;
        for (; m + {height} <= rows; m += {height}) {call.format(height)}
        for (; m < rows; ++m) {call.format(1)}"""


def _product(tile_rows: int) -> str:
    return f"""struct Local {{{_tiles(tile_rows)}
}};
long first = 0;
do {{
    long end = first + {INNER} < inner ? first + {INNER} : inner;
    const float* a_data = a.data + first * a_column;
    const float* b_data = b.data + first * b_row;
    const float* s_data = first ? c.data : start.data;
    long s_row = first ? c_row : start_row;
    int n = 0;
    for (; n + 2 * LANES <= columns; n += 2 * LANES) {{{_panel(tile_rows, 2)}
    }}
    for (; n < columns; n += LANES) {{{_panel(tile_rows, 1)}
    }}
    first = end;
}} while (first < inner);"""


PRODUCT = _TYPES + "".join(f"#if {case}\n{_product(rows)}\n#endif\n" for case, rows in TILE_ROWS.items()) + _END
"""``c = start + a b``. Rows of ``b``, ``start`` and ``c`` are padded to whole vectors."""

NARROW_PRODUCT = f"""{_TYPES}
    typedef float Eight __attribute__((vector_size(32)));
    typedef float Four __attribute__((vector_size(16)));
struct Local {{
    WIDE float total(const Floats* v) {{
#if LANES_16
        Eight e = __builtin_shufflevector(v[0], v[0], 0, 1, 2, 3, 4, 5, 6, 7)
                + __builtin_shufflevector(v[0], v[0], 8, 9, 10, 11, 12, 13, 14, 15);
#else
        Eight e = v[0] + v[1];
#endif
        Four f = __builtin_shufflevector(e, e, 0, 1, 2, 3) + __builtin_shufflevector(e, e, 4, 5, 6, 7);
        return (f[0] + f[1]) + (f[2] + f[3]);
    }}
    WIDE float dot(const float* a, const float* b, long inner) {{
        FUSED
        enum {{ VECTORS = 16 / LANES }};
        Floats sums[VECTORS] = {{}};
        const Floats zero = {{}};
        long i = 0;
        for (; i + 16 <= inner; i += 16)
            for (int v = 0; v < VECTORS; ++v)
                sums[v] += *(const Floats*)(a + i + v * LANES) * *(const Floats*)(b + i + v * LANES);
        if (i < inner)
            for (int v = 0; v < VECTORS; ++v) {{
                Ints index, end = {{}};
                for (int k = 0; k < LANES; ++k) index[k] = v * LANES + k;
                end += (int)(inner - i);
                Floats rest = index < end ? *(const Floats*)(a + i + v * LANES) : zero;  // padding may hold NaN
                sums[v] += rest * *(const Floats*)(b + i + v * LANES);
            }}
        return total(sums);
    }}
}};
for (long m = 0; m < rows; ++m)
    for (int n = 0; n < columns; ++n)
        c.data[m * c_row + n] = bias.data[n] + Local::dot(a.data + m * a_row, b.data + n * (long)b_row, inner);
{_END}"""
"""``c = bias + a b^T`` for few columns, in sixteen interleaved sums. Rows of ``b`` are padded with zeros."""

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
        FUSED
        x = bounded(x, -{TANH_BOUND}f, {TANH_BOUND}f);
        Floats y = x * x;
        return x * {_polynomial(TANH_NUMERATOR, "y")} / {_polynomial(TANH_DENOMINATOR, "y")};
    }}
    WIDE Floats expm1_negative(Floats x) {{  // exp(x) - 1 for x <= 0: 2^n (exp(r) - 1) + 2^n - 1
        FUSED
        x = bounded(x, -80.0f, 0.0f);
        Ints n = __builtin_convertvector(x * 1.44269504088896341f - 0.5f, Ints);
        Floats whole = __builtin_convertvector(n, Floats);
        Floats r = (x - whole * 0.693145751953125f) - whole * 1.428606765330187e-06f;
        Floats power = (Floats)((n + 127) << 23);
        return power * (r * {_polynomial(_INVERSE_FACTORIALS, "r")}) + (power - 1.0f);
    }}"""

_FORWARD = {
    "tanh": "Local::tanh(x)",
    "relu": "x < zero ? zero : x",  # NaN stays NaN
    "elu": "x > zero ? x : Local::expm1_negative(x)",
    "selu": f"x > zero ? x * {SELU_SCALE}f : Local::expm1_negative(x) * {SELU_ALPHA}f",
}
_DERIVATIVE = {
    "tanh": "x * (1.0f - y * y)",
    "relu": "y <= zero ? zero : x",
    "elu": "y > zero ? x : x * (y + 1.0f)",
    "selu": f"y > zero ? x * {SELU_SCALE}f : x * (y + {SELU_ALPHA}f)",
}
ACTIVATIONS: dict[str, int] = {"none": -1, **{name: code for code, name in enumerate(_FORWARD)}}
"""Codes of the activation functions."""


def _activation_text(cases: str, arguments: str) -> str:
    calls = "\n".join(f"if (kind == {ACTIVATIONS[name]}) Local::run_{name}({arguments});" for name in _FORWARD)
    return f"{_TYPES}\nstruct Local {{{_FUNCTIONS}{cases}\n}};\n{calls}\n{_END}"


ACTIVATE = _activation_text(
    "".join(
        f"""
    WIDE void run_{name}(float* values, long count) {{
        FUSED
        const Floats zero = {{}};
        for (long i = 0; i < count; i += LANES) {{
            Floats x = *(Floats*)(values + i);
            *(Floats*)(values + i) = {expression};
        }}
    }}"""
        for name, expression in _FORWARD.items()
    ),
    "values.data, count",
)
"""Activation functions in place."""

DERIVE = _activation_text(
    "".join(
        f"""
    WIDE void run_{name}(float* values, const float* others, long row_stride, long rows, float* sums) {{
        FUSED
        const Floats zero = {{}};
        for (long n = 0; n < row_stride; n += LANES) {{
            Floats sum = *(Floats*)(sums + n);
            for (long i = n; i < rows * row_stride; i += row_stride) {{
                Floats x = *(Floats*)(values + i), y = *(const Floats*)(others + i);
                x = {expression};
                *(Floats*)(values + i) = x;
                sum += x;
            }}
            *(Floats*)(sums + n) = sum;
        }}
    }}"""
        for name, expression in _DERIVATIVE.items()
    ),
    "values.data, others.data, row_stride, rows, sums.data",
)
"""Gradients in place, times the derivative of the activation, whose values are ``others``; and their column sums."""

ADAM = f"""{_TYPES}
struct Local {{
    WIDE void step(float* values, const float* gradient, float* first, float* second, float scale, float rate,
                   float correction, float beta1, float beta2, float epsilon) {{
        FUSED
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
{_END}"""
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
for (long row = 0; row < rows; ++row)
    for (int part = 0; part < parts; ++part) {
        const float* in = sums.data + part * (long)part_stride + row * (long)row_stride;
        float* out = gradient.data + row * out_row;
        if (part == 0) for (long k = 0; k < columns; ++k) out[k * out_column] = in[k];
        else for (long k = 0; k < columns; ++k) out[k * out_column] += in[k];
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

SUM = """
double sums[8] = {};
long i = 0;
for (; i + 8 <= count; i += 8)
    for (int k = 0; k < 8; ++k) sums[k] += (double)values.data[offset + i + k];
for (; i < count; ++i) sums[0] += (double)values.data[offset + i];
return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
"""
"""The sum of ``count`` numbers from ``offset`` on, in eight interleaved sums."""

MOVE = """
for (long k = 0; k < count; ++k) {
    target.data[offset + k] = source.data[k];
    source.data[k] = 0.0f;
}
"""
"""Numbers moved from ``source``, which is cleared, to ``target`` from ``offset`` on."""
