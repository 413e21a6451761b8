// The 6507 on a CPU. Each instruction is a function that ends with a tail call of the next one: the CPU predicts these
// jumps separately, and the 6507's registers stay in machine registers. A function that calls another must save them
// first. So each instruction has two functions: a fast path, which calls nothing, and a slow path, to which the fast
// path jumps when it would need a call (fast_path_cpu.h, slow_path_cpu.h, instructions_cpu.h).
#if !defined(__CUDA_ARCH__)

#if defined(__has_attribute)
#if __has_attribute(preserve_none)
#define PRESERVE_NONE __attribute__((preserve_none))  // nearly all registers may then hold arguments: twelve on x86-64
#endif
#endif
#if !defined(PRESERVE_NONE)
#define PRESERVE_NONE
#endif

// The arguments of all handlers. `handlers` is the table, indexed by opcode and by TIA register.
#define STATE Machine &m, unsigned long long place, u32 word, s32 t, u32 left, u32 a, u32 x, u32 y, u32 nz, u32 carry, const void* const* handlers
typedef void (*Handler)(STATE) PRESERVE_NONE;
enum : u32 { FAST_PATH = 0, SLOW_PATH = 256, TIA_WRITE = 512, TIA_WRITE_FULL = 576, SLOW_FETCH = 640, END, HANDLERS };
#define TAIL_CALL(handler) { [[clang::musttail]] return ((Handler)handlers[handler])(m, place, word, t, left, a, x, y, nz, carry, handlers); }

// State of the 6507 that is not among the arguments, and other names that handlers use.
#define FIELDS \
    const u32 *const rom = m.rom, &slices = m.slices, &stop = m.stop, kind = m.kind, open = m.rom_slices << 10; \
    u32 &shown = m.shown, &lift = m.lift, &over = m.overflow, &modes = m.modes; \
    u8 *const ram = m.ram, &s = m.s;
#define SELF m.
#define STORE_REGISTERS m.pc = (u16)PC, m.a = (u8)a, m.x = (u8)x, m.y = (u8)y, m.p = (u8)PACK_FLAGS;
#define LOAD_REGISTERS a = m.a, x = m.x, y = m.y, shown = slices; UNPACK_FLAGS(m.p) JUMP((u32)m.pc)

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define RESUME { if (UNLIKELY(shown != slices)) { shown = slices; FORCE_SLOW_FETCH(PC) } if (UNLIKELY(stop)) HALT }
#define HALT { m.instructions -= left; left = 0; }
#define MAY_SKIP (MAX_INSTRUCTIONS - m.instructions)
#define SKIP(count) m.instructions += (count);
#define NEXT \
    if (UNLIKELY(__builtin_sub_overflow(left, 1u, &left))) TAIL_CALL(END) \
    word = rom[place]; \
    if (UNLIKELY(word & (WORD_FETCH | WORD_POLL))) TAIL_CALL(SLOW_FETCH) \
    TAIL_CALL(FAST_PATH + (word & 255))
#define FUNCTION(name, ...) PRESERVE_NONE static void name(STATE) { FIELDS __VA_ARGS__ NEXT }

#define READ_ZERO(target, address, last) { \
    u32 from = (address) & 255; \
    if (from & 128) target = ram[from & 127]; else ON_SLOW_PATH(target = m.peek(from, last, t);) }
#define WRITE(address, value) { u32 onto = (address); if ((onto & 0x1280) == 0x80) ram[onto & 127] = (u8)(value); else WRITE_SLOW(onto, value) }
#define WRITE_ZERO(address, value) { u32 onto = (address) & 255; if (onto & 128) ram[onto & 127] = (u8)(value); else STORE_TIA(onto, (value) & 255) }
#define CARRY_OF(index) ((LOW + (index)) >> 8)

// An operation on a byte v by addressing mode; an operation that modifies a byte v in memory; stores.
#define IMMEDIATE(code, ...) OPCODE(code, t += 2; place += 2; u32 v = LOW; __VA_ARGS__)
#define ZERO_PAGE(code, ...) OPCODE(code, t += 3; place += 2; u32 v; READ_ZERO(v, LOW, LOW) __VA_ARGS__)
#define ZERO_INDEXED(code, index, ...) OPCODE(code, t += 4; place += 2; u32 v; READ_ZERO(v, LOW + index, LOW) __VA_ARGS__)
#define DIRECT(code, ...) OPCODE(code, t += 4; place += 3; u32 v; READ(v, ABSOLUTE, HIGH) __VA_ARGS__)
#define INDEXED(code, index, ...) OPCODE(code, t += 4 + CARRY_OF(index); place += 3; u32 v; READ(v, ABSOLUTE + index, HIGH) __VA_ARGS__)
#define INDIRECT_X(code, ...) OPCODE(code, t += 6; place += 2; u32 p, v; POINTER(p, LOW + x) READ(v, p, p >> 8) __VA_ARGS__)
#define INDIRECT_Y(code, ...) OPCODE(code, \
    t += 5; place += 2; u32 p, v; POINTER(p, LOW) t += ((p & 255) + y) >> 8; READ(v, p + y, p >> 8) __VA_ARGS__)
#define EIGHT_MODES(immediate, zero, zero_x, direct, direct_x, direct_y, indirect_x, indirect_y, ...) \
    IMMEDIATE(immediate, __VA_ARGS__) ZERO_PAGE(zero, __VA_ARGS__) ZERO_INDEXED(zero_x, x, __VA_ARGS__) DIRECT(direct, __VA_ARGS__) \
    INDEXED(direct_x, x, __VA_ARGS__) INDEXED(direct_y, y, __VA_ARGS__) INDIRECT_X(indirect_x, __VA_ARGS__) INDIRECT_Y(indirect_y, __VA_ARGS__)

#define CHANGE_ZERO(code, count, address, ...) OPCODE(code, \
    t += count; place += 2; u32 where = (address), v; READ_ZERO(v, where, LOW) __VA_ARGS__ WRITE_ZERO(where, v))
#define CHANGE(code, count, address, ...) OPCODE(code, \
    t += count; place += 3; u32 where = (address), v; CHANGES(where) READ(v, where, HIGH) __VA_ARGS__ WRITE(where, v))
#define FOUR_MODES(zero, zero_x, direct, direct_x, ...) \
    CHANGE_ZERO(zero, 5, LOW, __VA_ARGS__) CHANGE_ZERO(zero_x, 6, LOW + x, __VA_ARGS__) \
    CHANGE(direct, 6, ABSOLUTE, __VA_ARGS__) CHANGE(direct_x, 7, ABSOLUTE + x, __VA_ARGS__)

#define STORE_ZERO(code, count, address, value) OPCODE(code, t += count; place += 2; WRITE_ZERO(address, value))
#define STORE(code, count, address, value) OPCODE(code, t += count; place += 3; WRITE(address, value))
#define STORE_INDIRECT_X(code, value) OPCODE(code, t += 6; place += 2; u32 p; POINTER(p, LOW + x) WRITE(p, value))
#define STORE_INDIRECT_Y(code, value) OPCODE(code, t += 6; place += 2; u32 p; POINTER(p, LOW) WRITE(p + y, value))
#define PLAIN(code, ...) OPCODE(code, t += 2; place += 1; __VA_ARGS__)
#define BRANCH(code, condition) OPCODE(code, \
    t += 2; \
    place += 2; \
    if (condition) TAKE_BRANCH)

#define COMPARE(with) { u32 r = (with) + 256 - v; carry = r >> 8; nz = r & 255; }
#define ADD { if (UNLIKELY(modes & 8)) ON_SLOW_PATH(const u32 r = m.add_decimal(a, v, carry); TAKE_DECIMAL(a)) else { \
    u32 r = a + v + carry; over = ~(a ^ v) & (a ^ r) & 128; carry = r >> 8; nz = a = r & 255; } }
#define SUBTRACT { if (UNLIKELY(modes & 8)) ON_SLOW_PATH(const u32 r = m.subtract_decimal(a, v, carry); TAKE_DECIMAL(a)) else { \
    u32 r = a + (v ^ 255) + carry; over = (a ^ v) & (a ^ r) & 128; carry = r >> 8; nz = a = r & 255; } }
#define TEST nz = (a & v ? 1 : 0) | (v & 128) << 8; over = v & 64;
#define SHIFT_LEFT carry = v >> 7; v = v << 1 & 255; nz = v;
#define SHIFT_RIGHT carry = v & 1; v >>= 1; nz = v;
#define ROTATE_LEFT { u32 r = v << 1 | carry; carry = v >> 7; nz = v = r & 255; }
#define ROTATE_RIGHT { u32 r = v >> 1 | carry << 7; carry = v & 1; nz = v = r; }

#endif
