// The 6507 on a GPU. The consoles of a warp are at different instructions, and code of their own for each would run one after the other.
// So every instruction is the same: a byte is read, combined with a register, and put somewhere, as its entry in DEEDS says (deeds.py). Only what few
// instructions do stands behind conditions. A, X, Y and S lie in one word, from which __byte_perm takes them and into which it puts them.
//
// All consoles of a warp run the same line: one that is ahead, because it has skipped the rounds of a loop, waits for the others.
#if defined(__CUDA_ARCH__)

#define RESUME { shown = slices; look = 1; }
#define PUT_DOWN \
    this->pc = (u16)PC, this->a = (u8)axys, this->x = (u8)(axys >> 8), this->y = (u8)(axys >> 16), this->s = (u8)(axys >> 24), this->p = (u8)PACK_FLAGS;
#define PICK_UP axys = this->a | this->x << 8 | this->y << 16 | (u32)this->s << 24, shown = slices; UNPACK_FLAGS(this->p) JUMP((u32)this->pc)

CUDA_CALLABLE void run() {
    const u32* const rom = this->rom;
    const u32 open = rom_slices << 10, plain = kind != KIND_3F && kind != KIND_UA;
    const s32 phase = line_phase, frame_end = line_phase + most_clocks / 3;
    u32 axys, shown, place, lift, nz, carry, over, modes, look = 0;
    s32 t = cycles, left = MOST_INSTRUCTIONS;
    PICK_UP
    u32 known = shown, ahead = rom[place];
    begin_waiting();
    for (s32 next_line = 76 + phase + (t - phase) / 76 * 76; __any_sync(crew, !stop && left > 0); next_line += 76) {
        s32 line_end = stop ? t : next_line;
        while (t < line_end && left > 0) {
            left -= 1;
            u32 word = ahead;
            if (word & (WORD_FETCH | WORD_POLL)) LOOK_AT_INSTRUCTION
            const unsigned long long deed = DEEDS[word & 255];
            const u32 what = (u32)deed, how = (u32)(deed >> 32);
            t += how & 7;
            place += how >> 3 & 3;

            const u32 reach = how & PAGE_ZERO ? 0xFF : 0xFFFF, index = __byte_perm(axys, 0, what >> 20) & 255;
            u32 where = (ABSOLUTE & reach) + index & reach, last = how & PAGE_ZERO ? LOW : HIGH, crossed = LOW + index;
            if (how & POINTS) {
                u32 pointer;
                POINTER(pointer, where)
                const u32 by = word & 0x10 ? axys >> 16 & 255 : 0;
                where = pointer + by, last = pointer >> 8, crossed = (pointer & 255) + by;
            }
            if (how & CROSSES) t += crossed >> 8;
            u32 v = __byte_perm(axys, word, how >> 24) & 255;
            if (how & READS) {
                const u32 in_rom = where & 0x1000;
                const u32 found = *(in_rom ? rom + (SLICE_OF(where) | (where & 1023)) : (const u32*)ram + (where >> 2 & 31));
                v = (in_rom ? found : found >> (where & 3) * 8) & 255;
                if (in_rom ? found & WORD_READ : (where & 0x280) != 0x80) READ_SLOWLY(v, where, last)
            }

            const u32 one = __byte_perm(axys, v, what >> 16) & 255, other = (how & ADDS ? v : 0) ^ (how & INVERTS ? 255 : 0);
            const u32 in = how & CARRIES ? carry : how & ONE_MORE ? 1 : 0;
            const u32 sum = one + other + in;
            u32 result = sum & 255, out = sum >> 8;
            if (how & (ANDS | XORS)) result = (how & ANDS ? one & v : 0) | (how & XORS ? one ^ v : 0);
            if (how & HALVES) result = v >> 1 | in << 7, out = v & 1;
            if (how & SETS_NZ) nz = result | (how & TESTS ? (v & 128) << 8 : 0);
            if (how & SETS_C) carry = out;
            if (how & SETS_V) over = how & TESTS ? v & 64 : ~(one ^ other) & (one ^ sum) & 128;
            if (how & DECIMAL && modes & 8) {
                const u32 r = how & INVERTS ? subtract_decimal(one, v, in) : add_decimal(one, v, in);
                TAKE_DECIMAL(result)
            }
            axys = __byte_perm(axys, result, what);

            if (how & BRANCHES) {  // on N, V, C or Z, by the highest bits of the opcode; the next tells whether it is to be set
                const u32 flags = (IS_NEGATIVE ? 1 : 0) | (over ? 2 : 0) | carry << 2 | (IS_ZERO ? 8 : 0);
                if ((flags >> (word >> 6 & 3) & 1) == (word >> 5 & 1)) TAKE_BRANCH
            }
            ahead = rom[place];  // before anything long, which memory has time for then
            if (how & WRITES) {
                if ((where & 0x1280) == 0x80) {
                    ram[where & 127] = (u8)result;
                } else if (!(where & 0x1080) && plain) {
                    const u32 number = where & 63;
                    touched = (u8)number;
                    if (clock_of(t) > seen) seen = clock_of(t);
                    if (t >= frame_end) end_frame(), look = 1;
                    if (number == 0x02) t = end_of_line(t);
                    else if (matters(number, result)) wait_with(number, result, t), look = 1;
                } else WRITE_SLOWLY(where, result)
            }
            if (how & SPECIAL) {
                u32 s = axys >> 24;
                switch (word & 255) {
                    case 0x4C: GO_TO(ABSOLUTE) break;
                    case 0x20: { const u32 from = PC - 1; PUSH(from >> 8) PUSH(from) GO_TO(ABSOLUTE) } break;
                    case 0x60: { u32 low, high; PULL(low) PULL(high) GO_TO((low | high << 8) + 1) } break;
                    case 0x48: PUSH(axys) break;
                    case 0x68: { u32 a; PULL(a) nz = a; axys = __byte_perm(axys, a, 0x3214); } break;
                    case 0x08: PUSH(PACK_FLAGS) break;
                    case 0x28: { u32 flags; PULL(flags) UNPACK_FLAGS(flags) } break;
                    case 0x58: modes &= 8; break;
                    case 0x78: modes |= 4; break;
                    case 0xD8: modes &= 4; break;
                    case 0xF8: modes |= 8; break;
                    case 0x6C: JUMP_BY_POINTER break;
                    case 0x40: { u32 flags, low, high; PULL(flags) UNPACK_FLAGS(flags) PULL(low) PULL(high) GO_TO(low | high << 8) } break;
                    case 0x00: BREAK_FROM(PC) break;
                    default: RUN_UNDOCUMENTED s = axys >> 24;
                }
                axys = (axys & 0xFFFFFF) | s << 24;
                ahead = rom[place];
            }
            if (look) {
                look = 0;
                if (shown != known) {
                    known = shown;
                    LOOK_CLOSER(PC)
                    ahead = rom[place];
                }
                if (stop) line_end = -0x7FFFFFFF;
            }
        }
        if (__any_sync(crew, waiting > WAITING_ROOM / 2)) tell_tia(crew);
    }
    tell_tia(crew);
    PUT_DOWN
    cycles = t;
    instructions = MOST_INSTRUCTIONS - left;
}

#endif
