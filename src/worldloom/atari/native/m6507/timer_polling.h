// Loops that only poll the timer, such as LDA INTIM; BNE: their iterations are counted instead of run.

// Cycles of one iteration of the loop at `address`: a read of 4 cycles and a taken branch.
CUDA_CALLABLE s32 poll_cycles(u32 address) { return 7 + (s32)((address ^ (address + 5)) >> 8 & 1); }

// Number of iterations that can be skipped if at most `most` instructions may still run. The last iteration is not
// skipped.
NOINLINE CUDA_CALLABLE s32 poll_rounds(u32 address, s32 at, s32 most) {
    u32 reads_flag = rom_at(address + 1) & 1;
    u32 branch = rom_at(address + 3);
    s32 enough = timer_value;  // intervals after which the loop ends
    if (!reads_flag) {
        if (branch == 0xD0) enough -= 1;
        if (branch == 0x30) enough -= 128;
        if (branch == 0x10 && timer_left(at + 4) > 127) return 0;
    }
    s32 age = timer_age(at + 4);
    if (age < 0 || enough <= 0) return 0;
    s32 wait = (enough << timer_shift) - age;
    if (wait <= 0) return 0;
    s32 rounds = (wait + poll_cycles(address) - 1) / poll_cycles(address);
    return rounds < most / 2 ? rounds : most / 2;
}
