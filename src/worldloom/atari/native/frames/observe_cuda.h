// The threads of a block first shift the stack and write both new pictures through the palette into shared memory. Then
// each works on one target column, whose constants stay in registers.

enum : s32 { SHARERS = OUT_WIDTH < LANES ? OUT_WIDTH : LANES, GROUPS = LANES / SHARERS };

__shared__ __align__(16) u8 brightness[ROWS * WIDTH + 16];
__shared__ u8 table[CHANNELS * 256];

struct Block {
    // Palette lookup of the four colours of a word, or the maximum of two words.
    static CUDA_CALLABLE u32 seen(const u8* table, u32 a, u32 b, bool two) {
        u32 made[4];
        for (s32 n = 0; n < 4; n++) made[n] = table[__byte_perm(a, 0, 0x4440 + n)];
        if (two)
            for (s32 n = 0; n < 4; n++) made[n] = max(made[n], (u32)table[__byte_perm(b, 0, 0x4440 + n)]);
        return __byte_perm(__byte_perm(made[0], made[1], 0x0040), __byte_perm(made[2], made[3], 0x0040), 0x5410);
    }

    // Weighted sum of the source columns of a pixel in one line; `weights` are those of up to four columns, a byte
    // each.
    static CUDA_CALLABLE u32 across(const Resize& resize, s32 row, s32 x, s32 first, u32 weights) {
        if (ACROSS <= 4) {
            const u32* words = (const u32*)(resize.source + row * WIDTH) + (first >> 2);
            return __dp4a(__funnelshift_r(words[0], words[1], 8 * (first & 3)), weights, 0u);
        }
        u32 made = 0;
        for (s32 i = 0; i < ACROSS; i++) made += (u32)resize.columns()[(1 + i) * OUT_WIDTH + x] * resize.source[row * WIDTH + first + i];
        return made;
    }

    static CUDA_CALLABLE u32 sum(const Resize& resize, s32 x, s32 y, s32 first, u32 weights) {
        const s32* line = resize.line(y);
        int4 head = *(const int4*)line;
        u32 made = (u32)head.y * across(resize, head.x, x, first, weights);
        if (DOWN > 1) made += (u32)head.z * across(resize, head.x + 1, x, first, weights);
        if (DOWN > 2) made += (u32)head.w * across(resize, head.x + 2, x, first, weights);
        for (s32 j = 3; j < DOWN; j++) made += (u32)line[1 + j] * across(resize, head.x + j, x, first, weights);
        return made;
    }
};

// Prefetches all later reads at once: computation waits for memory.
if (shown != SHOW_SAME) {
    for (s32 at = lane * 128; at < rows * WIDTH; at += LANES * 128) {
        asm volatile("prefetch.L2 [%0];" ::"l"(first + at));
        asm volatile("prefetch.L2 [%0];" ::"l"(second + at));
    }
}
__syncthreads();
for (s32 i = lane; i < CHANNELS * 256; i += LANES) table[i] = colours[i];

// Each thread moves the same bytes of all planes, so that none is read after it was written.
enum : s32 { UNITS = PLANE / (s32)sizeof(Unit) };
#pragma unroll 1
for (s32 i = lane; i < UNITS; i += LANES) {
    Unit* at = (Unit*)stack + i;
    if (!begins) {
        Unit older[STACK];
        for (s32 plane = 1; plane < STACK; plane++) older[plane] = at[plane * UNITS];
        for (s32 plane = 1; plane < STACK; plane++) at[(plane - 1) * UNITS] = older[plane];
    } else if (ZEROS || shown == SHOW_SAME) {
        Unit older = ZEROS ? Unit() : at[(STACK - 1) * UNITS];
        for (s32 plane = 0; plane < STACK - 1; plane++) at[plane * UNITS] = older;
    }
}
if (shown == SHOW_SAME) return;

resize.source = brightness;
for (s32 channel = 0; channel < CHANNELS; channel++) {
    const u8* known = table + 256 * channel;
    __syncthreads();
#pragma unroll 2
    for (s32 i = lane; i < rows * (WIDTH / 16); i += LANES) {
        uint4 a = ((const uint4*)first)[i], b = ((const uint4*)second)[i];
        bool two = a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w;
        ((uint4*)brightness)[i] =
            make_uint4(Block::seen(known, a.x, b.x, two), Block::seen(known, a.y, b.y, two), Block::seen(known, a.z, b.z, two), Block::seen(known, a.w, b.w, two));
    }
    __syncthreads();
    for (s32 x = lane % SHARERS; x < OUT_WIDTH && lane < SHARERS * GROUPS; x += SHARERS) {
        const s32* column = resize.columns() + x;
        s32 from = column[0];
        u32 weights = 0;
        for (s32 i = 0; i < ACROSS && i < 4; i++) weights |= (u32)column[(1 + i) * OUT_WIDTH] << 8 * i;
        for (s32 y = lane / SHARERS; y < OUT_HEIGHT; y += GROUPS) {
            u8 made;
            if (HAS_LINEAR && resize.plan[PLAN_KIND] == LINEAR) {
                made = resize.interpolate(x, y);
            } else {
                bool doubt;
                u32 sum = Block::sum(resize, x, y, from, weights);
                made = resize.mean(sum, doubt);
                if (doubt) made = resize.round_as_opencv(x, y, sum, made);
            }
            u8* at = newest + channel * CHANNEL_STEP + (y * OUT_WIDTH + x) * PIXEL_STEP;
            *at = made;
            if (begins && !ZEROS)
                for (s32 plane = 1; plane < STACK; plane++) at[-plane * PLANE] = made;
        }
    }
}
