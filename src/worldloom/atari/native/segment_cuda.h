// How a GPU draws part of a line. It keeps background and playfield of the last line, since most lines are like the one before, and stores 16 pixels at once.

struct alignas(16) Sixteen {  // pixels, one store
    u32 cell[4];
};

Sixteen ground[WIDTH / 16];
u32 ground_stale;

CUDA_CALLABLE void forget_ground() { ground_stale = 1; }

CUDA_CALLABLE void fill(u8* row, u32 bits, s32 word, u8 colour) const {
    u8* at = row + 32 * word;
    while (bits) {
        s32 run = lowest(bits);
        bits >>= run;
        at += run;
        do {
            *at++ = colour;
            bits >>= 1;
        } while (bits & 1);
    }
}

CUDA_CALLABLE s32 lowest(u32 bits) const { return __ffs(bits) - 1; }

// Background and playfield of the cells of four pixels that hold the pixels from x0 to x1; `alone` where nothing else is shown.
CUDA_CALLABLE void build_ground(u32 alone, s32 x0, s32 x1) {
    u32 score = (view.now[CTRLPF] & (alone ? 2 : 6)) == 2;
    u32 back = view.now[COLUBK] * 0x01010101u;
    u32* cells = (u32*)ground;
    s32 cell = x0 >> 2, last = (x1 + 3) >> 2;
    while (cell < last) {
        u32 bits = view.mask[PLAYFIELD][cell >> 3] >> (4 * (cell & 7));
        u32 other = view.now[score ? COLUP0 + (cell >= 20) : COLUPF] * 0x01010101u ^ back;
        s32 end = (cell | 7) + 1;  // of the word, of the half, of the part
        if (cell < 20 && end > 20) end = 20;
        if (end > last) end = last;
        for (; cell < end; cell++, bits >>= 4) cells[cell] = back ^ (other & (0 - (bits & 1)));
    }
    ground_stale = x0 > 0 || x1 < WIDTH;
}

CUDA_CALLABLE void lay_ground(u8* row, s32 x0, s32 x1) const {
    const u8* from = (const u8*)ground;
    while (x0 < x1) {
        if (!(x0 & 15) && x0 + 16 <= x1) {
            *(Sixteen*)(row + x0) = ground[x0 >> 4];
            x0 += 16;
        } else if (!(x0 & 3) && x0 + 4 <= x1) {
            *(u32*)(row + x0) = *(const u32*)(from + x0);
            x0 += 4;
        } else {
            row[x0] = from[x0];
            x0++;
        }
    }
}

CUDA_CALLABLE void sprites(u8* row, u32 shown, s32 x0, s32 x1) const {
    u32 over = view.now[CTRLPF] & 4;  // playfield and ball before the players
    u32 score = (view.now[CTRLPF] & 6) == 2;  // the left half of the playfield belongs to player 0
    for (s32 word = x0 >> 5; word <= (x1 - 1) >> 5; word++) {
        u32 seen = view.window(word, x0, x1);
        u32 player0 = (shown >> PLAYER0 & 1 ? view.mask[PLAYER0][word] : 0) | (shown >> OBJECT_MISSILE0 & 1 ? view.mask[OBJECT_MISSILE0][word] : 0);
        u32 player1 = (shown >> PLAYER1 & 1 ? view.mask[PLAYER1][word] : 0) | (shown >> OBJECT_MISSILE1 & 1 ? view.mask[OBJECT_MISSILE1][word] : 0);
        u32 ball = shown >> OBJECT_BALL & 1 ? view.mask[OBJECT_BALL][word] : 0;
        if (over) {
            u32 free = seen & ~(ball | view.mask[PLAYFIELD][word]);
            player0 &= free;
            player1 &= free & ~player0;
        } else {
            player0 &= seen;
            player1 &= seen & ~(player0 | (score ? view.mask[PLAYFIELD][word] & view.window(word, 0, WIDTH / 2) : 0u));
            ball &= ~(player0 | player1);
        }
        ball &= seen & ~((view.now[CTRLPF] & 2) ? view.mask[PLAYFIELD][word] : 0u);
        if (ball) fill(row, ball, word, view.now[COLUPF]);
        if (player1) fill(row, player1, word, view.now[COLUP1]);
        if (player0) fill(row, player0, word, view.now[COLUP0]);
    }
}

CUDA_CALLABLE void segment(s32 line, s32 x0, s32 x1) {
    u8* row = picture + (line - first_line) * WIDTH;
    if (view.now[VBLANK]) {
        black(row, x0, x1);
        return;
    }
    u32 shown = view.present | 1u << PLAYFIELD;
    if (view.stale >> PLAYFIELD & 1) ground_stale = 1;
    view.build(shown);
    if (ground_stale || (view.now[CTRLPF] & 6) == 6) build_ground(shown == 1u << PLAYFIELD, x0, x1);
    lay_ground(row, x0, x1);
    if (shown & ~(1u << PLAYFIELD)) sprites(row, shown, x0, x1);
    if (view.now[COMB])
        black(row, x0, x1 < 8 ? x1 : 8);
}

CUDA_CALLABLE void black(u8* row, s32 x0, s32 x1) const {
    while (x0 < x1) {
        if (!(x0 & 15) && x0 + 16 <= x1) {
            *(Sixteen*)(row + x0) = Sixteen{{0, 0, 0, 0}};
            x0 += 16;
        } else {
            row[x0++] = 0;
        }
    }
}
