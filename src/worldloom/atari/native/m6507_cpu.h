// The 6507 on a CPU: a console runs to the end of its frame, and each instruction leads to the next by a jump of its own, which the CPU learns to predict.
#if !defined(__CUDA_ARCH__)

#define SELDOM(condition) __builtin_expect(!!(condition), 0)
#define RESUME { if (SELDOM(shown != slices)) { shown = slices; LOOK_CLOSER(PC) } if (SELDOM(stop)) HALT }
#define HALT { unused += left; left = 0; }
#define OPCODE(code) at_##code:
#define OTHERWISE at_others:
#define NEXT { \
    if (SELDOM(--left < 0)) break; \
    word = rom[place]; \
    if (SELDOM(word & (WORD_FETCH | WORD_POLL))) goto closer; \
    const void* way = ways[word & 255]; \
    __asm__ volatile(""); /* compilers would join the ways again */ \
    goto *way; }

#define READ_ZERO(target, address, last) { u32 from = (address) & 255; if (from & 128) target = ram[from & 127]; else READ_SLOWLY(target, from, last) }
#define WRITE(address, value) { u32 onto = (address); if ((onto & 0x1280) == 0x80) ram[onto & 127] = (u8)(value); else WRITE_SLOWLY(onto, value) }
#define WRITE_ZERO(address, value) { u32 onto = (address) & 255; if (onto & 128) ram[onto & 127] = (u8)(value); else { t = poke_tia(onto, (value) & 255, t); RESUME } }
#define CARRY_OF(index) ((LOW + (index)) >> 8)

// One operation on a byte v, over the ways to address it; what changes a byte v in memory; what stores one.
#define IMMEDIATE(code, ...) OPCODE(code) { t += 2; place += 2; u32 v = LOW; __VA_ARGS__ } NEXT
#define ZERO_PAGE(code, ...) OPCODE(code) { t += 3; place += 2; u32 v; READ_ZERO(v, LOW, LOW) __VA_ARGS__ } NEXT
#define ZERO_INDEXED(code, index, ...) OPCODE(code) { t += 4; place += 2; u32 v; READ_ZERO(v, LOW + index, LOW) __VA_ARGS__ } NEXT
#define DIRECT(code, ...) OPCODE(code) { t += 4; place += 3; u32 v; READ(v, ABSOLUTE, HIGH) __VA_ARGS__ } NEXT
#define INDEXED(code, index, ...) OPCODE(code) { t += 4 + CARRY_OF(index); place += 3; u32 v; READ(v, ABSOLUTE + index, HIGH) __VA_ARGS__ } NEXT
#define INDIRECT_X(code, ...) OPCODE(code) { t += 6; place += 2; u32 p, v; POINTER(p, LOW + x) READ(v, p, p >> 8) __VA_ARGS__ } NEXT
#define INDIRECT_Y(code, ...) OPCODE(code) { \
    t += 5; place += 2; u32 p, v; POINTER(p, LOW) t += ((p & 255) + y) >> 8; READ(v, p + y, p >> 8) __VA_ARGS__ } NEXT
#define EIGHT_WAYS(immediate, zero, zero_x, direct, direct_x, direct_y, indirect_x, indirect_y, ...) \
    IMMEDIATE(immediate, __VA_ARGS__) ZERO_PAGE(zero, __VA_ARGS__) ZERO_INDEXED(zero_x, x, __VA_ARGS__) DIRECT(direct, __VA_ARGS__) \
    INDEXED(direct_x, x, __VA_ARGS__) INDEXED(direct_y, y, __VA_ARGS__) INDIRECT_X(indirect_x, __VA_ARGS__) INDIRECT_Y(indirect_y, __VA_ARGS__)

#define CHANGE_ZERO(code, count, address, ...) OPCODE(code) { \
    t += count; place += 2; u32 where = (address), v; READ_ZERO(v, where, LOW) __VA_ARGS__ WRITE_ZERO(where, v) } NEXT
#define CHANGE(code, count, address, ...) OPCODE(code) { \
    t += count; place += 3; u32 where = (address), v; READ(v, where, HIGH) __VA_ARGS__ WRITE(where, v) } NEXT
#define FOUR_WAYS(zero, zero_x, direct, direct_x, ...) \
    CHANGE_ZERO(zero, 5, LOW, __VA_ARGS__) CHANGE_ZERO(zero_x, 6, LOW + x, __VA_ARGS__) \
    CHANGE(direct, 6, ABSOLUTE, __VA_ARGS__) CHANGE(direct_x, 7, ABSOLUTE + x, __VA_ARGS__)

#define STORE_ZERO(code, count, address, value) OPCODE(code) { t += count; place += 2; WRITE_ZERO(address, value) } NEXT
#define STORE(code, count, address, value) OPCODE(code) { t += count; place += 3; WRITE(address, value) } NEXT
#define STORE_INDIRECT_X(code, value) OPCODE(code) { t += 6; place += 2; u32 p; POINTER(p, LOW + x) WRITE(p, value) } NEXT
#define STORE_INDIRECT_Y(code, value) OPCODE(code) { t += 6; place += 2; u32 p; POINTER(p, LOW) WRITE(p + y, value) } NEXT
#define PLAIN(code, ...) OPCODE(code) { t += 2; place += 1; __VA_ARGS__ } NEXT
#define BRANCH(code, condition) OPCODE(code) { \
    t += 2; \
    place += 2; \
    if (condition) TAKE_BRANCH } NEXT

#define COMPARE(with) { u32 r = (with) + 256 - v; carry = r >> 8; nz = r & 255; }
#define ADD { if (modes & 8) { u32 r = add_decimal(a, v, carry); TAKE_DECIMAL(a) } else { \
    u32 r = a + v + carry; over = ~(a ^ v) & (a ^ r) & 128; carry = r >> 8; nz = a = r & 255; } }
#define SUBTRACT { if (modes & 8) { u32 r = subtract_decimal(a, v, carry); TAKE_DECIMAL(a) } else { \
    u32 r = a + (v ^ 255) + carry; over = (a ^ v) & (a ^ r) & 128; carry = r >> 8; nz = a = r & 255; } }
#define TEST nz = (a & v ? 1 : 0) | (v & 128) << 8; over = v & 64;
#define SHIFT_LEFT carry = v >> 7; v = v << 1 & 255; nz = v;
#define SHIFT_RIGHT carry = v & 1; v >>= 1; nz = v;
#define ROTATE_LEFT { u32 r = v << 1 | carry; carry = v >> 7; nz = v = r & 255; }
#define ROTATE_RIGHT { u32 r = v >> 1 | carry << 7; carry = v & 1; nz = v = r; }
#define PUT_DOWN this->pc = (u16)PC, this->a = (u8)a, this->x = (u8)x, this->y = (u8)y, this->s = (u8)s, this->p = (u8)PACK_FLAGS;
#define PICK_UP a = this->a, x = this->x, y = this->y, s = this->s, shown = slices; UNPACK_FLAGS(this->p) JUMP((u32)this->pc)

CUDA_CALLABLE void run() {
#define AT(code) &&at_##code
#define ANY &&at_others
    static const void* const ways[256] = {
        AT(00), AT(01), ANY, ANY, ANY, AT(05), AT(06), ANY, AT(08), AT(09), AT(0A), ANY, ANY, AT(0D), AT(0E), ANY,
        AT(10), AT(11), ANY, ANY, ANY, AT(15), AT(16), ANY, AT(18), AT(19), ANY, ANY, ANY, AT(1D), AT(1E), ANY,
        AT(20), AT(21), ANY, ANY, AT(24), AT(25), AT(26), ANY, AT(28), AT(29), AT(2A), ANY, AT(2C), AT(2D), AT(2E), ANY,
        AT(30), AT(31), ANY, ANY, ANY, AT(35), AT(36), ANY, AT(38), AT(39), ANY, ANY, ANY, AT(3D), AT(3E), ANY,
        AT(40), AT(41), ANY, ANY, ANY, AT(45), AT(46), ANY, AT(48), AT(49), AT(4A), ANY, AT(4C), AT(4D), AT(4E), ANY,
        AT(50), AT(51), ANY, ANY, ANY, AT(55), AT(56), ANY, AT(58), AT(59), ANY, ANY, ANY, AT(5D), AT(5E), ANY,
        AT(60), AT(61), ANY, ANY, ANY, AT(65), AT(66), ANY, AT(68), AT(69), AT(6A), ANY, AT(6C), AT(6D), AT(6E), ANY,
        AT(70), AT(71), ANY, ANY, ANY, AT(75), AT(76), ANY, AT(78), AT(79), ANY, ANY, ANY, AT(7D), AT(7E), ANY,
        ANY, AT(81), ANY, ANY, AT(84), AT(85), AT(86), ANY, AT(88), ANY, AT(8A), ANY, AT(8C), AT(8D), AT(8E), ANY,
        AT(90), AT(91), ANY, ANY, AT(94), AT(95), AT(96), ANY, AT(98), AT(99), AT(9A), ANY, ANY, AT(9D), ANY, ANY,
        AT(A0), AT(A1), AT(A2), ANY, AT(A4), AT(A5), AT(A6), ANY, AT(A8), AT(A9), AT(AA), ANY, AT(AC), AT(AD), AT(AE), ANY,
        AT(B0), AT(B1), ANY, ANY, AT(B4), AT(B5), AT(B6), ANY, AT(B8), AT(B9), AT(BA), ANY, AT(BC), AT(BD), AT(BE), ANY,
        AT(C0), AT(C1), ANY, ANY, AT(C4), AT(C5), AT(C6), ANY, AT(C8), AT(C9), AT(CA), ANY, AT(CC), AT(CD), AT(CE), ANY,
        AT(D0), AT(D1), ANY, ANY, ANY, AT(D5), AT(D6), ANY, AT(D8), AT(D9), ANY, ANY, ANY, AT(DD), AT(DE), ANY,
        AT(E0), AT(E1), ANY, ANY, AT(E4), AT(E5), AT(E6), ANY, AT(E8), AT(E9), AT(EA), ANY, AT(EC), AT(ED), AT(EE), ANY,
        AT(F0), AT(F1), ANY, ANY, ANY, AT(F5), AT(F6), ANY, AT(F8), AT(F9), ANY, ANY, ANY, AT(FD), AT(FE), ANY};
    const u32* const rom = this->rom;
    const u32 open = rom_slices << 10;
    u32 a, x, y, s, shown, place, lift, nz, carry, over, modes, word;
    s32 t = cycles, left = MOST_INSTRUCTIONS, unused = 0;
    PICK_UP
    while (--left >= 0) {
        word = rom[place];
        if (word & (WORD_FETCH | WORD_POLL)) {
        closer:
            LOOK_AT_INSTRUCTION
        }
        goto *ways[word & 255];
        {
            EIGHT_WAYS(09, 05, 15, 0D, 1D, 19, 01, 11, nz = a |= v;)
            EIGHT_WAYS(29, 25, 35, 2D, 3D, 39, 21, 31, nz = a &= v;)
            EIGHT_WAYS(49, 45, 55, 4D, 5D, 59, 41, 51, nz = a ^= v;)
            EIGHT_WAYS(69, 65, 75, 6D, 7D, 79, 61, 71, ADD)
            EIGHT_WAYS(A9, A5, B5, AD, BD, B9, A1, B1, nz = a = v;)
            EIGHT_WAYS(C9, C5, D5, CD, DD, D9, C1, D1, COMPARE(a))
            EIGHT_WAYS(E9, E5, F5, ED, FD, F9, E1, F1, SUBTRACT)
            FOUR_WAYS(06, 16, 0E, 1E, SHIFT_LEFT)
            FOUR_WAYS(26, 36, 2E, 3E, ROTATE_LEFT)
            FOUR_WAYS(46, 56, 4E, 5E, SHIFT_RIGHT)
            FOUR_WAYS(66, 76, 6E, 7E, ROTATE_RIGHT)
            FOUR_WAYS(C6, D6, CE, DE, nz = v = (v - 1) & 255;)
            FOUR_WAYS(E6, F6, EE, FE, nz = v = (v + 1) & 255;)
            PLAIN(0A, u32 v = a; SHIFT_LEFT a = v;)
            PLAIN(2A, u32 v = a; ROTATE_LEFT a = v;)
            PLAIN(4A, u32 v = a; SHIFT_RIGHT a = v;)
            PLAIN(6A, u32 v = a; ROTATE_RIGHT a = v;)
            IMMEDIATE(A2, nz = x = v;)
            ZERO_PAGE(A6, nz = x = v;)
            ZERO_INDEXED(B6, y, nz = x = v;)
            DIRECT(AE, nz = x = v;)
            INDEXED(BE, y, nz = x = v;)
            IMMEDIATE(A0, nz = y = v;)
            ZERO_PAGE(A4, nz = y = v;)
            ZERO_INDEXED(B4, x, nz = y = v;)
            DIRECT(AC, nz = y = v;)
            INDEXED(BC, x, nz = y = v;)
            IMMEDIATE(E0, COMPARE(x))
            ZERO_PAGE(E4, COMPARE(x))
            DIRECT(EC, COMPARE(x))
            IMMEDIATE(C0, COMPARE(y))
            ZERO_PAGE(C4, COMPARE(y))
            DIRECT(CC, COMPARE(y))
            ZERO_PAGE(24, TEST)
            DIRECT(2C, TEST)

            STORE_ZERO(85, 3, LOW, a)
            STORE_ZERO(95, 4, LOW + x, a)
            STORE(8D, 4, ABSOLUTE, a)
            STORE(9D, 5, ABSOLUTE + x, a)
            STORE(99, 5, ABSOLUTE + y, a)
            STORE_INDIRECT_X(81, a)
            STORE_INDIRECT_Y(91, a)
            STORE_ZERO(86, 3, LOW, x)
            STORE_ZERO(96, 4, LOW + y, x)
            STORE(8E, 4, ABSOLUTE, x)
            STORE_ZERO(84, 3, LOW, y)
            STORE_ZERO(94, 4, LOW + x, y)
            STORE(8C, 4, ABSOLUTE, y)

            BRANCH(10, !IS_NEGATIVE)
            BRANCH(30, IS_NEGATIVE)
            BRANCH(50, !over)
            BRANCH(70, over)
            BRANCH(90, !carry)
            BRANCH(B0, carry)
            BRANCH(D0, !IS_ZERO)
            BRANCH(F0, IS_ZERO)

            PLAIN(18, carry = 0;)
            PLAIN(38, carry = 1;)
            PLAIN(58, modes &= 8;)
            PLAIN(78, modes |= 4;)
            PLAIN(B8, over = 0;)
            PLAIN(D8, modes &= 4;)
            PLAIN(F8, modes |= 8;)
            PLAIN(AA, nz = x = a;)
            PLAIN(A8, nz = y = a;)
            PLAIN(8A, nz = a = x;)
            PLAIN(98, nz = a = y;)
            PLAIN(BA, nz = x = s;)
            PLAIN(9A, s = x;)
            PLAIN(CA, nz = x = (x - 1) & 255;)
            PLAIN(88, nz = y = (y - 1) & 255;)
            PLAIN(E8, nz = x = (x + 1) & 255;)
            PLAIN(C8, nz = y = (y + 1) & 255;)
            PLAIN(EA, )

            OPCODE(48) { t += 3; place += 1; PUSH(a) } NEXT
            OPCODE(08) { t += 3; place += 1; PUSH(PACK_FLAGS) } NEXT
            OPCODE(68) { t += 4; place += 1; PULL(a) nz = a; } NEXT
            OPCODE(28) { t += 4; place += 1; u32 v; PULL(v) UNPACK_FLAGS(v) } NEXT
            OPCODE(4C) { t += 3; GO_TO(ABSOLUTE) } NEXT
            OPCODE(6C) { t += 5; JUMP_BY_POINTER } NEXT
            OPCODE(20) { t += 6; u32 from = PC + 2; PUSH(from >> 8) PUSH(from) GO_TO(ABSOLUTE) } NEXT
            OPCODE(60) { t += 6; u32 low, high; PULL(low) PULL(high) GO_TO((low | high << 8) + 1) } NEXT
            OPCODE(40) { t += 6; u32 v, low, high; PULL(v) UNPACK_FLAGS(v) PULL(low) PULL(high) GO_TO(low | high << 8) } NEXT
            OPCODE(00) { t += 7; BREAK_FROM(PC + 2) } NEXT
            OTHERWISE RUN_UNDOCUMENTED NEXT
        }
    }
    PUT_DOWN
    cycles = t;
    instructions = MOST_INSTRUCTIONS - unused;
}

#endif
