// Drawing on a GPU: the threads of a warp share the lines of a picture, each draws every 32nd. Between two of its lines
// a thread applies the events of the skipped lines. The threads synchronize before each segment of a line, so that all
// draw at the same time.

struct alignas(16) Pixels16 {  // written by one store
    u32 cell[4];
};

const u32* events;
u32 next, count;  // next event, and number of events
s32 end;          // last clock of the picture
s32 line;         // current line

enum : u32 { NO_EVENT = 0xFFFFFFFFu };  // sorts after all others

CUDA_CALLABLE s32 clock_of_next() const { return (s32)((next < count ? events[next] : NO_EVENT) >> 13); }

// Applies the events before a clock and advances to a line. The display is kept in registers, w0 to w6, four kinds in
// each: stores to memory would cost more than everything else. Afterwards the masks of all objects are out of date.
CUDA_CALLABLE void advance_to(s32 clock, s32 other) {
    u32* const now = (u32*)view.now;
    u32 w0 = now[0], w1 = now[1], w2 = now[2], w3 = now[3], w4 = now[4], w5 = now[5], w6 = now[6];
    const u32 *const all = events, number = count;
    u32 place = next;
    s32 reached = line, next_line = (reached + 1) * LINE;
    bool more = true;
    while (more) {
        const u32 what = place < number ? all[place] : NO_EVENT;
        more = (s32)(what >> 13) < clock;
        const s32 to = more ? (s32)(what >> 13) : other * LINE;
        if (to >= next_line) {  // as Display::end_line
            const s32 lines = to / LINE - reached;
            reached += lines;
            next_line = (reached + 1) * LINE;
            if (w6 >> 8 & 255) {  // STARS
                now[4] = w4, now[6] = w6;
                ROLLED for (s32 i = 0; i < lines; i++) view.advance_starfield();
                w4 = now[4], w6 = now[6];
            }
            w5 &= 0xFF;                              // HIDE0, HIDE1, COMB
            w6 = (w6 & ~0xFFu) | (w1 >> 8 & 1);  // REFLECT, CTRLPF
        }
        const u32 word = more ? what >> 10 & 7 : 7, byte = what >> 8 & 3;
        const u32 selector = 0x3210 + (4 - byte << 4 * byte);  // inserts the value of the event into that byte
        w0 = word == 0 ? __byte_perm(w0, what, selector) : w0;
        w1 = word == 1 ? __byte_perm(w1, what, selector) : w1;
        w2 = word == 2 ? __byte_perm(w2, what, selector) : w2;
        w3 = word == 3 ? __byte_perm(w3, what, selector) : w3;
        w4 = word == 4 ? __byte_perm(w4, what, selector) : w4;
        w5 = word == 5 ? __byte_perm(w5, what, selector) : w5;
        w6 = word == 6 ? __byte_perm(w6, what, selector) : w6;
        place += more;
    }
    now[0] = w0, now[1] = w1, now[2] = w2, now[3] = w3, now[4] = w4, now[5] = w5, now[6] = w6;
    next = place;
    line = reached;
    view.begin();
}

// Bits 0 to 3 as bytes of ones.
CUDA_CALLABLE u32 four_bytes(u32 bits) const { return ((bits & 15) * 0x00204081u & 0x01010101u) * 255; }

CUDA_CALLABLE u32 four_of(u32 kind) const { return view.now[kind] * 0x01010101u; }

// The pixels [x0, x1) of a line.
CUDA_CALLABLE void segment(s32 x0, s32 x1) {
    u8* row = row_of(line);
    const u32 shown = view.now[VBLANK] ? 0 : view.present, back = view.now[VBLANK] ? 0 : four_of(COLUBK);
    const bool split = is_split(shown);
    const u32 colour0 = four_of(COLUP0), colour1 = four_of(COLUP1), ball_colour = four_of(COLUPF), field_colour = split ? colour1 : ball_colour;
    view.build(shown);
    ROLLED for (s32 word = x0 >> 5; word <= (x1 - 1) >> 5; word++) {
        const Layers in_front = layers(shown, split, word);
        const u32 sprites = in_front.player0 | in_front.player1 | in_front.ball, blank = view.now[COMB] && word == 0 ? 2 : 0;
        Pixels16 made[2];
        UNROLLED for (u32 i = 0; i < 8; i++) {
            u32 cell = in_front.left >> 4 * i & 1 ? colour0 : in_front.field >> 4 * i & 1 ? field_colour : back;
            if (sprites >> 4 * i & 15) {
                cell ^= (cell ^ colour1) & four_bytes(in_front.player1 >> 4 * i);
                cell ^= (cell ^ colour0) & four_bytes(in_front.player0 >> 4 * i);
                cell ^= (cell ^ ball_colour) & four_bytes(in_front.ball >> 4 * i);
            }
            made[i / 4].cell[i % 4] = i < blank ? 0 : cell;
        }
        u8* to = row + 32 * word;
        const u32 window = view.window(word, x0, x1);
        if (window == 0xFFFFFFFFu) {
            ((Pixels16*)to)[0] = made[0];
            ((Pixels16*)to)[1] = made[1];
            continue;
        }
        UNROLLED for (u32 i = 0; i < 8; i++) {
            const u32 cell = made[i / 4].cell[i % 4], inside = window >> 4 * i & 15;
            if (inside == 15) ((u32*)to)[i] = cell;
            else
                for (u32 pixel = 0; pixel < 4; pixel++)
                    if (inside >> pixel & 1) to[4 * i + pixel] = (u8)(cell >> 8 * pixel);
        }
    }
}

// Draws every `stride`-th line from `first` up to `bottom`.
CUDA_CALLABLE void replay(const u32* log, s32 first, s32 bottom, s32 stride = 1) {
    const u32 warp = __activemask();
    begin(log);
    events = log + LOG_HEAD;
    next = 0;
    count = log[0];
    end = log[2];
    line = (s32)log[1] / LINE;
    for (s32 mine = first; __any_sync(warp, mine < bottom && mine * LINE < end); mine += stride) {
        const bool draws = mine < bottom && mine * LINE < end;  // or only synchronizes with the others
        const s32 begun = mine * LINE, visible = begun + BLANK, over = begun + LINE < end ? begun + LINE : end;
        s32 clock = (s32)log[1] > begun ? (s32)log[1] : begun;
        if (draws) advance_to(begun, mine);
        while (__any_sync(warp, draws && clock < over)) {
            if (!draws || clock >= over) continue;
            for (; clock_of_next() <= (clock > visible ? clock : visible); next++) view.set(events[next] >> 8 & 31, events[next] & 255);
            const s32 until = clock_of_next() < over ? clock_of_next() : over;
            const s32 x0 = clock > visible ? clock - visible : 0, x1 = until - visible < WIDTH ? until - visible : WIDTH;
            clock = until;
            if (x0 < x1) segment(x0, x1);
        }
    }
}

// Applies the events after the last drawn line.
CUDA_CALLABLE void apply_remaining_events() { advance_to(end + 1, end / LINE); }
