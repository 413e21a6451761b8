// The 6507. Instructions run until the TIA ends the frame or too many have run.
// All cycles of an instruction are counted before it touches memory: an access sees the time at the end of its instruction.

// Registers and flags live in local variables:
//   nz      result of the last operation: Z where its low byte is 0, N by its bits 7 and 15
//   carry   0 or 1
//   over    V where it is not 0
//   modes   D (8) and I (4)
//   t       cycles
//   shown   slices

#define SLICE_OF(address) (((shown >> (((address) >> 7) & 24)) & 255) << 10)
#define ROM_AT(address) rom[whole ? base + ((address) & 4095) : SLICE_OF(address) | ((address) & 1023)]
// After an access that may have switched banks or ended the frame. Nothing is known of the page of the program then.
#define RESUME { shown = slices; base = (shown & 255) << 10; page = NO_PAGE; if (stop) HALT }
// The consoles of a warp meet again at the end of every line; on a CPU each runs on to the end of its frame.
#if defined(__CUDA_ARCH__)
#define NEXT t < line_end
#define HALT line_end = -0x7FFFFFFF;
#else
#define NEXT left > 0
#define HALT { unused += left; left = 0; }
#endif
#define READ_SLOWLY(target, address, last) { target = peek(address, last, t); RESUME }
#define READ(target, address, last) { \
    u32 from = (address); \
    if (from & 0x1000) target = ROM_AT(from); \
    else if ((from & 0x280) == 0x80) target = ram[from & 127]; \
    else target = WORD_READ; \
    if (target & WORD_READ) READ_SLOWLY(target, from, last) \
    target &= 255; }
#define READ_ZERO(target, address, last) { u32 from = (address) & 255; if (from & 128) target = ram[from & 127]; else READ_SLOWLY(target, from, last) }
#define WRITE(address, value) { \
    u32 to = (address); \
    if ((to & 0x1280) == 0x80) ram[to & 127] = (u8)(value); \
    else { t = poke(to, (value) & 255, t); RESUME } }
#define WRITE_ZERO(address, value) { u32 to = (address) & 255; if (to & 128) ram[to & 127] = (u8)(value); else { t = poke(to, (value) & 255, t); RESUME } }
#define PUSH(value) { WRITE_ZERO_STACK(value) s = (s - 1) & 255; }
#define WRITE_ZERO_STACK(value) if (s & 128) ram[s & 127] = (u8)(value); else { t = poke(0x100 | s, (value) & 255, t); RESUME }
#define PULL(target) { s = (s + 1) & 255; if (s & 128) target = ram[s & 127]; else READ_SLOWLY(target, 0x100 | s, word & 255) }
#define POINTER(target, address) { u32 at = (address) & 255; if (at & 128 && at != 255) target = ram[at & 127] | ram[(at & 127) + 1] << 8; else { target = pointer_at(at, LOW, t); RESUME } }

#define LOW (word >> 8 & 255)
#define HIGH (word >> 16 & 255)
#define ABSOLUTE (word >> 8 & 0xFFFF)
#define CARRY_OF(index) ((LOW + (index)) >> 8)

// Cases of one operation on a byte v, over the ways to address it.
#define IMMEDIATE(opcode, ...) case opcode: { t += 2; pc += 2; u32 v = LOW; __VA_ARGS__ } break;
#define ZERO_PAGE(opcode, ...) case opcode: { t += 3; pc += 2; u32 v; READ_ZERO(v, LOW, LOW) __VA_ARGS__ } break;
#define ZERO_INDEXED(opcode, index, ...) case opcode: { t += 4; pc += 2; u32 v; READ_ZERO(v, LOW + index, LOW) __VA_ARGS__ } break;
#define DIRECT(opcode, ...) case opcode: { t += 4; pc += 3; u32 v; READ(v, ABSOLUTE, HIGH) __VA_ARGS__ } break;
#define INDEXED(opcode, index, ...) case opcode: { t += 4 + CARRY_OF(index); pc += 3; u32 v; READ(v, ABSOLUTE + index, HIGH) __VA_ARGS__ } break;
#define INDIRECT_X(opcode, ...) case opcode: { t += 6; pc += 2; u32 p, v; POINTER(p, LOW + x) READ(v, p, p >> 8) __VA_ARGS__ } break;
#define INDIRECT_Y(opcode, ...) case opcode: { t += 5; pc += 2; u32 p, v; POINTER(p, LOW) t += ((p & 255) + y) >> 8; READ(v, p + y, p >> 8) __VA_ARGS__ } break;
#define EIGHT_MODES(base, ...) \
    IMMEDIATE(base | 0x09, __VA_ARGS__) ZERO_PAGE(base | 0x05, __VA_ARGS__) ZERO_INDEXED(base | 0x15, x, __VA_ARGS__) DIRECT(base | 0x0D, __VA_ARGS__) \
    INDEXED(base | 0x1D, x, __VA_ARGS__) INDEXED(base | 0x19, y, __VA_ARGS__) INDIRECT_X(base | 0x01, __VA_ARGS__) INDIRECT_Y(base | 0x11, __VA_ARGS__)

// Cases that change a byte v in memory.
#define CHANGE(opcode, count, length, address, last, ...) case opcode: { t += count; pc += length; u32 where = (address), v; READ(v, where, last) __VA_ARGS__ WRITE(where, v) } break;
#define CHANGE_ZERO(opcode, count, address, ...) case opcode: { t += count; pc += 2; u32 where = (address), v; READ_ZERO(v, where, LOW) __VA_ARGS__ WRITE_ZERO(where, v) } break;
#define FOUR_CHANGES(base, ...) \
    CHANGE_ZERO(base | 0x06, 5, LOW, __VA_ARGS__) CHANGE_ZERO(base | 0x16, 6, LOW + x, __VA_ARGS__) \
    CHANGE(base | 0x0E, 6, 3, ABSOLUTE, HIGH, __VA_ARGS__) CHANGE(base | 0x1E, 7, 3, ABSOLUTE + x, HIGH, __VA_ARGS__)

#define STORE_ZERO(opcode, count, address, value) case opcode: t += count; pc += 2; WRITE_ZERO(address, value) break;
#define STORE(opcode, count, address, value) case opcode: t += count; pc += 3; WRITE(address, value) break;

#define BRANCH(opcode, condition) case opcode: t += 2; pc += 2; if (condition) { \
    u32 to = pc + (u32)(s32)(signed char)LOW; t += 1 + ((pc ^ to) >> 8 & 1); pc = to; } break;
#define PLAIN(opcode, ...) case opcode: { t += 2; pc += 1; __VA_ARGS__ } break;

#define COMPARE(with) { u32 r = (with) + 256 - v; carry = r >> 8; nz = r & 255; }
#define ADD { if (modes & 8) { DECIMAL(1) } else { u32 r = a + v + carry; over = ~(a ^ v) & (a ^ r) & 128; carry = r >> 8; nz = a = r & 255; } }
#define SUBTRACT { if (modes & 8) { DECIMAL(0) } else { u32 r = a + (v ^ 255) + carry; over = (a ^ v) & (a ^ r) & 128; carry = r >> 8; nz = a = r & 255; } }
#define DECIMAL(adds) u32 r = adds ? add_decimal(a, v, carry) : subtract_decimal(a, v, carry); a = r & 255; carry = r >> 8 & 1; over = r >> 9 & 1; nz = (r >> 10 & 1 ? 0 : 1) | (r >> 11 & 1) << 15;
#define SHIFT_LEFT carry = v >> 7; v = v << 1 & 255; nz = v;
#define SHIFT_RIGHT carry = v & 1; v >>= 1; nz = v;
#define ROTATE_LEFT { u32 r = v << 1 | carry; carry = v >> 7; nz = v = r & 255; }
#define ROTATE_RIGHT { u32 r = v >> 1 | carry << 7; carry = v & 1; nz = v = r; }
#define IS_ZERO (!(nz & 255))
#define IS_NEGATIVE (nz & 0x8080)
#define PACK_FLAGS ((IS_NEGATIVE ? 128u : 0u) | (over ? 64u : 0u) | 0x30u | modes | (IS_ZERO ? 2u : 0u) | carry)
#define UNPACK_FLAGS(flags) { u32 f = (flags); nz = (f & 2 ? 0 : 1) | (f & 128) << 8; over = f & 64; modes = f & 12; carry = f & 1; }
#define JUMPED if (kind == KIND_FE) { fe_jump(pc); RESUME }

// Decimal mode. Numbers go through plain ones, which also settles what digits above 9 give; C is right, N, V and Z are those of the decimal result.
// Bits 0 to 7 of what comes back are the result, 8: C, 9: V, 10: Z, 11: N.
CUDA_CALLABLE u32 from_digits(u32 digits) { return (digits >> 4) * 10 + (digits & 15); }

CUDA_CALLABLE u32 to_digits(u32 number) { return (number % 100 / 10) << 4 | number % 10; }

CUDA_CALLABLE u32 decimal_flags(u32 one, u32 other, u32 result) {
    return result | ((one ^ result) & (other ^ result) & 128) << 2 | (result ? 0u : 1024u) | (result & 128) << 4;
}

NOINLINE CUDA_CALLABLE u32 add_decimal(u32 one, u32 other, u32 carried) {
    u32 sum = from_digits(one) + from_digits(other) + carried;
    return decimal_flags(one, other, to_digits(sum & 255)) | (sum > 99 ? 256u : 0u);
}

NOINLINE CUDA_CALLABLE u32 subtract_decimal(u32 one, u32 other, u32 carried) {
    s32 rest = (s32)(from_digits(one) + carried) - (s32)from_digits(other) - 1;
    if (rest < 0) rest += 100;
    u32 result = rest < 0 ? from_digits((u32)rest & 255) : to_digits((u32)rest);
    return decimal_flags(one, other, result) | ((one + (other ^ 255) + carried) & 256);
}

CUDA_CALLABLE void start_cpu() {
    a = x = y = 0;
    s = 0xFF;
    p = 0x30;
    cycles = 0;
    if (kind == KIND_FE) slices = whole_bank(0);
    pc = (u16)(peek(0xFFFC, 0, 0) | peek(0xFFFD, 0, 0) << 8);
    if (kind == KIND_FE) fe_jump(pc);
}

CUDA_CALLABLE void run() {
    const u32 NO_PAGE = 0x80000000u;
    u32 pc = this->pc, a = this->a, x = this->x, y = this->y, s = this->s, shown = slices, nz, carry, over, modes;
    s32 t = cycles, left = MOST_INSTRUCTIONS, unused = 0;
    // Most cartridges show 4 KiB of their image as a whole: then `base` is where. Others show four slices, and `base` is that of `page`.
    const u32 whole = kind != KIND_E0 && kind != KIND_E7 && kind != KIND_3F && kind != KIND_CV, page_bits = NO_PAGE | (whole ? 0x1000 : 0x1C00), low_bits = whole ? 4095 : 1023;
    u32 page = NO_PAGE, base = (shown & 255) << 10;
    UNPACK_FLAGS(p)
    stop = 0;
    while (!stop && left > 0) {
#if defined(__CUDA_ARCH__)
        s32 line_end = left > 40 ? t + 76 - (t - line_phase + 76000) % 76 : t + 1;  // towards the end of its instructions step by step
#endif
        while (NEXT) {
            left -= 1;
            u32 word;
            if (!((pc ^ page) & page_bits)) {
                word = rom[base + (pc & low_bits)];
            } else if (pc & 0x1000) {
                page = pc;
                if (!whole) base = SLICE_OF(pc);
                word = ROM_AT(pc);
            } else {
                word = WORD_FETCH;
            }
            if (word & (WORD_FETCH | WORD_POLL)) {
                if (word & WORD_FETCH) {
                    word = fetch(pc, t);
                    RESUME
                } else {
                    s32 rounds = poll_rounds(pc, t, left);
                    t += rounds * poll_cycles(pc);
                    left -= rounds * 2;
                }
            }
            switch (word & 255) {
                EIGHT_MODES(0x00, nz = a |= v;)
                EIGHT_MODES(0x20, nz = a &= v;)
                EIGHT_MODES(0x40, nz = a ^= v;)
                EIGHT_MODES(0x60, ADD)
                EIGHT_MODES(0xA0, nz = a = v;)
                EIGHT_MODES(0xC0, COMPARE(a))
                EIGHT_MODES(0xE0, SUBTRACT)
                FOUR_CHANGES(0x00, SHIFT_LEFT)
                FOUR_CHANGES(0x20, ROTATE_LEFT)
                FOUR_CHANGES(0x40, SHIFT_RIGHT)
                FOUR_CHANGES(0x60, ROTATE_RIGHT)
                FOUR_CHANGES(0xC0, nz = v = (v - 1) & 255;)
                FOUR_CHANGES(0xE0, nz = v = (v + 1) & 255;)
                PLAIN(0x0A, u32 v = a; SHIFT_LEFT a = v;)
                PLAIN(0x2A, u32 v = a; ROTATE_LEFT a = v;)
                PLAIN(0x4A, u32 v = a; SHIFT_RIGHT a = v;)
                PLAIN(0x6A, u32 v = a; ROTATE_RIGHT a = v;)
                IMMEDIATE(0xA2, nz = x = v;)
                ZERO_PAGE(0xA6, nz = x = v;)
                ZERO_INDEXED(0xB6, y, nz = x = v;)
                DIRECT(0xAE, nz = x = v;)
                INDEXED(0xBE, y, nz = x = v;)
                IMMEDIATE(0xA0, nz = y = v;)
                ZERO_PAGE(0xA4, nz = y = v;)
                ZERO_INDEXED(0xB4, x, nz = y = v;)
                DIRECT(0xAC, nz = y = v;)
                INDEXED(0xBC, x, nz = y = v;)
                IMMEDIATE(0xE0, COMPARE(x))
                ZERO_PAGE(0xE4, COMPARE(x))
                DIRECT(0xEC, COMPARE(x))
                IMMEDIATE(0xC0, COMPARE(y))
                ZERO_PAGE(0xC4, COMPARE(y))
                DIRECT(0xCC, COMPARE(y))
                ZERO_PAGE(0x24, nz = (a & v ? 1 : 0) | (v & 128) << 8; over = v & 64;)
                DIRECT(0x2C, nz = (a & v ? 1 : 0) | (v & 128) << 8; over = v & 64;)

                STORE_ZERO(0x85, 3, LOW, a)
                STORE_ZERO(0x95, 4, LOW + x, a)
                STORE(0x8D, 4, ABSOLUTE, a)
                STORE(0x9D, 5, ABSOLUTE + x, a)
                STORE(0x99, 5, ABSOLUTE + y, a)
                case 0x81: { t += 6; pc += 2; u32 p; POINTER(p, LOW + x) WRITE(p, a) } break;
                case 0x91: { t += 6; pc += 2; u32 p; POINTER(p, LOW) WRITE(p + y, a) } break;
                STORE_ZERO(0x86, 3, LOW, x)
                STORE_ZERO(0x96, 4, LOW + y, x)
                STORE(0x8E, 4, ABSOLUTE, x)
                STORE_ZERO(0x84, 3, LOW, y)
                STORE_ZERO(0x94, 4, LOW + x, y)
                STORE(0x8C, 4, ABSOLUTE, y)

                BRANCH(0x10, !IS_NEGATIVE)
                BRANCH(0x30, IS_NEGATIVE)
                BRANCH(0x50, !over)
                BRANCH(0x70, over)
                BRANCH(0x90, !carry)
                BRANCH(0xB0, carry)
                BRANCH(0xD0, !IS_ZERO)
                BRANCH(0xF0, IS_ZERO)

                PLAIN(0x18, carry = 0;)
                PLAIN(0x38, carry = 1;)
                PLAIN(0x58, modes &= 8;)
                PLAIN(0x78, modes |= 4;)
                PLAIN(0xB8, over = 0;)
                PLAIN(0xD8, modes &= 4;)
                PLAIN(0xF8, modes |= 8;)
                PLAIN(0xAA, nz = x = a;)
                PLAIN(0xA8, nz = y = a;)
                PLAIN(0x8A, nz = a = x;)
                PLAIN(0x98, nz = a = y;)
                PLAIN(0xBA, nz = x = s;)
                PLAIN(0x9A, s = x;)
                PLAIN(0xCA, nz = x = (x - 1) & 255;)
                PLAIN(0x88, nz = y = (y - 1) & 255;)
                PLAIN(0xE8, nz = x = (x + 1) & 255;)
                PLAIN(0xC8, nz = y = (y + 1) & 255;)
                PLAIN(0xEA, )

                case 0x48: t += 3; pc += 1; PUSH(a) break;
                case 0x08: t += 3; pc += 1; PUSH(PACK_FLAGS) break;
                case 0x68: t += 4; pc += 1; PULL(a) nz = a; break;
                case 0x28: { t += 4; pc += 1; u32 v; PULL(v) UNPACK_FLAGS(v) } break;
                case 0x4C: t += 3; pc = ABSOLUTE; JUMPED break;
                case 0x6C: {
                    t += 5;
                    u32 low, high;
                    READ(low, ABSOLUTE, HIGH)
                    READ(high, (ABSOLUTE & 0xFF00) | ((ABSOLUTE + 1) & 255), low)  // the carry does not reach the high byte
                    pc = low | high << 8;
                    JUMPED
                } break;
                case 0x20: t += 6; PUSH((pc + 2) >> 8) PUSH(pc + 2) pc = ABSOLUTE; JUMPED break;
                case 0x60: { t += 6; u32 low, high; PULL(low) PULL(high) pc = (low | high << 8) + 1; JUMPED } break;
                case 0x40: { t += 6; u32 v, low, high; PULL(v) UNPACK_FLAGS(v) PULL(low) PULL(high) pc = low | high << 8; JUMPED } break;
                case 0x00: {
                    t += 7;
                    PUSH((pc + 2) >> 8)
                    PUSH(pc + 2)
                    PUSH(PACK_FLAGS)
                    modes |= 4;
                    u32 low, high;
                    READ(low, 0xFFFE, s)
                    READ(high, 0xFFFF, low)
                    pc = low | high << 8;
                    JUMPED
                } break;

                default:
                    this->pc = (u16)pc, this->a = (u8)a, this->x = (u8)x, this->y = (u8)y, this->s = (u8)s, p = (u8)PACK_FLAGS;
                    t = run_undocumented(word, t);
                    pc = this->pc, a = this->a, x = this->x, y = this->y, s = this->s;
                    UNPACK_FLAGS(p)
                    RESUME
                    break;
            }
        }
    }
    this->pc = (u16)pc, this->a = (u8)a, this->x = (u8)x, this->y = (u8)y, this->s = (u8)s, p = (u8)PACK_FLAGS;
    cycles = t;
    instructions = MOST_INSTRUCTIONS - left - unused;
}
