// Palette lookup of a row of a picture.
struct Palette {
#if defined(__AVX512VBMI__)  // 64 lookups at once
    typedef u8 Lanes __attribute__((vector_size(64)));
    typedef char Places __attribute__((vector_size(64)));
    Lanes quarter[4];

    explicit Palette(const u8* table) { __builtin_memcpy(quarter, table, sizeof quarter); }

    Lanes look_up(const u8* row) const {
        Places at;
        __builtin_memcpy(&at, row, sizeof at);
        Lanes dark = (Lanes)__builtin_ia32_vpermi2varqi512((Places)quarter[0], at, (Places)quarter[1]);
        Lanes other = (Lanes)__builtin_ia32_vpermi2varqi512((Places)quarter[2], at, (Places)quarter[3]);
        return (Lanes)at > 127 ? other : dark;
    }

    void seen(const u8* row, u8* made) const {
        for (s32 x = 0; x <= WIDTH - 64; x += (WIDTH - 64) / 2) {
            Lanes found = look_up(row + x);
            __builtin_memcpy(made + x, &found, sizeof found);
        }
    }

    void brighter(const u8* a, const u8* b, u8* made) const {
        for (s32 x = 0; x <= WIDTH - 64; x += (WIDTH - 64) / 2) {
            Lanes one = look_up(a + x), other = look_up(b + x), found = one > other ? one : other;
            __builtin_memcpy(made + x, &found, sizeof found);
        }
    }
#else
    const u8* table;

    explicit Palette(const u8* table) : table(table) {}

    void seen(const u8* row, u8* made) const {
#pragma clang loop vectorize(disable) unroll_count(8)
        for (s32 x = 0; x < WIDTH; x++) made[x] = table[row[x]];
    }

    void brighter(const u8* a, const u8* b, u8* made) const {
#pragma clang loop vectorize(disable) unroll_count(8)
        for (s32 x = 0; x < WIDTH; x++) made[x] = table[a[x]] > table[b[x]] ? table[a[x]] : table[b[x]];
    }
#endif
};

// Rows of a picture repeat, and so do frames: equal rows are computed once.
struct Downsampler {
    enum : s32 { PADDED = (OUT_WIDTH + 15) / 16 * 16 };
    const u8 *first, *second;
    s32 rows;
    u8 brightness[ROWS * WIDTH];
    u16 alike[ROWS];  // first of the rows above that equal this one
    bool differ[ROWS];  // whether the row differs between the two frames

    bool same(const u8* a, const u8* b) const {
        typedef u64 Words __attribute__((vector_size(32)));
        Words found = {};
        for (s32 x = 0; x < WIDTH; x += sizeof(Words)) {
            Words left, right;
            __builtin_memcpy(&left, a + x, sizeof left);
            __builtin_memcpy(&right, b + x, sizeof right);
            found |= left ^ right;
        }
        return !__builtin_reduce_or(found);
    }

    void compare() {
        for (s32 y = 0; y < ROWS; y++) alike[y] = y;
        for (s32 y = 0; y < rows; y++) {
            const u8 *a = first + y * WIDTH, *b = second + y * WIDTH;
            differ[y] = first != second && !same(a, b);
            if (y && differ[y] == differ[y - 1] && same(a, a - WIDTH) && (!differ[y] || same(b, b - WIDTH))) alike[y] = alike[y - 1];
        }
    }

    void pool(const Palette& palette) {
        for (s32 y = 0; y < rows; y++) {
            u8* made = brightness + y * WIDTH;
            if (alike[y] != y) __builtin_memcpy(made, made - WIDTH, WIDTH);
            else if (differ[y]) palette.brighter(first + y * WIDTH, second + y * WIDTH, made);
            else palette.seen(first + y * WIDTH, made);
        }
    }

    u16 high(u16 a, u16 b) const { return (u32)a * b >> 16; }

    // One target line; false if a mean was ambiguous, so that the next line may differ although its sources are the
    // same.
    bool shrink(const Resize& resize, s32 y, u8* made) const {
        const s32* lines = resize.line(y);
        const u8* at = brightness + lines[0] * WIDTH;
        u16 down[WIDTH + 64];
        for (s32 x = 0; x < WIDTH; x++) {
            u16 sum = 0;
            for (s32 j = 0; j < DOWN; j++) sum += (u16)lines[1 + j] * at[j * WIDTH + x];
            down[x] = sum;
        }
        Across::Number sums[PADDED] = {};
        Across().add(resize.columns(), down, sums);

        // As Resize::mean, but quotients may be too small or, in floating point, too large: the mean is ambiguous then.
        s32 unit = resize.unit, twice = 2 * unit, near = resize.near;
        bool any = false;
        if (NARROW) {
            s32 shift = 31 - __builtin_clz(unit);
            u16 magic = ((65536u << shift) - 1) / unit, shifter = 65536u >> shift, one = unit, half = unit / 2, sure = unit - 1, most = 0;
            for (s32 x = 0; x < PADDED; x++) {
                u16 n = sums[x] + half, whole = high(high(n, magic), shifter), rest = n - whole * one - 1;
                most = rest > most ? rest : most;
                made[x] = whole;
            }
            any = most >= sure;
        } else {
            float inverse = 1.0f / (float)twice;
            u32 sure = twice - 2 * near - 1;
            for (s32 x = 0; x < OUT_WIDTH; x++) {
                s32 n = 2 * sums[x] + unit, whole = (s32)((float)n * inverse);
                any |= (u32)(n - whole * twice - near - 1) >= sure;
                made[x] = whole;
            }
        }
        if (any)
            for (s32 x = 0; x < OUT_WIDTH; x++) {
                bool doubt;
                u8 mean = resize.mean(sums[x], doubt);
                made[x] = doubt ? resize.round_as_opencv(x, y, sums[x], mean) : mean;
            }
        return !any;
    }

    void resize_to(const Resize& resize, u8* to) const {
        u8 made[PADDED];
        bool sure = false;
        for (s32 y = 0; y < OUT_HEIGHT; y++) {
            if (HAS_LINEAR && resize.plan[PLAN_KIND] == LINEAR) {
                for (s32 x = 0; x < OUT_WIDTH; x++) made[x] = resize.interpolate(x, y);
            } else if (!sure || alike[resize.line(y)[0] + DOWN - 1] > resize.line(y - 1)[0]) {
                sure = shrink(resize, y, made);
            }
            for (s32 x = 0; x < OUT_WIDTH; x++) to[(y * OUT_WIDTH + x) * PIXEL_STEP] = made[x];
        }
    }
};

if (!begins) __builtin_memmove(stack, stack + PLANE, OLDER);
if (shown != SHOW_SAME) {
    Downsampler downsampler;
    downsampler.first = first;
    downsampler.second = second;
    downsampler.rows = rows;
    downsampler.compare();
    resize.source = downsampler.brightness;
    for (s32 channel = 0; channel < CHANNELS; channel++) {
        downsampler.pool(Palette(colours + 256 * channel));
        downsampler.resize_to(resize, newest + channel * CHANNEL_STEP);
    }
}
if (begins) {
    if (ZEROS)
        __builtin_memset(stack, 0, OLDER);
    else
        for (s32 plane = 0; plane < STACK - 1; plane++) __builtin_memcpy(stack + plane * PLANE, newest, PLANE);
}
