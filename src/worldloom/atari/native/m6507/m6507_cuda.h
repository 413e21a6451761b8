// The 6507 on a GPU. The consoles of a warp are at different instructions, and code of their own for each would run one after the other.
// So every instruction is the same: a byte is read, combined with a register, and put somewhere, as its entry in OPCODE_TABLE says (deeds.py). Only what few
// instructions do stands behind conditions. A, X, Y and S lie in one word, from which `pick` takes them and into which it puts them.
//
// All consoles of a warp run the same line: one that is ahead, because it has skipped the rounds of a loop, waits for the others. One that comes to an odd
// instruction waits too, such as one that switches banks, reads a collision, sets the timer, has to be fetched byte by byte or is outside of the
// documentation. When all others are through with the line, or wait as well, those run theirs together, with care (slow_path_cuda.h). So the loop calls next to
// nothing. Where threads that part will meet again, a GPU notes in a dozen registers for that. Around calls that go deep there are too few, and a condition
// with such a call behind it costs forty cycles, whether it holds or not, to put one of them aside and to fetch it back.
#if defined(__CUDA_ARCH__)

#define SELF this->
#define RESUME { shown = slices; }
#define ON_SLOW_PATH(...) { __VA_ARGS__ RESUME }
#define MAY_SKIP left
#define SKIP(count) left -= (count);
#define STORE_REGISTERS \
    this->pc = (u16)PC, this->a = (u8)axys, this->x = (u8)(axys >> 8), this->y = (u8)(axys >> 16), this->s = (u8)(axys >> 24), this->p = (u8)PACK_FLAGS;
#define LOAD_REGISTERS axys = this->a | this->x << 8 | this->y << 16 | (u32)this->s << 24, shown = slices; UNPACK_FLAGS(this->p) JUMP((u32)this->pc)

// What the instruction in `word` is about, and where its byte lies if that is in memory. `last` is the byte on the bus before.
#define DECODE \
    const unsigned long long opcode_entry = OPCODE_TABLE[word & 255]; \
    const u32 what = (u32)opcode_entry, how = (u32)(opcode_entry >> 32); \
    const u32 reach = how & PAGE_ZERO ? 0xFF : 0xFFFF, index = pick(axys, 0, what >> 16); \
    u32 where = (ABSOLUTE & reach) + index & reach, last = how & PAGE_ZERO ? LOW : HIGH, crossed = LOW + index;
#define FOLLOW(pointer) { \
    const u32 by = word & 0x10 ? axys >> 16 & 255 : 0; \
    where = (pointer) + by, last = (pointer) >> 8, crossed = ((pointer) & 255) + by; }
// What it does with the byte v.
#define COMBINE \
    const u32 one = pick(axys, v, how >> 28) & 255, other = (how & ADDS ? v : 0) ^ (how & INVERTS ? 255 : 0); \
    const u32 in = how & CARRIES ? carry : how & ONE_MORE ? 1 : 0; \
    const u32 sum = one + other + in; \
    u32 result = sum & 255, out = sum >> 8; \
    if (how & (ANDS | XORS)) result = (how & ANDS ? one & v : 0) | (how & XORS ? one ^ v : 0); \
    if (how & HALVES) result = v >> 1 | in << 7, out = v & 1; \
    if (how & SETS_NZ) nz = result | (how & TESTS ? (v & 128) << 8 : 0); \
    if (how & SETS_C) carry = out; \
    if (how & SETS_V) over = how & TESTS ? v & 64 : ~(one ^ other) & (one ^ sum) & 128; \
    axys = pick(axys, result, what);
#define COMBINE_DECIMALS { \
    const u32 r = how & INVERTS ? subtract_decimal(one, v, in) : add_decimal(one, v, in); \
    TAKE_DECIMAL(result) \
    axys = pick(axys, result, what); }
// Branches are on N, V, C or Z, by the highest bits of the opcode; the next tells whether it is to be set.
#define BRANCH \
    if (how & BRANCHES) { \
        const u32 flags = (IS_NEGATIVE ? 1 : 0) | (over ? 2 : 0) | carry << 2 | (IS_ZERO ? 8 : 0); \
        if ((flags >> (word >> 6 & 3) & 1) == (word >> 5 & 1)) TAKE_BRANCH \
    }
#define NEEDS_SLOW_FETCH(word) ((word) & (WORD_FETCH | WORD_POLL))

// Whether a write to a register of the TIA at a cycle is odd: it may end the frame or switch banks, or has no room to wait in, or comes too late to.
#define IS_SLOW_WRITE(number, at) (!plain | !(number) | queued == WRITE_QUEUE_SIZE | (at) >= fast_path_end)
// Any other. A wait for the end of the line moves t on.
#define TIA_WRITE(number, value, queue) { \
    touched_last = (number), touched_at = t; \
    if (touched_last == 0x02) t = end_of_line(t); \
    else queued = queue(touched_last, value, t, queued); }

enum : s32 { NOT_YET = -0x10000000 };  // a cycle before all others

// Bytes of two words, as __byte_perm has it, which however would first take the highest bit of each place from the selector. None of ours has it.
CUDA_CALLABLE static u32 pick(u32 one, u32 other, u32 selector) {
#if defined(__CUDACC__)
    u32 picked;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(picked) : "r"(one), "r"(other), "r"(selector));
    return picked;
#else
    return __byte_perm(one, other, selector);
#endif
}

CUDA_CALLABLE void run() {
    const u32* const rom = this->rom;
    const u32 open = rom_slices << 10, plain = kind != KIND_3F && kind != KIND_UA, is_fe = kind == KIND_FE;
    const s32 phase = line_phase, frame_end = line_phase + most_clocks / 3, fast_path_end = frame_end < MAX_QUEUED_CYCLE ? frame_end : MAX_QUEUED_CYCLE;
    u32 axys, shown, place, lift, nz, carry, over, modes;
    s32 t = cycles, left = MAX_INSTRUCTIONS, next_line = 76 + phase + (t - phase) / 76 * 76;
    u32 odd = 0, ended = 0, queued = 0, touched_last = touched;
    s32 touched_at = NOT_YET;
    LOAD_REGISTERS
    u32 ahead = rom[place];
    begin_write_queue();
    while (__any_sync(warp_mask, !ended && left > 0)) {
        const s32 line_end = ended ? t : next_line;
        while (t < line_end && left > 0) {
            // What can be known of the instruction before it has done anything.
            const u32 word = ahead;
            DECODE
            odd = NEEDS_SLOW_FETCH(word);
            if (how & POINTS) {
                const u32 at = where & 255, pointer = ram[at & 127] | ram[at + 1 & 127] << 8;
                if (!(at & 128) || at == 255) odd = 1;
                FOLLOW(pointer)
            }
            const s32 after = t + (how & 7) + (how & CROSSES ? crossed >> 8 : 0);
            u32 v = pick(axys, word, how >> 24) & 255;
            if (how & READS) {
                const u32 in_rom = where & 0x1000;
                const u32 found = *(in_rom ? rom + (SLICE_OF(where) | (where & 1023)) : (const u32*)ram + (where >> 2 & 31));
                v = (in_rom ? found : found >> (where & 3) * 8) & 255;
                if (in_rom ? found & WORD_READ : (where & 0x280) != 0x80) {
                    if (in_rom || !(where & 0x88) || !plain || how & WRITES || odd) {
                        odd = 1;
                    } else {
                        v = port(where, last, after);
                        if (!(where & 0x80)) touched_last = 0, touched_at = after;
                    }
                }
            }
            const u32 in_ram = (where & 0x1280) == 0x80;
            if (how & WRITES && !in_ram && ((where & 0x1080) != 0 | IS_SLOW_WRITE(where & 63, after))) odd = 1;
            if (odd) break;

            left -= 1;
            t = after;
            place += how >> 3 & 3;
            COMBINE
            BRANCH
            ahead = rom[place];  // before anything long, which memory has time for then
            if (how & WRITES) {
                if (in_ram) ram[where & 127] = (u8)result;
                else TIA_WRITE(where & 63, result, queue)
            }
            if (how & SPECIAL || (how & DECIMAL && modes & 8) || NEEDS_SLOW_FETCH(ahead)) {
                if (how & SPECIAL) {
                    u32 s = axys >> 24;
                    switch (word & 255) {
                        case 0x4C:
                            if (is_fe) odd = 1;
                            else JUMP(ABSOLUTE)
                            break;
                        case 0x20:
                            if (is_fe || s < 129) {
                                odd = 1;
                            } else {
                                const u32 from = PC - 1;
                                ram[s & 127] = (u8)(from >> 8);
                                ram[s - 1 & 127] = (u8)from;
                                s -= 2;
                                JUMP(ABSOLUTE)
                            }
                            break;
                        case 0x60:
                            if (is_fe || s < 127 || s > 253) {
                                odd = 1;
                            } else {
                                const u32 low = ram[s + 1 & 127], high = ram[s + 2 & 127];
                                s += 2;
                                JUMP((low | high << 8) + 1)
                            }
                            break;
                        case 0x08: case 0x48: {
                            const u32 value = word & 0x40 ? axys & 255 : PACK_FLAGS;
                            if (s & 128) ram[s & 127] = (u8)value;
                            else if (IS_SLOW_WRITE(s & 63, t)) odd = 1;
                            else TIA_WRITE(s & 63, value, queue_noinline)
                            s -= 1;
                        } break;
                        case 0x28: case 0x68: {
                            u32 value = ram[s + 1 & 127];
                            if (s < 127 && s & s + 1 & 8 && plain) {  // an input of the TIA; one that is read in vain before it leaves the same on the bus
                                value = port(0x101 + s, word & 255, t);
                                touched_last = 0, touched_at = t;
                            } else if (s < 127 || s == 255) {
                                odd = 1;
                                break;
                            }
                            s += 1;
                            if (word & 0x40) nz = value, axys = pick(axys, value, 0x3214);
                            else UNPACK_FLAGS(value)
                        } break;
                        case 0x58: modes &= 8; break;
                        case 0x78: modes |= 4; break;
                        case 0xD8: modes &= 4; break;
                        case 0xF8: modes |= 8; break;
                        default: odd = 1;
                    }
                    if (odd) {  // it has done nothing yet
                        left += 1;
                        t -= how & 7;
                        place -= how >> 3 & 3;
                        ahead = word;
                        break;
                    }
                    axys = (axys & 0xFFFFFF) | s << 24;
                } else if (how & DECIMAL && modes & 8) COMBINE_DECIMALS
                ahead = rom[place];
                if (NEEDS_SLOW_FETCH(ahead)) {
                    const u32 pc = PC;
                    JUMP(pc)
                    ahead = rom[place];
                }
            }
        }
        touched = (u8)touched_last;
        if (clock_of(touched_at) > seen) seen = clock_of(touched_at);
        queued_writes = queued;
        if (__any_sync(warp_mask, queued_writes > WRITE_QUEUE_SIZE / 2)) flush_tia(warp_mask);
        if (!__any_sync(warp_mask, odd)) {
            next_line += 76;
        } else if (odd) {
            odd = 0;
            STORE_REGISTERS
            cycles = t, instructions = left;
            step_slow();
            t = cycles, left = instructions, ended = stop, touched_last = touched;
            LOAD_REGISTERS
            ahead = rom[place];
        }
        queued = queued_writes;
    }
    flush_tia(warp_mask);
    STORE_REGISTERS
    cycles = t;
    instructions = MAX_INSTRUCTIONS - left;
}

#endif
