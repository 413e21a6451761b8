// Draws the picture of a frame from the log of its events.
//
// A log holds: how many events, the clock it begins at, the clock it ends at, the display at its beginning (7 words), which of the two
// pictures it belongs to, and the events: clock << 13 | kind << 8 | value.

static const s32 LOG_HEAD = 11;

struct Painter {
    Display view;
    u8* picture;
    s32 first_line;

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

    CUDA_CALLABLE s32 lowest(u32 bits) const {
#if defined(__CUDA_ARCH__)
        return __ffs(bits) - 1;
#else
        return __builtin_ctz(bits);
#endif
    }

    // Background and playfield: cells of four pixels, one store each.
    CUDA_CALLABLE void ground(u8* row, u32 shown, s32 x0, s32 x1) const {
        u32 score = (view.now[CTRLPF] & (shown == 1u << PLAYFIELD ? 2 : 6)) == 2;
        u32 back = view.now[COLUBK] * 0x01010101u;
        u32 left = view.now[score ? COLUP0 : COLUPF] * 0x01010101u, right = view.now[score ? COLUP1 : COLUPF] * 0x01010101u;
        for (s32 x = x0; x < x1;) {
            u32 on = view.mask[PLAYFIELD][x >> 5] >> (x & 31) & 1;
            u32 colour = on ? (x < 80 ? left : right) : back;
            if (!(x & 3) && x + 4 <= x1) {
                *(u32*)(row + x) = colour;
                x += 4;
            } else {
                row[x++] = colour;
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
            for (s32 x = x0; x < x1; x++) row[x] = 0;
            return;
        }
        u32 shown = view.shown() | 1u << PLAYFIELD;
        view.build(shown);
        ground(row, shown, x0, x1);
        if (shown & ~(1u << PLAYFIELD)) sprites(row, shown, x0, x1);
        if (view.now[COMB])
            for (s32 x = x0; x < x1 && x < 8; x++) row[x] = 0;
    }

    // Draw from one clock of the frame to another; rows outside of [top, bottom) are left alone.
    CUDA_CALLABLE void draw(s32 from, s32 to, s32 top, s32 bottom) {
        s32 line = from / LINE, x = from - line * LINE - BLANK;
        if (x < 0) x = 0;
        while (line * LINE + BLANK + x < to) {
            s32 end = to - line * LINE - BLANK;
            if (end > WIDTH) end = WIDTH;
            if (line >= top && line < bottom && x < end) segment(line, x, end);
            if (to < (line + 1) * LINE) return;
            view.end_line();
            line++;
            x = 0;
        }
    }

    // Draw the lines [top, bottom) of the log's frame.
    CUDA_CALLABLE void replay(const u32* log, s32 top, s32 bottom) {
        u32 count = log[0];
        s32 clock = log[1], end = log[2];
        for (s32 i = 0; i < KINDS / 4; i++) ((u32*)view.now)[i] = log[3 + i];
        view.stale = (1u << OBJECTS) - 1;
        s32 stop = bottom * LINE;
        if (end > stop) end = stop;
        for (u32 i = 0; i < count && clock < end; i++) {
            u32 event = log[LOG_HEAD + i], kind = event >> 8 & 31;
            s32 at = event >> 13;
            if (at > end) at = end;
            if (at > clock) {
                draw(clock, at, top, bottom);
                clock = at;
            }
            view.now[kind] = event;
            view.stale |= view.touched(kind);
        }
        if (clock < end) draw(clock, end, top, bottom);
    }
};
