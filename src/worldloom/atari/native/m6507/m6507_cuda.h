// The 6507 on a GPU. The consoles of a warp run different instructions, and a branch per instruction would serialize
// them. So all instructions share one code path, controlled by their entry in OPCODE_TABLE (opcode_table.py): read a
// byte, combine it with a register, store the result. Only rare operations are behind conditions. A, X, Y and S share
// one word; `pick` extracts and inserts them.
//
// All consoles of a warp run the same scanline: one that is ahead, because it skipped the iterations of a loop, waits
// for the others. So does one that reaches an odd instruction: one that switches banks, reads a collision, sets the
// timer, must be fetched byte by byte or is undocumented. When all others have finished the scanline or wait as well,
// the odd instructions run together on the slow path (slow_path_cuda.h). The loop therefore calls next to nothing. A
// GPU keeps the reconvergence points of divergent threads in a dozen registers. Around deep calls there are too few of
// them, and a condition with such a call behind it costs forty cycles, taken or not, to spill and restore one.
#if defined(__CUDA_ARCH__)

#define SELF this->
#define RESUME { shown = slices; }
#define ON_SLOW_PATH(...) { __VA_ARGS__ RESUME }
#define MAY_SKIP left
#define SKIP(count) left -= (count);
#define STORE_REGISTERS \
    this->pc = (u16)PC, this->a = (u8)axys, this->x = (u8)(axys >> 8), this->y = (u8)(axys >> 16), this->s = (u8)(axys >> 24), this->p = (u8)PACK_FLAGS;
#define LOAD_REGISTERS axys = this->a | this->x << 8 | this->y << 16 | (u32)this->s << 24, shown = slices; UNPACK_FLAGS(this->p) JUMP((u32)this->pc)

// Decodes the instruction in `word` and the address of its operand. `last` is the previous byte on the bus.
#define DECODE \
    const unsigned long long opcode_entry = OPCODE_TABLE[word & 255]; \
    const u32 what = (u32)opcode_entry, how = (u32)(opcode_entry >> 32); \
    const u32 reach = how & PAGE_ZERO ? 0xFF : 0xFFFF, index = pick(axys, 0, what >> 16); \
    u32 where = (ABSOLUTE & reach) + index & reach, last = how & PAGE_ZERO ? LOW : HIGH, crossed = LOW + index;
#define FOLLOW(pointer) { \
    const u32 by = word & 0x10 ? axys >> 16 & 255 : 0; \
    where = (pointer) + by, last = (pointer) >> 8, crossed = ((pointer) & 255) + by; }
// The operation on the byte v.
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
// Branches test N, V, C or Z, by the two highest bits of the opcode; the next bit is the value tested for.
#define BRANCH \
    if (how & BRANCHES) { \
        const u32 flags = (IS_NEGATIVE ? 1 : 0) | (over ? 2 : 0) | carry << 2 | (IS_ZERO ? 8 : 0); \
        if ((flags >> (word >> 6 & 3) & 1) == (word >> 5 & 1)) TAKE_BRANCH \
    }
#define NEEDS_SLOW_FETCH(word) ((word) & (WORD_FETCH | WORD_POLL))

// Whether a TIA write needs the slow path: it may end the frame or switch banks, the queue is full, or its cycle is too
// late.
#define IS_SLOW_WRITE(number, at) (!plain | !(number) | queued == WRITE_QUEUE_SIZE | (at) >= fast_path_end)
// Any other write. WSYNC advances t.
#define TIA_WRITE(number, value, queue) { \
    touched_last = (number), touched_at = t; \
    if (touched_last == 0x02) t = end_of_line(t); \
    else queued = queue(touched_last, value, t, queued); }

enum : s32 { NOT_YET = -0x10000000 };  // a cycle before all others

// Bytes of two words, as __byte_perm, which would first clear the highest bit of each selector digit. Ours never set
// it.
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
            // Everything about the instruction that does not change state.
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
            ahead = rom[place];  // prefetched before long operations
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
                            // An input of the TIA; the dummy read before it leaves the same byte on the bus.
                            if (s < 127 && s & s + 1 & 8 && plain) {
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
                    if (odd) {  // it has not changed any state yet
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
