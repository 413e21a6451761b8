// One pixel of a resized picture. worldloom/atari/frames/resize.py computes the plan and explains the two kinds of
// weights.
//
// A plan holds HEAD numbers; for each of OUT_HEIGHT lines the first source line and DOWN weights, in LINE_STRIDE
// numbers; the first source column of each of OUT_WIDTH columns, then the first weight of each, and so on, ACROSS of
// them. `shares` holds 1 / unit, the weights of columns and those of lines as fractions.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;

enum : s32 { PLAN_ROWS, PLAN_KIND, PLAN_UNIT, PLAN_MAGIC, PLAN_SHIFT, PLAN_DOUBT, HEAD = 8 };
enum : s32 { LINE_STRIDE = (1 + DOWN + 3) / 4 * 4 };
enum : s32 { AREA, BOX, QUARTERS, LINEAR };

// Products and sums that are rounded separately, on every device.
struct Rounded {
    float value;

    CUDA_CALLABLE Rounded plus(float a, float b) const {
#if defined(__CUDA_ARCH__)
        return {__fadd_rn(value, __fmul_rn(a, b))};
#else
#pragma clang fp contract(off)
        float product = a * b;
        return {value + product};
#endif
    }

    // Rounds to the nearest integer, ties to even.
    CUDA_CALLABLE u8 nearest() const {
        u32 below = (u32)value;
        float rest = value - (float)below;
        return below + (rest > 0.5f || (rest == 0.5f && (below & 1)));
    }
};

struct Resize {
    const u8* source;  // brightness, WIDTH bytes a line
    const s32* plan;
    const float* shares;
    u32 unit, magic, shift, near;

    CUDA_CALLABLE void begin(const s32* chosen, const float* parts) {
        plan = chosen;
        shares = parts;
        unit = plan[PLAN_UNIT];
        magic = plan[PLAN_MAGIC];
        shift = plan[PLAN_SHIFT];
        near = plan[PLAN_DOUBT];
    }

    CUDA_CALLABLE const s32* line(s32 y) const { return plan + HEAD + LINE_STRIDE * y; }
    CUDA_CALLABLE const s32* columns() const { return plan + HEAD + LINE_STRIDE * OUT_HEIGHT; }

    // A sum divided by the unit and rounded; `doubt` is set if it is too close to a halfway point.
    CUDA_CALLABLE u8 mean(u32 sum, bool& doubt) const {
        u32 twice = 2 * unit, n = 2 * sum + unit;
        u32 whole = (u32)((u64)n * magic >> 32) >> shift;
        u32 rest = n - whole * twice;
        doubt = rest <= near || rest >= twice - near;
        return whole;
    }

    // OpenCV's rounding of an ambiguous mean.
    CUDA_CALLABLE u8 round_as_opencv(s32 x, s32 y, u32 sum, u8 mean) const {
        if (plan[PLAN_KIND] == QUARTERS) return mean;
        if (plan[PLAN_KIND] == BOX) return Rounded{0.0f}.plus((float)sum, shares[0]).nearest();
        const u8* at = source + line(y)[0] * WIDTH + columns()[x];
        const float *column = shares + 1 + x, *lines = shares + 1 + ACROSS * OUT_WIDTH + DOWN * y;
        Rounded made = {0.0f};
        for (s32 j = 0; j < DOWN; j++) {
            Rounded across = {0.0f};
            for (s32 i = 0; i < ACROSS; i++) across = across.plus(at[j * WIDTH + i], column[i * OUT_WIDTH]);
            made = made.plus(lines[j], across.value);
        }
        return made.nearest();
    }

    // Bilinear interpolation with OpenCV's weights of 11 bits and its roundings.
    CUDA_CALLABLE u8 interpolate(s32 x, s32 y) const {
        const s32 *column = columns() + x, *lines = line(y);
        s32 last = plan[PLAN_ROWS] - 1, made = 2;
        for (s32 j = 0; j < 2; j++) {
            s32 row = lines[0] + j;
            row = row < 0 ? 0 : row > last ? last : row;
            const u8* at = source + row * WIDTH + column[0];
            s32 across = column[OUT_WIDTH] * at[0] + column[2 * OUT_WIDTH] * at[1];
            made += lines[1 + j] * (across >> 4) >> 16;
        }
        return made >> 2;
    }
};
