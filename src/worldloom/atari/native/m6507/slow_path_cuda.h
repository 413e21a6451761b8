// One instruction of any kind on a GPU: those that the loop of m6507_cuda.h does not run. Registers are passed as
// STORE_REGISTERS leaves them, and the caller recomputes the fetch address. `cycles` and `instructions` are the cycles
// so far and the number of instructions that may still run.
#if defined(__CUDA_ARCH__)

NOINLINE CUDA_CALLABLE void step_slow() {
    const u32* const rom = this->rom;
    const u32 open = rom_slices << 10;
    u32 axys, shown, place, lift, nz, carry, over, modes;
    s32 t = cycles, left = instructions - 1;
    LOAD_REGISTERS
    u32 word = rom[place];
    if (NEEDS_SLOW_FETCH(word)) FETCH_SLOW
    DECODE
    t += how & 7;
    place += how >> 3 & 3;
    if (how & POINTS) {
        u32 pointer;
        POINTER(pointer, where)
        FOLLOW(pointer)
    }
    if (how & CROSSES) t += crossed >> 8;
    u32 v = pick(axys, word, how >> 24) & 255;
    if (how & READS) READ(v, where, last)
    COMBINE
    if (how & DECIMAL && modes & 8) COMBINE_DECIMALS
    BRANCH
    if (how & WRITES) {
        if ((where & 0x1280) == 0x80) ram[where & 127] = (u8)result;
        else WRITE_SLOW(where, result)
    }
    if (how & SPECIAL) {
        u32 s = axys >> 24;
        switch (word & 255) {
            case 0x4C: GO_TO(ABSOLUTE) break;
            case 0x20: { const u32 from = PC - 1; PUSH(from >> 8) PUSH(from) GO_TO(ABSOLUTE) } break;
            case 0x60: { u32 low, high; PULL(low) PULL(high) GO_TO((low | high << 8) + 1) } break;
            case 0x48: PUSH(axys) break;
            case 0x68: { u32 a; PULL(a) nz = a; axys = pick(axys, a, 0x3214); } break;
            case 0x08: PUSH(PACK_FLAGS) break;
            case 0x28: { u32 flags; PULL(flags) UNPACK_FLAGS(flags) } break;
            case 0x58: modes &= 8; break;
            case 0x78: modes |= 4; break;
            case 0xD8: modes &= 4; break;
            case 0xF8: modes |= 8; break;
            case 0x6C: t += 5; JUMP_BY_POINTER break;
            case 0x40: { t += 6; u32 flags, low, high; PULL(flags) UNPACK_FLAGS(flags) PULL(low) PULL(high) GO_TO(low | high << 8) } break;
            case 0x00: t += 7, place += 2; BREAK_FROM(PC) break;
            default: RUN_UNDOCUMENTED s = axys >> 24;
        }
        axys = (axys & 0xFFFFFF) | s << 24;
    }
    STORE_REGISTERS
    cycles = t;
    instructions = left;
}

#endif
