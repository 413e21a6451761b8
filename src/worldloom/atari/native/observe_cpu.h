// Rows of a picture repeat, and frames do: whatever was worked out already is not worked out again.
struct Eye {
    const u8 *first, *second;
    s32 rows;
    u8 brightness[ROWS * WIDTH];
    u16 alike[ROWS];  // the first of the rows above that are all the same as this one
    bool differ[ROWS];  // whether the frames show the row in different ways

    bool same(const u8* a, const u8* b) const {
        u8 found = 0;
        for (s32 x = 0; x < WIDTH; x++) found |= a[x] ^ b[x];
        return !found;
    }

    void compare() {
        for (s32 y = 0; y < ROWS; y++) alike[y] = y;
        for (s32 y = 0; y < rows; y++) {
            const u8 *a = first + y * WIDTH, *b = second + y * WIDTH;
            differ[y] = first != second && !same(a, b);
            if (y && differ[y] == differ[y - 1] && same(a, a - WIDTH) && (!differ[y] || same(b, b - WIDTH))) alike[y] = alike[y - 1];
        }
    }

    void pool(const u8* table) {
        for (s32 y = 0; y < rows; y++) {
            const u8 *a = first + y * WIDTH, *b = second + y * WIDTH;
            u8* made = brightness + y * WIDTH;
            if (alike[y] != y) {
                for (s32 x = 0; x < WIDTH; x++) made[x] = made[x - WIDTH];
            } else if (differ[y]) {
#pragma clang loop vectorize(disable) unroll_count(8)
                for (s32 x = 0; x < WIDTH; x++) made[x] = table[a[x]] > table[b[x]] ? table[a[x]] : table[b[x]];
            } else {
#pragma clang loop vectorize(disable) unroll_count(8)
                for (s32 x = 0; x < WIDTH; x++) made[x] = table[a[x]];
            }
        }
    }

    // One line of the target; false where a mean was in doubt, so that the next line may differ though all of its sources are the same.
    bool shrink(const Resize& resize, s32 y, u8* made) const {
        const s32* lines = resize.line(y);
        const u8* at = brightness + lines[0] * WIDTH;
        u16 down[WIDTH + 64];
        for (s32 x = 0; x < WIDTH; x++) down[x] = 0;
        for (s32 j = 0; j < DOWN; j++)
            for (s32 x = 0; x < WIDTH; x++) down[x] += (u16)lines[1 + j] * at[j * WIDTH + x];
        s32 sums[OUT_WIDTH + 16];
        Across().add(resize.columns(), down, sums);

        // As Resize::mean, but with a quotient of real numbers: where that is wrong, the mean is in doubt.
        s32 unit = resize.unit, twice = 2 * unit, near = resize.near;
        float inverse = 1.0f / (float)twice;
        u32 any = 0, sure = twice - 2 * near - 1;
        for (s32 x = 0; x < OUT_WIDTH; x++) {
            s32 n = 2 * sums[x] + unit, whole = (s32)((float)n * inverse);
            any |= (u32)(n - whole * twice - near - 1) >= sure;
            made[x] = whole;
        }
        if (any)
            for (s32 x = 0; x < OUT_WIDTH; x++) {
                bool doubt;
                u8 mean = resize.mean(sums[x], doubt);
                made[x] = doubt ? resize.settled(x, y, sums[x], mean) : mean;
            }
        return !any;
    }

    void look(const Resize& resize, u8* to) const {
        u8 made[OUT_WIDTH];
        bool sure = false;
        for (s32 y = 0; y < OUT_HEIGHT; y++) {
            if (HAS_LINEAR && resize.plan[PLAN_KIND] == LINEAR) {
                for (s32 x = 0; x < OUT_WIDTH; x++) made[x] = resize.between(x, y);
            } else if (!sure || alike[resize.line(y)[0] + DOWN - 1] > resize.line(y - 1)[0]) {
                sure = shrink(resize, y, made);
            }
            for (s32 x = 0; x < OUT_WIDTH; x++) to[(y * OUT_WIDTH + x) * PIXEL_STEP] = made[x];
        }
    }
};

if (!begins) __builtin_memmove(stack, stack + PLANE, OLDER);
if (shown != SHOW_SAME) {
    Eye eye;
    eye.first = first;
    eye.second = second;
    eye.rows = rows;
    eye.compare();
    resize.source = eye.brightness;
    for (s32 channel = 0; channel < CHANNELS; channel++) {
        eye.pool(colours + 256 * channel);
        eye.look(resize, newest + channel * CHANNEL_STEP);
    }
}
if (begins) {
    if (ZEROS)
        __builtin_memset(stack, 0, OLDER);
    else
        for (s32 plane = 0; plane < STACK - 1; plane++) __builtin_memcpy(stack + plane * PLANE, newest, PLANE);
}
