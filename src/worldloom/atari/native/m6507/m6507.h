// The 6507. Instructions run until the TIA ends the frame or the instruction limit is reached. m6507_cpu.h has a
// function per instruction; m6507_cuda.h and slow_path_cuda.h run all instructions with the same code, the consoles of
// a warp in lockstep. This header holds the common part.
//
// All cycles of an instruction are counted before it accesses memory: an access sees the time at the end of its
// instruction.
//
// Registers and flags are local variables on a GPU; on a CPU they are arguments, or refer to fields of the machine:
//   nz      result of the last operation: Z if its low byte is 0, N if bit 7 or 15 is set
//   carry   0 or 1
//   over    V if nonzero
//   modes   D (8) and I (4)
//   t       cycles
//   left    instructions that may still run, on a CPU in this quantum
//   shown   copy of slices
//   place   index of the next instruction in the ROM; its address, pc, is place + lift
//   word    the instruction as a ROM word
//
// Within a slice only `place` changes. When the program leaves it or banks are switched, `place` moves to the open
// slice behind the image: all of its words request a slow fetch, which recomputes `place`. RESUME follows accesses that
// may have switched banks or ended the frame; ON_SLOW_PATH encloses the code around such an access. SELF is the
// machine, SKIP counts instructions that are skipped, and MAY_SKIP is their maximum.

#define PC (place + lift)
#define SLICE_OF(address) (((shown >> (((address) >> 7) & 24)) & 255) << 10)
#define JUMP(address) { u32 to = (address); place = (to & 0x1000 ? SLICE_OF(to) : open) | (to & 1023); lift = to - place; }
#define FORCE_SLOW_FETCH(address) { u32 to = (address); place = open | (to & 511); lift = to - place; }
#define GO_TO(address) { u32 there = (address); if (kind == KIND_FE) { SELF fe_jump(there); shown = slices; } JUMP(there) }

#define LOW (word >> 8 & 255)
#define HIGH (word >> 16 & 255)
#define ABSOLUTE (word >> 8 & 0xFFFF)

#define READ(target, address, last) { \
    u32 from = (address); \
    if (from & 0x1000) target = rom[SLICE_OF(from) | (from & 1023)]; \
    else if ((from & 0x280) == 0x80) target = ram[from & 127]; \
    else target = WORD_READ; \
    if (target & WORD_READ) ON_SLOW_PATH(target = SELF peek(from, last, t);) \
    target &= 255; }
#define WRITE_SLOW(address, value) ON_SLOW_PATH(t = SELF poke(address, (value) & 255, t);)
#define PUSH(value) { if (s & 128) ram[s & 127] = (u8)(value); else WRITE_SLOW(0x100 | s, value) s = (s - 1) & 255; }
#define PULL(target) { s = (s + 1) & 255; if (s & 128) target = ram[s & 127]; else ON_SLOW_PATH(target = SELF pull(s, word & 255, t);) }
#define POINTER(target, address) { \
    u32 at = (address) & 255; \
    if (at & 128 && at != 255) target = ram[at & 127] | ram[(at & 127) + 1] << 8; \
    else ON_SLOW_PATH(target = SELF pointer_at(at, LOW, t);) }

// Slow fetch: an instruction that is fetched byte by byte, or the first one of a loop that polls the timer, whose
// iterations are skipped.
#define FETCH_SLOW { \
    const u32 pc = PC; \
    JUMP(pc) \
    word = rom[place]; \
    if (word & WORD_FETCH) { \
        FORCE_SLOW_FETCH(pc) \
        word = SELF fetch(pc, t); \
        RESUME \
    } else if (word & WORD_POLL) { \
        const s32 rounds = SELF poll_rounds(pc, t, MAY_SKIP); \
        t += rounds * SELF poll_cycles(pc); \
        SKIP(rounds * 2) \
    } }
// Takes r, the result of add_decimal or subtract_decimal.
#define TAKE_DECIMAL(target) target = r & 255, carry = r >> 8 & 1, over = r >> 9 & 1, nz = (r >> 10 & 1 ? 0 : 1) | (r >> 11 & 1) << 15;
#define TAKE_BRANCH { \
    const u32 target = place + (u32)(s32)(signed char)LOW, moved = place ^ target; \
    t += 1 + (moved >> 8 & 1); \
    if (moved < 1024) place = target; else FORCE_SLOW_FETCH(target + lift) }
// Instructions common to both: JMP indirect, whose carry does not reach the high byte, BRK, and undocumented opcodes.
#define JUMP_BY_POINTER { \
    u32 low, high; \
    READ(low, ABSOLUTE, HIGH) \
    READ(high, (ABSOLUTE & 0xFF00) | ((ABSOLUTE + 1) & 255), low) \
    GO_TO(low | high << 8) }
#define BREAK_FROM(address) { \
    u32 from = (address), low, high; \
    PUSH(from >> 8) \
    PUSH(from) \
    PUSH(PACK_FLAGS) \
    modes |= 4; \
    READ(low, 0xFFFE, s) \
    READ(high, 0xFFFF, low) \
    GO_TO(low | high << 8) }
#define RUN_UNDOCUMENTED { \
    if (place < open && SELF jams(word & 255)) { /* in ROM, so forever */ \
        t += 2 * left; \
        left = 0; \
    } \
    STORE_REGISTERS \
    t = SELF run_undocumented(word, t); \
    LOAD_REGISTERS \
    RESUME }

#define IS_ZERO (!(nz & 255))
#define IS_NEGATIVE (nz & 0x8080)
#define PACK_FLAGS ((IS_NEGATIVE ? 128u : 0u) | (over ? 64u : 0u) | 0x30u | modes | (IS_ZERO ? 2u : 0u) | carry)
#define UNPACK_FLAGS(flags) { u32 f = (flags); nz = (f & 2 ? 0 : 1) | (f & 128) << 8; over = f & 64; modes = f & 12; carry = f & 1; }

CUDA_CALLABLE void start_cpu() {
    a = x = y = 0;
    s = 0xFF;
    p = 0x30;
    cycles = 0;
    if (kind == KIND_FE) slices = whole_bank(0);
    pc = (u16)(peek(0xFFFC, 0, 0) | peek(0xFFFD, 0, 0) << 8);
    if (kind == KIND_FE) fe_jump(pc);
}
