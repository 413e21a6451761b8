// The state of a machine as a block of words, and the row of the game table that configures it.

#if defined(__CUDACC__)
typedef u32 Word;
#else
typedef u32 __attribute__((may_alias)) Word;  // the words hold fields of other types
#endif

CUDA_CALLABLE void load(const u32* from) {
    Word* to = (Word*)&cycles;
#pragma unroll 1
    for (u32 i = 0; i < RECORD_WORDS; i++) to[i] = from[i];
}

CUDA_CALLABLE void save(u32* to) const {
    const Word* from = (const Word*)&cycles;
#pragma unroll 1
    for (u32 i = 0; i < RECORD_WORDS; i++) to[i] = from[i];
}

// Columns of `row`: rom_bank.Slot.
CUDA_CALLABLE void attach_game(const s32* row, const u32* words, u8* memory) {
    rom = words + row[0];
    rom_slices = row[1];
    kind = row[2];
    cart_ram = memory;
    first_clock = row[5] * LINE;
    last_clock = (row[5] + row[6]) * LINE;
    most_clocks = row[7] * LINE;
    combs = row[8];
    fades = row[17] == 1;
    left = row[9];
    right = row[10];
    swap_ports = row[11];
    swap_paddles = row[12];
    switches_on = row[13];
    paddle_low = row[14];
    paddle_high = row[15];
    players = row[18];
    log = 0;
    clamp_state();
}
