// Commands of a TIA write to the display: change an object or a colour from a clock on, evaluate everything before a
// clock, blank the start of a scanline, clear collisions. A CPU applies them at once. On a GPU the consoles of a warp
// write to different registers at the same time, and the long part, which is the same for all, would run one console
// after the other. There the short part of a write only queues commands, and the warp applies them together.

// Blanks eight pixels of the scanline of a clock, or of the first visible scanline if that one is invisible.
CUDA_CALLABLE void blank_line_start(s32 clock) {
    if (clock <= first_clock) comb_due |= 1;
    else if (clock >= last_clock) comb_due |= 2;
    else if (log) log_event(COMB, 1, clock);
}

#if defined(__CUDA_ARCH__)

enum : u32 { CATCH_UP = KINDS, CLEAR_COLLISIONS };  // commands that are not events

// At most 11 clocks after the write. At most ten commands: HMOVE catches up and shows a copy again for two players,
// moves five objects and blanks.
CUDA_CALLABLE void queue_command(u32 kind, u32 value, s32 clock) { command[commands++] = (u32)(clock - write_clock) << 16 | kind << 8 | value; }

CUDA_CALLABLE void show(u32 kind, u32 value, s32 clock) {
    const bool settled = kind < HIDE0 && !view.now[STARS];  // no queued command can change it
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
    if (kind == CLEAR_COLLISIONS) collided = ALL_PAIRS;  // no pair is left to evaluate
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
    collided = ALL_PAIRS;  // no pair is left to evaluate
    collide(clock);
    collided = 0;
}

CUDA_CALLABLE void apply_commands() {}

#endif
