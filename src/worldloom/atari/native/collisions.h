// Which objects have met. Looked at when something changes that matters to them, so that a latch is right whenever it is read.

// The pairs, as bits of `collided`: both registers' halves in the order of CXM0P to CXPPMM, the high bit of a register first.
enum Pair : u32 {
    M0_P1, M0_P0, M1_P0, M1_P1, P0_PF, P0_BL, P1_PF, P1_BL, M0_PF, M0_BL, M1_PF, M1_BL, BL_PF, NO_PAIR, P0_P1, M0_M1
};

CUDA_CALLABLE u32 pair_of(u32 a, u32 b) const {  // a < b
    switch (a * 8 + b) {
        case PLAYER0 * 8 + PLAYER1: return 1u << P0_P1;
        case PLAYER0 * 8 + OBJECT_MISSILE0: return 1u << M0_P0;
        case PLAYER0 * 8 + OBJECT_MISSILE1: return 1u << M1_P0;
        case PLAYER0 * 8 + OBJECT_BALL: return 1u << P0_BL;
        case PLAYER0 * 8 + PLAYFIELD: return 1u << P0_PF;
        case PLAYER1 * 8 + OBJECT_MISSILE0: return 1u << M0_P1;
        case PLAYER1 * 8 + OBJECT_MISSILE1: return 1u << M1_P1;
        case PLAYER1 * 8 + OBJECT_BALL: return 1u << P1_BL;
        case PLAYER1 * 8 + PLAYFIELD: return 1u << P1_PF;
        case OBJECT_MISSILE0 * 8 + OBJECT_MISSILE1: return 1u << M0_M1;
        case OBJECT_MISSILE0 * 8 + OBJECT_BALL: return 1u << M0_BL;
        case OBJECT_MISSILE0 * 8 + PLAYFIELD: return 1u << M0_PF;
        case OBJECT_MISSILE1 * 8 + OBJECT_BALL: return 1u << M1_BL;
        case OBJECT_MISSILE1 * 8 + PLAYFIELD: return 1u << M1_PF;
        default: return 1u << BL_PF;
    }
}

// Whether any pixel of the line belongs to several objects: a CPU sees that sooner than where it is.
CUDA_CALLABLE bool crowded(u32 shown) const {
    u32 once[5] = {0, 0, 0, 0, 0}, twice[5] = {0, 0, 0, 0, 0};
    for (u32 object = 0; object < OBJECTS; object++) {
        if (!(shown >> object & 1)) continue;
        for (s32 word = 0; word < 5; word++) {
            twice[word] |= once[word] & view.mask[object][word];
            once[word] |= view.mask[object][word];
        }
    }
    return twice[0] | twice[1] | twice[2] | twice[3] | twice[4];
}

// The pixels from x0 to x1 of a line that shows `view`.
CUDA_CALLABLE NOINLINE void meet(u32 shown, s32 x0, s32 x1) {
    view.build(shown);
#if !defined(__CUDA_ARCH__)
    if (!crowded(shown)) return;
#endif
    ROLLED for (s32 word = x0 >> 5; word <= (x1 - 1) >> 5; word++) {
        u32 once = 0, twice = 0;
        for (u32 object = 0; object < OBJECTS; object++) {
            u32 bits = shown >> object & 1 ? view.mask[object][word] : 0;
            twice |= once & bits;
            once |= bits;
        }
        twice &= view.window(word, x0, x1);
        if (!twice) continue;
        ROLLED for (u32 a = 0; a < PLAYFIELD; a++) {
            u32 bits = shown >> a & 1 ? view.mask[a][word] & twice : 0;
            if (!bits) continue;
            ROLLED for (u32 b = a + 1; b < OBJECTS; b++)
                if ((shown >> b & 1) && (bits & view.mask[b][word])) collided |= pair_of(a, b);
        }
    }
}

// Look at everything that has been shown up to clock `until` of the frame.
NOINLINE CUDA_CALLABLE void collide(s32 until) {
    s32 from = looked;
    if (until > last_clock) until = last_clock;
    if (until <= from) return;
    looked = until;
    u32 shown = view.present;
    if (view.now[VBLANK] || !(shown & (shown - 1)) || collided == 0xDFFF) {
        settle(until);
        return;
    }
    s32 line = from / LINE, x = from - line * LINE - BLANK, end_line = until / LINE, end_x = until - end_line * LINE - BLANK;
    if (x < 0) x = 0;
    if (end_x < 0) end_x = 0;
    if (line == end_line) {
        settle(until);
        if (x < end_x) meet(shown, x, end_x);
        return;
    }
    settle(from);
    if (x < WIDTH) meet(shown, x, WIDTH);
    if (view.now[STARS]) {  // no line is like the one before
        while (++line < end_line) {
            settle(line * LINE);
            meet(shown, 0, WIDTH);
        }
        settle(until);
        if (end_x > 0) meet(shown, 0, end_x);
        return;
    }
    settle(until);
    if (end_line > line + 1) meet(shown, 0, WIDTH);
    else if (end_x > 0) meet(shown, 0, end_x);
}
