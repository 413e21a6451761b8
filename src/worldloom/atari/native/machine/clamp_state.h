// A state may come from a file. The fields that index a table, a picture or the ROM are clamped when a state is loaded,
// so that no byte pattern leads to an access out of bounds. States that a console wrote itself are not changed.
// machine_state.py rejects invalid states when they are restored.

enum : s32 { MAX_CYCLES = HUNG + MAX_INSTRUCTIONS * (8 + 76), MAX_CLOCK = 3 * (MAX_CYCLES + 2 * 76) };

CUDA_CALLABLE static s32 clamped(s32 value, s32 low, s32 high) { return value < low ? low : value > high ? high : value; }

// Every KiB of the cartridge maps a KiB of the image, or the open slice behind it.
CUDA_CALLABLE void clamp_slices() {
    ROLLED for (u32 place = 0; place < 32; place += 8)
        if ((slices >> place & 255) > rom_slices) slices &= ~(255u << place);
}

CUDA_CALLABLE void clamp_clocks() {
    cycles = clamped(cycles, 0, MAX_CYCLES);
    phase = clamped(phase, -75, 0);
    seen = clamped(seen, 0, MAX_CLOCK);
    looked = clamped(looked, 0, last_clock);
    marked_line = clamped(marked_line, 0, last_clock / LINE);
    hmove_clock = clamped(hmove_clock, LONG_AGO, MAX_CLOCK);
    dump_cycle = clamped(dump_cycle, LONG_AGO, MAX_CYCLES);
    if (vsync_end < 0) vsync_end = 0;
    timer_shift &= 15;
}

// The display: positions of objects lie on the scanline, and enable flags are 0 or 1.
CUDA_CALLABLE void clamp_display() {
    kept[MISSILE0] &= 1;
    kept[MISSILE1] &= 1;
    kept[BALL] &= 1;
    ROLLED for (u32 kind = X_PLAYER0; kind <= X_BALL; kind++)
        if (kept[kind] >= WIDTH) kept[kind] -= WIDTH;
    enabl &= 1;
    enabl_old &= 1;
    buffer &= 1;
    over = over != 0;
}

CUDA_CALLABLE void clamp_state() {
    clamp_slices();
    clamp_clocks();
    clamp_display();
    bank &= 3;
    ROLLED for (u32 player = 0; player < 4; player++) paddle[player] = clamped(paddle[player], 0, paddle_high);
}
