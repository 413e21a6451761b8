// How a GPU draws: the threads of a warp share the lines of a picture, each draws every 32nd. On its way from one of its lines to the next a thread takes the
// events in between. So that all draw at the same time they meet before each piece of a line.

struct alignas(16) Sixteen {  // pixels, one store
    u32 cell[4];
};

const u32* event;  // the next one
const u32* last;   // behind the events
s32 end;           // the clock that the picture goes to
s32 line;          // that has been reached
u32 brief;         // whether anything may hold for this line only

CUDA_CALLABLE s32 clock_of_next() const { return event < last ? (s32)(*event >> 13) : NEVER; }

// On to another line, as Display::end_line does it; masks may be out of date afterwards.
CUDA_CALLABLE void cross_to(s32 other) {
    if (line >= other) return;
    if (brief) {
        if (view.now[STARS]) for (s32 i = line; i < other; i++) view.wander();
        view.now[HIDE0] = view.now[HIDE1] = view.now[COMB] = 0;
        view.now[REFLECT] = view.now[CTRLPF] & 1;
        brief = view.now[STARS];
    }
    line = other;
}

// Take the events before a clock: the masks of all objects are out of date then.
CUDA_CALLABLE void pass_to(s32 clock) {
    const u32 *from = event, *const behind = last;
    s32 next_line = (line + 1) * LINE;
    u32 ends = 0;
    ROLLED for (; from < behind; from++) {
        const u32 what = *from, kind = what >> 8 & 31;
        const s32 at = what >> 13;
        if (at >= clock) break;
        if (at >= next_line) {
            brief |= ends;
            cross_to(at / LINE);
            next_line = (line + 1) * LINE;
            ends = 0;
        }
        view.now[kind] = (u8)what;
        ends |= kind >= HIDE0 || kind == CTRLPF;
    }
    brief |= ends;
    event = from;
}

// Bits 0 to 3 as bytes of ones.
CUDA_CALLABLE u32 four_bytes(u32 bits) const { return ((bits & 15) * 0x00204081u & 0x01010101u) * 255; }

CUDA_CALLABLE u32 four_of(u32 kind) const { return view.now[kind] * 0x01010101u; }

// The pixels from x0 up to, not including, x1 of a line.
CUDA_CALLABLE void segment(s32 x0, s32 x1) {
    u8* row = row_of(line);
    const u32 shown = view.now[VBLANK] ? 0 : view.present, back = view.now[VBLANK] ? 0 : four_of(COLUBK);
    const u32 halves = view.now[CTRLPF] & 2, over = view.now[CTRLPF] & 4, split = halves && (!over || !(shown & ~(1u << PLAYFIELD)));
    const u32 colour0 = four_of(COLUP0), colour1 = four_of(COLUP1), ball_colour = four_of(COLUPF), field_colour = split ? colour1 : ball_colour;
    view.build(shown);
    ROLLED for (s32 word = x0 >> 5; word <= (x1 - 1) >> 5; word++) {
        const u32 field = shown >> PLAYFIELD & 1 ? view.mask[PLAYFIELD][word] : 0;
        const u32 left = split ? field & view.window(word, 0, WIDTH / 2) : 0;  // has the colour of player 0
        u32 player0 = (shown >> PLAYER0 & 1 ? view.mask[PLAYER0][word] : 0) | (shown >> OBJECT_MISSILE0 & 1 ? view.mask[OBJECT_MISSILE0][word] : 0);
        u32 player1 = (shown >> PLAYER1 & 1 ? view.mask[PLAYER1][word] : 0) | (shown >> OBJECT_MISSILE1 & 1 ? view.mask[OBJECT_MISSILE1][word] : 0);
        u32 ball = shown >> OBJECT_BALL & 1 ? view.mask[OBJECT_BALL][word] : 0;
        const u32 before = over ? field | ball : 0;
        ball &= ~((halves ? field : 0) | (over ? 0 : player0 | player1));
        player1 &= ~(before | left);
        player0 &= ~before;
        const u32 sprites = player0 | player1 | ball, blank = view.now[COMB] && word == 0 ? 2 : 0;
        Sixteen made[2];
        UNROLLED for (u32 i = 0; i < 8; i++) {
            u32 cell = left >> 4 * i & 1 ? colour0 : field >> 4 * i & 1 ? field_colour : back;
            if (sprites >> 4 * i & 15) {
                cell ^= (cell ^ colour1) & four_bytes(player1 >> 4 * i);
                cell ^= (cell ^ colour0) & four_bytes(player0 >> 4 * i);
                cell ^= (cell ^ ball_colour) & four_bytes(ball >> 4 * i);
            }
            made[i / 4].cell[i % 4] = i < blank ? 0 : cell;
        }
        u8* to = row + 32 * word;
        const u32 window = view.window(word, x0, x1);
        if (window == 0xFFFFFFFFu) {
            ((Sixteen*)to)[0] = made[0];
            ((Sixteen*)to)[1] = made[1];
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

// Draw one line out of each `apart`, from `first` on, as far as `bottom`.
CUDA_CALLABLE void replay(const u32* log, s32 first, s32 bottom, s32 apart = 1) {
    const u32 warp = __activemask();
    begin(log);
    event = log + LOG_HEAD;
    last = event + log[0];
    end = log[2];
    line = (s32)log[1] / LINE;
    brief = 1;
    for (s32 mine = first; __any_sync(warp, mine < bottom && mine * LINE < end); mine += apart) {
        const s32 begun = mine * LINE, visible = begun + BLANK, over = begun + LINE < end ? begun + LINE : end;
        s32 clock = (s32)log[1] > begun ? (s32)log[1] : begun;
        pass_to(begun <= end ? begun : end + 1);
        cross_to(mine);
        view.begin();
        while (__any_sync(warp, mine < bottom && clock < over)) {
            if (mine >= bottom || clock >= over) continue;
            for (; clock_of_next() <= (clock > visible ? clock : visible); event++) {
                view.set(*event >> 8 & 31, *event & 255);
                brief = 1;
            }
            const s32 until = clock_of_next() < over ? clock_of_next() : over;
            const s32 x0 = clock > visible ? clock - visible : 0, x1 = until - visible < WIDTH ? until - visible : WIDTH;
            clock = until;
            if (x0 < x1) segment(x0, x1);
        }
    }
}

// The events behind the last line that was drawn.
CUDA_CALLABLE void take_rest() {
    pass_to(end + 1);
    cross_to(end / LINE);
}
