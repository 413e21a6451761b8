// The collision registers. Latches are evaluated lazily and are correct whenever they are read: before a display event
// that could matter to a pair that has not collided yet, the scanlines so far are evaluated. Since the last evaluation
// the objects of such a pair have not changed, or were not both present, or were disjoint.

// The pairs, as bits of `collided`: the two bits of each register in the order of CXM0P to CXPPMM, high bit first.
enum Pair : u32 {
    M0_P1, M0_P0, M1_P0, M1_P1, P0_PF, P0_BL, P1_PF, P1_BL, M0_PF, M0_BL, M1_PF, M1_BL, BL_PF, NO_PAIR, P0_P1, M0_M1
};
enum : u32 {
    ALL_PAIRS = 0xFFFF & ~(1u << NO_PAIR),
    WITH_PLAYER0 = 1u << M0_P0 | 1u << M1_P0 | 1u << P0_PF | 1u << P0_BL | 1u << P0_P1,
    WITH_PLAYER1 = 1u << M0_P1 | 1u << M1_P1 | 1u << P1_PF | 1u << P1_BL | 1u << P0_P1,
    WITH_MISSILE0 = 1u << M0_P0 | 1u << M0_P1 | 1u << M0_PF | 1u << M0_BL | 1u << M0_M1,
    WITH_MISSILE1 = 1u << M1_P0 | 1u << M1_P1 | 1u << M1_PF | 1u << M1_BL | 1u << M0_M1,
    WITH_BALL = 1u << P0_BL | 1u << P1_BL | 1u << M0_BL | 1u << M1_BL | 1u << BL_PF,
    WITH_PLAYFIELD = 1u << P0_PF | 1u << P1_PF | 1u << M0_PF | 1u << M1_PF | 1u << BL_PF
};

// The pairs with any of these objects, as bits.
CUDA_CALLABLE u32 pairs_with(u32 objects) const {
#if defined(__CUDA_ARCH__)
    return (objects >> PLAYER0 & 1 ? WITH_PLAYER0 : 0) | (objects >> PLAYER1 & 1 ? WITH_PLAYER1 : 0) | (objects >> OBJECT_MISSILE0 & 1 ? WITH_MISSILE0 : 0) |
           (objects >> OBJECT_MISSILE1 & 1 ? WITH_MISSILE1 : 0) | (objects >> OBJECT_BALL & 1 ? WITH_BALL : 0) | (objects >> PLAYFIELD & 1 ? WITH_PLAYFIELD : 0);
#else
    return PAIRS_WITH.of[objects & (1u << OBJECTS) - 1];
#endif
}

// The pairs whose objects are both among these.
CUDA_CALLABLE u32 pairs_among(u32 objects) const { return ALL_PAIRS & ~pairs_with(~objects); }

// The objects of these pairs.
CUDA_CALLABLE u32 objects_of(u32 pairs) const {
    return (pairs & WITH_PLAYER0 ? 1u << PLAYER0 : 0) | (pairs & WITH_PLAYER1 ? 1u << PLAYER1 : 0) | (pairs & WITH_MISSILE0 ? 1u << OBJECT_MISSILE0 : 0) |
           (pairs & WITH_MISSILE1 ? 1u << OBJECT_MISSILE1 : 0) | (pairs & WITH_BALL ? 1u << OBJECT_BALL : 0) | (pairs & WITH_PLAYFIELD ? 1u << PLAYFIELD : 0);
}

// Whether an event of this kind moves a player or its copies.
CUDA_CALLABLE bool moves_player(u32 kind) const { return kind == NUSIZ0 || kind == NUSIZ1 || kind == X_PLAYER0 || kind == X_PLAYER1; }

// Those of these pairs that may collide before a player is moved.
CUDA_CALLABLE u32 may_collide(u32 pairs) { return pairs == 1u << P0_P1 && players_disjoint() ? 0 : pairs; }

// Whether an event of this kind changes an object of a pair that has not collided yet.
CUDA_CALLABLE bool may_change_collisions(u32 kind) {
    const u32 changed = kind == VBLANK ? (1u << OBJECTS) - 1 : TOUCHED[kind];
    const u32 pairs = pairs_with(changed) & pairs_among(view.present | changed) & ~collided;
    return moves_player(kind) ? pairs : may_collide(pairs);
}

// Before an event: evaluates collisions up to now if it matters, or records that they were not evaluated.
CUDA_CALLABLE void collide_before(u32 kind, s32 clock) {
    if (may_change_collisions(kind)) collide(clock);
    else if (clock > passed && (kind < COLUP0 || kind > COLUBK)) passed = clock;
    if (moves_player(kind)) invalidate_player_overlap();
}

CUDA_CALLABLE static u32 lowest_bit(u32 bits) {
#if defined(__CUDACC__)
    return __ffs(bits) - 1;
#else
    return __builtin_ctz(bits);
#endif
}

// Latches those of these pairs that collide in the pixels x0 to x1 of a scanline of `view`.
CUDA_CALLABLE void latch_collisions(u32 pairs, s32 x0, s32 x1) {
    view.build(objects_of(pairs));
    u32 window[5];
    UNROLLED for (s32 word = 0; word < 5; word++) window[word] = view.window(word, x0, x1);
    ROLLED for (; pairs; pairs &= pairs - 1) {
        const u32 pair = lowest_bit(pairs);
        const u32 *one = view.mask[PAIRED[pair] & 7], *other = view.mask[PAIRED[pair] >> 3];
        u32 both = 0;
        UNROLLED for (s32 word = 0; word < 5; word++) both |= one[word] & other[word] & window[word];
        if (both) collided |= 1u << pair;
    }
}

// Evaluates collisions up to clock `until` of the frame.
NOINLINE CUDA_CALLABLE void collide(s32 until) {
    s32 from = looked;
    // Of two writes in one cycle (a push onto a stack in the TIA) the second may take effect before the first.
    if (until < passed) until = passed;
    if (until > last_clock) until = last_clock;
    if (until <= from) return;
    looked = until;
    const u32 pairs = may_collide(pairs_among(view.present) & ~collided);
    if (view.now[VBLANK] || !pairs) {
        end_past_lines(until);
        return;
    }
    s32 line = from / LINE, x = from - line * LINE - BLANK, end_line = until / LINE, end_x = until - end_line * LINE - BLANK;
    if (x < 0) x = 0;
    if (end_x < 0) end_x = 0;
    s32 end = line < end_line ? WIDTH : end_x;
    end_past_lines(line < end_line ? from : until);
    while (true) {
        if (x < end) latch_collisions(pairs, x, end);
        if (line == end_line) return;
        x = 0;
        if (view.now[STARS] && line + 1 < end_line) {  // every scanline differs from the one before
            end_past_lines(++line * LINE);
        } else {  // all whole scanlines are equal
            if (line + 1 == end_line) end = end_x;
            line = end_line;
            end_past_lines(until);
        }
    }
}
