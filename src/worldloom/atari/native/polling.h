// Loops that do nothing but wait for the timer, such as LDA INTIM; BNE: whole rounds are counted instead of run.

// How often the loop at `address` certainly goes round again, with `most` instructions left: rounds | instructions of a round << 16 | cycles of a round << 24.
NOINLINE CUDA_CALLABLE u32 poll_rounds(u32 address, s32 at, s32 most) {
    (void)address;
    (void)at;
    (void)most;
    return 0;
}
