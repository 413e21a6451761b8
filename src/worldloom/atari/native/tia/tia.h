// The TIA: its registers, and the display events that writes to them cause.
//
// A write takes effect some colour clocks after the instruction's last cycle; the delay depends on the register.

// The clock of the frame at a CPU cycle.
CUDA_CALLABLE s32 clock_of(s32 cycle) const { return 3 * (cycle - line_phase); }

// Ends the scanlines before a clock. Invisible scanlines do not count: their state holds for the next visible one.
CUDA_CALLABLE void end_past_lines(s32 clock) {
    if (clock > last_clock) clock = last_clock;
    if (clock >= (marked_line + 1) * LINE) end_lines(clock / LINE);
}

NOINLINE CUDA_CALLABLE void end_lines(s32 line) {
    if (log && !has_log_header) write_log_header(first_clock);  // before the state of the first scanline is lost
    if (view.now[STARS]) while (++marked_line < line) view.end_line();
    marked_line = line;
    view.end_line();
}

NOINLINE_ON_CPU CUDA_CALLABLE void write_log_header(s32 clock) {
    log[1] = clock;
    log[10] = buffer;
    if (clock <= first_clock) view.now[COMB] = comb_due & 1;
    for (s32 i = 0; i < KINDS / 4; i++) log[3 + i] = ((const u32*)view.now)[i];
    logged = 0;
    has_log_header = 1;
}

// Draws the log into the picture of this frame.
CUDA_CALLABLE void draw_log(Rasterizer& rasterizer) const {
    rasterizer.picture = pictures + buffer * picture_bytes;
    rasterizer.first_line = first_clock / LINE;
    rasterizer.replay(log, first_clock / LINE, last_clock / LINE);
}

// Draws a frame that is over and empties its log.
CUDA_CALLABLE NOINLINE void draw_frame() {
    Rasterizer rasterizer;
    draw_log(rasterizer);
    log[0] = NOTHING_LOGGED;
}

// Draws a full log at once and restarts it.
CUDA_CALLABLE NOINLINE void spill_log() {
    s32 clock = log[1];  // of its latest event, which need not be the last one
    for (u32 i = 0; i < logged; i++) {
        s32 at = log[LOG_HEAD + i] >> 13;
        if (at > clock) clock = at;
    }
    end_log(clock);
    Rasterizer rasterizer;
    draw_log(rasterizer);
#if defined(__CUDA_ARCH__)
    rasterizer.apply_remaining_events();
#endif
    log[1] = clock;
    for (s32 i = 0; i < KINDS / 4; i++) log[3 + i] = ((const u32*)rasterizer.view.now)[i];
    logged = 0;
}

CUDA_CALLABLE void end_log(s32 clock) {
    if (!has_log_header) write_log_header(clock < first_clock ? clock : first_clock);
    log[0] = logged;
    log[2] = clock < last_clock ? clock : last_clock;
}

CUDA_CALLABLE void log_event(u32 kind, u32 value, s32 clock) {
    if (clock <= first_clock) return;
    if (!has_log_header) write_log_header(first_clock);
    if (clock >= last_clock) return;
    if (logged == log_room) spill_log();
    log[LOG_HEAD + logged++] = (u32)clock << 13 | kind << 8 | value;
}

CUDA_CALLABLE u32 reversed(u32 byte) const {
    byte = (byte & 0x55) << 1 | (byte >> 1 & 0x55);
    byte = (byte & 0x33) << 2 | (byte >> 2 & 0x33);
    return (byte & 0x0F) << 4 | byte >> 4;
}

INLINE_ON_CPU CUDA_CALLABLE void show_player(u32 which, s32 clock) {
    u32 shape = delayed[which] ? grp_old[which] : grp[which];
    show(SHAPE0 + which, reflected[which] ? shape : reversed(shape), clock);
}

CUDA_CALLABLE void show_missile(u32 which, s32 clock) { show(MISSILE0 + which, enam[which] && !resmp[which], clock); }

CUDA_CALLABLE void show_ball(s32 clock) { show(BALL, delayed_ball ? enabl_old : enabl, clock); }

// Hides the first copy of a player for the rest of the scanline.
CUDA_CALLABLE void hide(u32 which, u32 hidden, s32 clock) {
    if (!hidden && !view.now[HIDE0 + which]) return;
    catch_up(clock);
    show(HIDE0 + which, hidden, clock);
}

// Phase of a player's drawing when its position is reset to `to`: 1 within a copy, -1 shortly before one, 0 otherwise.
CUDA_CALLABLE s32 draw_phase_at(u32 which, s32 to) const {
    u32 mode = view.now[NUSIZ0 + which] & 7;
    s32 from = view.now[X_PLAYER0 + which], width = mode == 5 ? 16 : mode == 7 ? 32 : 8, found = 0;
    ROLLED for (s32 copy = 0; copy < 3; copy++) {
        s32 offset = copy == 0 ? 0 : copy == 1 ? (mode == 1 || mode == 3 ? 16 : mode == 2 || mode == 6 ? 32 : mode == 4 ? 64 : -1)
                                               : (mode == 3 ? 32 : mode == 6 ? 64 : -1);
        if (offset < 0) break;
        s32 behind = to - from - offset;
        while (behind < 0) behind += WIDTH;
        if (behind < 4) found = -1;
        else if (behind < 4 + width) found = 1;
    }
    return found;
}

NOINLINE CUDA_CALLABLE void reset_player(u32 which, s32 clock) {
    s32 at = clock % LINE, to = at < BLANK ? 3 : (at - BLANK + 5) % WIDTH, when = draw_phase_at(which, to);
    if (when == 1) clock += 11;  // the current copy is drawn to its end
    if (clock > seen) seen = clock;
    u32 in_time = clock % LINE == 0 && clock > first_clock && clock < last_clock;  // the first clock of a scanline
    hide(which, when != -1 && !in_time, clock);
    show(X_PLAYER0 + which, to, clock);
}

CUDA_CALLABLE void place_missile(u32 which, s32 to, s32 clock) {
    if (view.now[STARS]) catch_up(clock);  // the starfield moves it at every scanline
    show(X_MISSILE0 + which, to, clock);
}

// The new position of a missile or the ball. If it is reset while HMOVE is active, it gets the remaining extra clocks
// afterwards; the cases that games rely on are covered.
CUDA_CALLABLE s32 reset_place(u32 kind, s32 clock) const {
    s32 at = clock % LINE, moved = clock - hmove_clock;
    if (kind == X_BALL) {
        if (moved == 54 && (at == 60 || at == 69)) return 10;
        if (moved == 9 && at == 18) return 3;
        if (moved == 18 && at == 27) return 5;
        if (moved == 21 && at == 30) return 6;
    }
    if (kind == X_MISSILE0 && moved == 60 && at == 69) return 8;
    if (kind == X_MISSILE1 && moved == 9 && at == 18) return 3;
    return at < BLANK ? 2 : (at - BLANK + 4) % WIDTH;
}

// HMOVE gives every object up to 15 extra clocks, one per four colour clocks, during the horizontal blank.
CUDA_CALLABLE NOINLINE void move(s32 clock) {
    s32 cycle = clock % LINE / 3;
    hmove_clock = clock;
    if (view.now[STARS]) {
        catch_up(clock);
        show(STARS, 0, clock);
        apply_commands();  // the missile is now where the last scanline left it
    }
    u32 early = cycle <= 20 || cycle == 75;  // the blank is eight pixels longer, which moves everything to the right
    s32 most = early && cycle >= 3 && cycle <= 20 ? 15 - ((3 * cycle - 7) >> 2) : 15;
    s32 lost = early ? 0 : (219 - 3 * cycle + 3) >> 2;  // extra clocks that fall before the next horizontal blank
    if (lost < 0) lost = 0;
    ROLLED for (u32 i = 0; i < 5; i++) {
        s32 extra = motion[i] ^ 8;
        if (extra > most) extra = most;
        s32 by = early ? 8 - extra : extra > lost ? lost - extra : 0;
        if (i < 2) hide(i, 0, clock);
        if (!by) continue;
        s32 to = view.now[X_PLAYER0 + i] + by;
        show(X_PLAYER0 + i, to < 0 ? to + WIDTH : to >= WIDTH ? to - WIDTH : to, clock);
    }
    if (early && combs) comb(clock + 3);
}

CUDA_CALLABLE void end_frame() {
    stop = 1;
    partial = 0;
}

// VSYNC: its end ends the frame if it lasted for a scanline.
CUDA_CALLABLE void sync_vertically(u32 value, s32 clock) {
    if (value & 2) {
        vsync_end = clock + LINE;
    } else if (clock >= vsync_end) {
        vsync_end = NEVER;
        end_frame();
    }
}

// VBLANK: its highest bit discharges the paddles' capacitors.
CUDA_CALLABLE void load_paddles(u32 value, s32 cycle) {
    if (vblank & 0x80 && !(value & 0x80)) dump_cycle = cycle;
    vblank = (u8)value;
}

// WSYNC: the CPU waits for the next scanline.
CUDA_CALLABLE s32 end_of_line(s32 cycle) const {
    s32 in_line = (cycle - line_phase) % 76;
    return in_line ? cycle + 76 - in_line : cycle;
}

// Playfield pixels are four clocks wide; a write takes effect at the next one.
CUDA_CALLABLE s32 playfield_delay(s32 clock) const {
    s32 in_cell = clock / 3 % 76 & 3;
    return in_cell < 2 ? 4 + in_cell : in_cell;
}

// Clocks between a write to a register and its effect.
CUDA_CALLABLE s32 delay_of(u32 number, s32 clock) const {
    switch (number) {
        case 0x01: case 0x0B: case 0x0C: case 0x1B: case 0x1C: return 1;
        case 0x04: case 0x05: case 0x12: case 0x13: return 8;
        case 0x0D: case 0x0E: case 0x0F: return playfield_delay(clock);
        default: return 0;
    }
}

// Paddles and buttons, in the highest bit.
CUDA_CALLABLE u32 tia_input(u32 number, u32 low, s32 cycle) const {
    if (number < 12) {
        s32 resistance = paddle_of(number - 8);
        if (resistance == 0) return 0x80 | low;
        if (resistance < 0 || vblank & 0x80) return low;
        // The comparison is unsigned as in ALE: an input that was charged before this frame began reads as not charged.
        return (u32)cycle > (u32)(dump_cycle + resistance * 119 / 6250) ? 0x80 | low : low;
    }
    if (number < 14) return fire[number - 12] ? low : 0x80 | low;
    return low;
}

CUDA_CALLABLE u8 tia_peek(u32 address, s32 cycle) {
    u32 low = bus & 0x3F, number = address & 0x0F;
    touched = 0;
    if (clock_of(cycle) > seen) seen = clock_of(cycle);
    if (number >= 8) return (u8)tia_input(number, low, cycle);
    collide(seen);
    u32 bits = collided >> (2 * number);
    return (bits & 1) << 7 | (bits & 2) << 5 | low;
}

// Whether a write repeats the value of a register and has no effect. Only some registers are tested.
CUDA_CALLABLE bool is_redundant_write(u32 number, u32 value) const {
    switch (number) {
        case 0x06: case 0x07: case 0x08: case 0x09: return view.now[COLUP0 + number - 0x06] == ((value & 0xFE) | faded);
        case 0x0D: return view.now[PF0] == value >> 4;
        case 0x0E: return view.now[PF1] == reversed(value);
        case 0x0F: return view.now[PF2] == value;
        case 0x1B: return grp[0] == value && grp_old[1] == grp[1];
        case 0x1C: return grp[1] == value && grp_old[0] == grp[0] && enabl_old == enabl;
        case 0x1D: case 0x1E: return enam[number - 0x1D] == (value >> 1 & 1);
        case 0x1F: return enabl == (value >> 1 & 1);
        default: return false;
    }
}

CUDA_CALLABLE inline s32 tia_poke(u32 address, u8 value, s32 cycle) {
    s32 clock = clock_of(cycle);
    if (clock > seen) seen = clock;
    if (clock >= most_clocks) end_frame();  // no VSYNC in time
    u32 number = address & 0x3F;
    switch (number) {
        case 0x00: sync_vertically(value, clock); break;
        case 0x01:
#if !defined(__CUDA_ARCH__)  // see tia_write_queue_cuda.h
            load_paddles(value, cycle);
#endif
            show(VBLANK, value >> 1 & 1, clock + delay_of(0x01, clock));
            break;
        case 0x02: return end_of_line(cycle);
        case 0x04: case 0x05:
            hide(number - 0x04, 0, clock + delay_of(0x04, clock));
            show(NUSIZ0 + number - 0x04, value & 0x37, clock + delay_of(0x04, clock));
            break;
        case 0x06: case 0x07: case 0x08: case 0x09:
            show(COLUP0 + number - 0x06, (value & 0xFE) | faded, clock);
            break;
        case 0x0A:
            if (view.now[CTRLPF] == (value & 0x37)) break;
            catch_up(clock);
            show(CTRLPF, value & 0x37, clock);
            if (clock % LINE < BLANK + 79) show(REFLECT, value & 1, clock);
            break;
        case 0x0B: case 0x0C:
            reflected[number - 0x0B] = value >> 3 & 1;
            show_player(number - 0x0B, clock + delay_of(0x0B, clock));
            break;
        case 0x0D: case 0x0E: case 0x0F:
            if (is_redundant_write(number, value)) break;
            show(PF0 + number - 0x0D, number == 0x0D ? value >> 4 : number == 0x0E ? reversed(value) : value, clock + delay_of(0x0D, clock));
            break;
        case 0x10: case 0x11: reset_player(number - 0x10, clock); break;
        case 0x12: case 0x13:
            place_missile(number - 0x12, reset_place(X_MISSILE0 + number - 0x12, clock), clock + delay_of(0x12, clock));
            break;
        case 0x14: show(X_BALL, reset_place(X_BALL, clock), clock); break;
        case 0x1B:
            if (is_redundant_write(0x1B, value)) break;
            grp[0] = value;
            grp_old[1] = grp[1];
            show_player(0, clock + delay_of(0x1B, clock));
            if (delayed[1]) show_player(1, clock + delay_of(0x1B, clock));
            break;
        case 0x1C:
            if (is_redundant_write(0x1C, value)) break;
            grp[1] = value;
            grp_old[0] = grp[0];
            enabl_old = enabl;
            if (delayed[0]) show_player(0, clock + delay_of(0x1C, clock));
            show_player(1, clock + delay_of(0x1C, clock));
            if (delayed_ball) show_ball(clock + delay_of(0x1C, clock));
            break;
        case 0x1D: case 0x1E:
            enam[number - 0x1D] = value >> 1 & 1;
            show_missile(number - 0x1D, clock);
            break;
        case 0x1F:
            enabl = value >> 1 & 1;
            show_ball(clock);
            break;
        case 0x22:
            if (clock == hmove_clock + 63 && motion[2] == 7 && value >> 4 == 6) {
                catch_up(clock);
                show(STARS, 128, clock);
            }
            motion[2] = value >> 4;
            break;
        case 0x20: case 0x21: case 0x23: case 0x24: motion[number - 0x20] = value >> 4; break;
        case 0x25: case 0x26:
            delayed[number - 0x25] = value & 1;
            show_player(number - 0x25, clock);
            break;
        case 0x27:
            delayed_ball = value & 1;
            show_ball(clock);
            break;
        case 0x28: case 0x29: {
            u32 which = number - 0x28, mode = view.now[NUSIZ0 + which] & 7;
            if (resmp[which] && !(value & 2))
                place_missile(which, (view.now[X_PLAYER0 + which] + (mode == 5 ? 8 : mode == 7 ? 16 : 4)) % WIDTH, clock);
            resmp[which] = value >> 1 & 1;
            show_missile(which, clock);
            break;
        }
        case 0x2A: move(clock); break;
        case 0x2B: motion[0] = motion[1] = motion[2] = motion[3] = motion[4] = 0; break;
        case 0x2C:
            clear_collisions(clock);
            break;
        default: break;
    }
    return cycle;
}
