// Shapes of players change in every line of many games. Players that are apart do not meet, whatever their shapes. To know that pays on a CPU; on a GPU, whose
// threads would find it out one after the other, it does not.

#if defined(__CUDA_ARCH__)

CUDA_CALLABLE bool players_apart() const { return false; }
CUDA_CALLABLE void forget_apart() {}

#else

enum : u32 { UNKNOWN, NEAR, APART };

// Where a player and its copies may be, a bit for each eight pixels of a line.
u32 room_of(u32 which) const {
    const u32 mode = view.now[NUSIZ0 + which] & 7, x = view.now[X_PLAYER0 + which], width = mode == 5 ? 17 : mode == 7 ? 33 : 8;
    const unsigned long long first = (unsigned long long)((1u << ((x & 7) + width + 7 >> 3)) - 1) << (x >> 3), all = first * COPIES[mode];
    return (u32)(all | all >> WIDTH / 8) & 0xFFFFF;
}

NOINLINE void find_apart() { apart = room_of(0) & room_of(1) ? NEAR : APART; }

bool players_apart() {
    if (apart == UNKNOWN) find_apart();
    return apart == APART;
}

// Before a player is placed anew.
void forget_apart() { apart = UNKNOWN; }

#endif
