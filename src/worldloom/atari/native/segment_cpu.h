// How a CPU draws part of a line: 32 pixels at once, one object over the other.

typedef u8 Pixels __attribute__((ext_vector_type(32)));
typedef bool Bits __attribute__((ext_vector_type(32)));

void forget_ground() {}

// These pixels get another look.
void lay(Pixels& onto, u32 pixels, Pixels look) const {
    Bits chosen;
    __builtin_memcpy(&chosen, &pixels, sizeof chosen);
    onto ^= (onto ^ look) & -__builtin_convertvector(chosen, Pixels);
}

void segment(s32 line, s32 x0, s32 x1) {
    u8* row = picture + (line - first_line) * WIDTH;
    if (view.now[VBLANK]) {
        __builtin_memset(row + x0, 0, x1 - x0);
        return;
    }
    u32 shown = view.present;
    if (shown & view.stale) view.build(shown);
    u32 alone = !(shown & ~(1u << PLAYFIELD)), halves = view.now[CTRLPF] & 2, over = view.now[CTRLPF] & 4;
    for (s32 word = x0 >> 5; word <= (x1 - 1) >> 5; word++) {
        u32 field = shown >> PLAYFIELD & 1 ? view.mask[PLAYFIELD][word] : 0;
        Pixels made = view.now[COLUBK];
        lay(made, field, view.now[COLUPF]);
        u32 left = 0;  // of the playfield, where its halves have the colours of the players
        if (halves && (alone || !over)) {
            left = field & view.window(word, 0, WIDTH / 2);
            lay(made, field, view.now[COLUP1]);
            lay(made, left, view.now[COLUP0]);
        }
        if (!alone) {
            u32 player0 = (shown >> PLAYER0 & 1 ? view.mask[PLAYER0][word] : 0) | (shown >> OBJECT_MISSILE0 & 1 ? view.mask[OBJECT_MISSILE0][word] : 0);
            u32 player1 = (shown >> PLAYER1 & 1 ? view.mask[PLAYER1][word] : 0) | (shown >> OBJECT_MISSILE1 & 1 ? view.mask[OBJECT_MISSILE1][word] : 0);
            u32 ball = shown >> OBJECT_BALL & 1 ? view.mask[OBJECT_BALL][word] : 0, before = over ? field | ball : 0;
            lay(made, player1 & ~(before | left), view.now[COLUP1]);
            lay(made, player0 & ~before, view.now[COLUP0]);
            lay(made, ball & ~((halves ? field : 0) | (over ? 0 : player0 | player1)), view.now[COLUPF]);
        }
        u8* at = row + 32 * word;
        if (x0 > 32 * word || x1 < 32 * word + 32) {
            Pixels kept;
            __builtin_memcpy(&kept, at, sizeof kept);
            lay(made, ~view.window(word, x0, x1), kept);
        }
        __builtin_memcpy(at, &made, sizeof made);
    }
    if (view.now[COMB] && x0 < 8) __builtin_memset(row + x0, 0, (x1 < 8 ? x1 : 8) - x0);
}

// A whole line that shows the same as the one above.
void repeat(s32 line) {
    u8* row = picture + (line - first_line) * WIDTH;
    __builtin_memcpy(row, row - WIDTH, WIDTH);
}
