// Drawing on a CPU: line by line, 32 pixels at once, from the back object to the front one.

typedef u8 Pixels __attribute__((ext_vector_type(32)));
typedef bool Bits __attribute__((ext_vector_type(32)));

// Replaces the selected pixels.
void blend(Pixels& onto, u32 pixels, Pixels look) const {
    Bits chosen;
    __builtin_memcpy(&chosen, &pixels, sizeof chosen);
    onto ^= (onto ^ look) & -__builtin_convertvector(chosen, Pixels);
}

void segment(s32 line, s32 x0, s32 x1) {
    u8* row = row_of(line);
    if (view.now[VBLANK]) {
        __builtin_memset(row + x0, 0, x1 - x0);
        return;
    }
    u32 shown = view.present;
    if (shown & view.stale) view.build(shown);
    const bool alone = !(shown & ~(1u << PLAYFIELD)), split = is_split(shown);
    for (s32 word = x0 >> 5; word <= (x1 - 1) >> 5; word++) {
        Layers in_front = {mask_of(shown, PLAYFIELD, word), 0, 0, 0, 0};
        if (!alone) in_front = layers(shown, split, word);
        else if (split) in_front.left = in_front.field & view.window(word, 0, WIDTH / 2);
        Pixels made = view.now[COLUBK];
        blend(made, in_front.field, view.now[split ? COLUP1 : COLUPF]);
        if (split) blend(made, in_front.left, view.now[COLUP0]);
        if (!alone) {
            blend(made, in_front.player1, view.now[COLUP1]);
            blend(made, in_front.player0, view.now[COLUP0]);
            blend(made, in_front.ball, view.now[COLUPF]);
        }
        u8* at = row + 32 * word;
        if (x0 > 32 * word || x1 < 32 * word + 32) {
            Pixels kept;
            __builtin_memcpy(&kept, at, sizeof kept);
            blend(made, ~view.window(word, x0, x1), kept);
        }
        __builtin_memcpy(at, &made, sizeof made);
    }
    if (view.now[COMB] && x0 < 8) __builtin_memset(row + x0, 0, (x1 < 8 ? x1 : 8) - x0);
}

// A whole line that equals the one above.
void repeat(s32 line) {
    u8* row = row_of(line);
    __builtin_memcpy(row, row - WIDTH, WIDTH);
}

// Draws from one clock of the frame to another.
void draw(s32 from, s32 to, s32 top) {
    s32 alike = -2;  // last line that was drawn whole; later ones are equal to it
    s32 line = from / LINE, x = from - line * LINE - BLANK;
    if (x < 0) x = 0;
    while (line * LINE + BLANK + x < to) {
        s32 end = to - line * LINE - BLANK;
        if (end > WIDTH) end = WIDTH;
        if (line >= top && x < end) {
            if (x == 0 && end == WIDTH && alike == line - 1 && line > top) repeat(line);
            else segment(line, x, end);
            if (x == 0 && end == WIDTH && !view.ends_with_line()) alike = line;
        }
        if (to < (line + 1) * LINE) return;
        view.end_line();
        line++;
        x = 0;
    }
}

// Draws the lines [top, bottom).
void replay(const u32* log, s32 top, s32 bottom, s32 /* apart */ = 1) {
    const u32 count = log[0];
    s32 clock = log[1], end = log[2], stop = bottom * LINE;
    begin(log);
    if (end > stop) end = stop;
    for (u32 i = 0; i < count; i++) {
        const u32 event = log[LOG_HEAD + i];
        const s32 at = event >> 13;
        if (at > end) break;
        if (at > clock) {
            draw(clock, at, top);
            clock = at;
        }
        view.set(event >> 8 & 31, event & 255);
    }
    if (clock < end) draw(clock, end, top);
}
