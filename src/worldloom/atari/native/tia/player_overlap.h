// Whether the two players may overlap. Many games change the shapes of players in every scanline; players that are
// disjoint cannot collide, whatever their shapes. The test pays on a CPU. On a GPU the threads of a warp would run it
// one after the other, so it is disabled there.

#if defined(__CUDA_ARCH__)

CUDA_CALLABLE bool players_disjoint() const { return false; }
CUDA_CALLABLE void invalidate_player_overlap() {}

#else

enum : u32 { UNKNOWN, MAY_OVERLAP, DISJOINT };

// Extent of a player and its copies, one bit per eight pixels of a scanline.
u32 player_extent(u32 which) const {
    const u32 mode = view.now[NUSIZ0 + which] & 7, x = view.now[X_PLAYER0 + which], width = mode == 5 ? 17 : mode == 7 ? 33 : 8;
    const unsigned long long first = (unsigned long long)((1u << ((x & 7) + width + 7 >> 3)) - 1) << (x >> 3), all = first * COPIES[mode];
    return (u32)(all | all >> WIDTH / 8) & 0xFFFFF;
}

NOINLINE void find_player_overlap() { player_overlap = player_extent(0) & player_extent(1) ? MAY_OVERLAP : DISJOINT; }

bool players_disjoint() {
    if (player_overlap == UNKNOWN) find_player_overlap();
    return player_overlap == DISJOINT;
}

// Before a player is moved.
void invalidate_player_overlap() { player_overlap = UNKNOWN; }

#endif
