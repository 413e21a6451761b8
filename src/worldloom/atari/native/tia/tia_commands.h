// What a write to the television chip asks of the display: to show something else from a clock on, to be done with all before a clock, to blank the start of
// a line, to forget collisions. A CPU does so at once. On a GPU the consoles of a warp write to different registers at the same time, and what is long in it,
// which is the same for all of them, would be done one console after the other. There the short part of a write only notes commands, and the warp carries them
// out together.

// Eight black pixels in the line of a clock. They wait for the first line that is shown if this one is not.
CUDA_CALLABLE void blank_line_start(s32 clock) {
    if (clock <= first_clock) comb_due |= 1;
    else if (clock >= last_clock) comb_due |= 2;
    else if (log) log_event(COMB, 1, clock);
}

#if defined(__CUDA_ARCH__)

enum : u32 { CATCH_UP = KINDS, CLEAR_COLLISIONS };  // commands that are no kind of event

// At most 11 clocks after the write, and at most ten of them: HMOVE reaches a clock and shows a copy again for two players, moves five objects and blanks.
CUDA_CALLABLE void queue_command(u32 kind, u32 value, s32 clock) { command[commands++] = (u32)(clock - write_clock) << 16 | kind << 8 | value; }

CUDA_CALLABLE void show(u32 kind, u32 value, s32 clock) {
    const bool settled = kind < HIDE0 && !view.now[STARS];  // no order that waits can change what is shown of it
    if (!settled || view.now[kind] != value) queue_command(kind, value, clock);
}

CUDA_CALLABLE void catch_up(s32 clock) { queue_command(CATCH_UP, 0, clock); }
CUDA_CALLABLE void comb(s32 clock) { queue_command(COMB, 1, clock); }
CUDA_CALLABLE void clear_collisions(s32 clock) { queue_command(CLEAR_COLLISIONS, 0, clock); }

CUDA_CALLABLE void apply_command(u32 what) {
    const u32 kind = what >> 8 & 255, value = what & 255;
    const s32 clock = write_clock + (s32)(what >> 16);
    if (kind == COMB) {
        blank_line_start(clock);
        return;
    }
    if (kind < KINDS && view.now[kind] == value) return;
    if (kind == CLEAR_COLLISIONS) collided = ALL_PAIRS;  // nothing is to be looked for any more
    if (kind < CATCH_UP) collide_before(kind, clock);
    else collide(clock);
    if (kind == CATCH_UP) end_past_lines(clock);
    else if (kind == CLEAR_COLLISIONS) collided = 0;
    else {
        if (log) log_event(kind, value, clock);
        view.set(kind, value);
    }
}

NOINLINE CUDA_CALLABLE void apply_commands() {
    ROLLED for (u32 i = 0; i < commands; i++) apply_command(command[i]);
    commands = 0;
}

#else

INLINE_ON_CPU CUDA_CALLABLE void change(u32 kind, u32 value, s32 clock) {
    collide_before(kind, clock);
    if (log) log_event(kind, value, clock);
    view.set(kind, value);
}

CUDA_CALLABLE void show(u32 kind, u32 value, s32 clock) {
    if (view.now[kind] != value) change(kind, value, clock);
}

CUDA_CALLABLE void catch_up(s32 clock) {
    collide(clock);
    end_past_lines(clock);
}

CUDA_CALLABLE void comb(s32 clock) { blank_line_start(clock); }

CUDA_CALLABLE void clear_collisions(s32 clock) {
    collided = ALL_PAIRS;  // nothing is to be looked for any more
    collide(clock);
    collided = 0;
}

CUDA_CALLABLE void apply_commands() {}

#endif
