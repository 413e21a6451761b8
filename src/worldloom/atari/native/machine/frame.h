// One frame: from the end of one VSYNC to the end of the next.

enum : s32 { LONG_AGO = -0x10000000 };  // clamp of earlier clocks

// Moves the origin of time by cycles, and by the clocks of whole scanlines.
CUDA_CALLABLE void rebase(s32 by, s32 clocks) {
    if (vsync_end != NEVER) vsync_end = vsync_end > clocks ? vsync_end - clocks : 0;
    hmove_clock = hmove_clock > LONG_AGO + clocks ? hmove_clock - clocks : LONG_AGO;
    dump_cycle = dump_cycle > LONG_AGO + by ? dump_cycle - by : LONG_AGO;
    rebase_riot(by);
    rebase_dpc(by);
    cycles -= by;
}

CUDA_CALLABLE void begin_frame() {
    s32 before = clock_of(cycles), in_line = before % LINE;
    rebase(cycles, before - in_line);
    marked_line = first_clock / LINE;
    line_phase = -in_line / 3;
    // PAL televisions lose the colour after a frame with an odd number of scanlines.
    faded = fades ? before / LINE & 1 : 0;
    for (s32 i = COLUP0; i <= COLUBK; i++) view.now[i] = (view.now[i] & 0xFE) | faded;
    looked = first_clock;
    seen = 0;
    buffer ^= 1;
}

// Before a frame runs; its display events are logged if `log` is not null.
CUDA_CALLABLE void enter_frame() {
    line_phase = phase;
    ROLLED for (s32 i = 0; i < KINDS; i++) view.now[i] = kept[i];
    view.begin();
    has_log_header = logged = 0;
    if (cycles > HUNG) partial = 0;  // the program never ends a frame: its clock must not overflow
    if (partial) {
        if (log) write_log_header(looked);
    } else {
        begin_frame();
    }
    partial = 1;
    stop = bus = touched = 0;
    invalidate_player_overlap();
    passed = 0;
    instructions = 0;
}

// After a frame has run.
CUDA_CALLABLE void leave_frame() {
    // A frame that is cut off is drawn up to the effect of its last write.
    s32 drawn = partial ? seen + delay_of(touched, seen) : seen;
    collide(drawn);
    if (log) end_log(drawn);
    comb_due = (seen > first_clock ? 0 : comb_due & 1) | comb_due >> 1;
    phase = line_phase;
    ROLLED for (s32 i = 0; i < KINDS; i++) kept[i] = view.now[i];
}

CUDA_CALLABLE void start_tia() {
    ROLLED for (s32 i = 0; i < KINDS; i++) kept[i] = 0;
    vsync_end = NEVER;
    phase = hmove_clock = dump_cycle = looked = seen = marked_line = 0;
    collided = partial = vblank = buffer = faded = comb_due = 0;
    for (s32 i = 0; i < 2; i++) grp[i] = grp_old[i] = reflected[i] = delayed[i] = enam[i] = resmp[i] = 0;
    enabl = enabl_old = delayed_ball = 0;
    for (s32 i = 0; i < 5; i++) motion[i] = 0;
}

// Powers the console on. The initial `timer` is random on hardware. RAM is kept: its contents are undefined.
CUDA_CALLABLE void power_on(u32 timer) {
    cycles = 0;
    start_tia();
    start_riot(timer);
    start_controls();
    start_cartridge();
    start_cpu();
}
