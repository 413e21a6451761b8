// Dispatch on a CPU: the table of handlers, and the handlers that are not instructions.
#if !defined(__CUDA_ARCH__)

// Writes of `word` to a TIA register: redundant writes, and all others. Registers without effect share the handler of
// 3F.
#define DEFINE_TIA_WRITE(number) FUNCTION(tia_write_##number, \
    const s32 clock = m.clock_of(t); \
    if (clock >= m.most_clocks || !m.is_redundant_write(0x##number, word)) TAIL_CALL(TIA_WRITE_FULL + 0x##number) \
    m.touched = 0x##number; \
    if (clock > m.seen) m.seen = clock;)
#define DEFINE_TIA_WRITE_FULL(number) FUNCTION(tia_write_full_##number, \
    m.touched = 0x##number; \
    t = m.tia_poke(0x##number, (u8)word, t); \
    if (UNLIKELY(stop)) HALT)
#define OFTEN_REDUNDANT(X) X(06) X(07) X(08) X(09) X(0D) X(0E) X(0F) X(1B) X(1C) X(1D) X(1E) X(1F)
#define OTHERS(X) \
    X(00) X(01) X(02) X(04) X(05) X(0A) X(0B) X(0C) X(10) X(11) X(12) X(13) X(14) X(20) X(21) X(22) X(23) X(24) \
    X(25) X(26) X(27) X(28) X(29) X(2A) X(2B) X(2C) X(3F)
OFTEN_REDUNDANT(DEFINE_TIA_WRITE)
OFTEN_REDUNDANT(DEFINE_TIA_WRITE_FULL)
OTHERS(DEFINE_TIA_WRITE_FULL)

PRESERVE_NONE static void fetch_slow(STATE) {
    FIELDS
    FETCH_SLOW
    TAIL_CALL(FAST_PATH + (word & 255))
}

PRESERVE_NONE static void end(STATE) {
    FIELDS
    STORE_REGISTERS
    m.cycles = t;
}

#define INSTRUCTIONS(AT, RARE, ANY) \
    RARE(00), AT(01), ANY, ANY, ANY, AT(05), AT(06), ANY, AT(08), AT(09), AT(0A), ANY, ANY, AT(0D), AT(0E), ANY, \
    AT(10), AT(11), ANY, ANY, ANY, AT(15), AT(16), ANY, AT(18), AT(19), ANY, ANY, ANY, AT(1D), AT(1E), ANY, \
    AT(20), AT(21), ANY, ANY, AT(24), AT(25), AT(26), ANY, AT(28), AT(29), AT(2A), ANY, AT(2C), AT(2D), AT(2E), ANY, \
    AT(30), AT(31), ANY, ANY, ANY, AT(35), AT(36), ANY, AT(38), AT(39), ANY, ANY, ANY, AT(3D), AT(3E), ANY, \
    RARE(40), AT(41), ANY, ANY, ANY, AT(45), AT(46), ANY, AT(48), AT(49), AT(4A), ANY, AT(4C), AT(4D), AT(4E), ANY, \
    AT(50), AT(51), ANY, ANY, ANY, AT(55), AT(56), ANY, AT(58), AT(59), ANY, ANY, ANY, AT(5D), AT(5E), ANY, \
    AT(60), AT(61), ANY, ANY, ANY, AT(65), AT(66), ANY, AT(68), AT(69), AT(6A), ANY, RARE(6C), AT(6D), AT(6E), ANY, \
    AT(70), AT(71), ANY, ANY, ANY, AT(75), AT(76), ANY, AT(78), AT(79), ANY, ANY, ANY, AT(7D), AT(7E), ANY, \
    ANY, AT(81), ANY, ANY, AT(84), AT(85), AT(86), ANY, AT(88), ANY, AT(8A), ANY, AT(8C), AT(8D), AT(8E), ANY, \
    AT(90), AT(91), ANY, ANY, AT(94), AT(95), AT(96), ANY, AT(98), AT(99), AT(9A), ANY, ANY, AT(9D), ANY, ANY, \
    AT(A0), AT(A1), AT(A2), ANY, AT(A4), AT(A5), AT(A6), ANY, AT(A8), AT(A9), AT(AA), ANY, AT(AC), AT(AD), AT(AE), ANY, \
    AT(B0), AT(B1), ANY, ANY, AT(B4), AT(B5), AT(B6), ANY, AT(B8), AT(B9), AT(BA), ANY, AT(BC), AT(BD), AT(BE), ANY, \
    AT(C0), AT(C1), ANY, ANY, AT(C4), AT(C5), AT(C6), ANY, AT(C8), AT(C9), AT(CA), ANY, AT(CC), AT(CD), AT(CE), ANY, \
    AT(D0), AT(D1), ANY, ANY, ANY, AT(D5), AT(D6), ANY, AT(D8), AT(D9), ANY, ANY, ANY, AT(DD), AT(DE), ANY, \
    AT(E0), AT(E1), ANY, ANY, AT(E4), AT(E5), AT(E6), ANY, AT(E8), AT(E9), AT(EA), ANY, AT(EC), AT(ED), AT(EE), ANY, \
    AT(F0), AT(F1), ANY, ANY, ANY, AT(F5), AT(F6), ANY, AT(F8), AT(F9), ANY, ANY, ANY, AT(FD), AT(FE), ANY
#define REGISTERS(KNOWN, MORE, NONE) \
    MORE(00), MORE(01), MORE(02), NONE, MORE(04), MORE(05), KNOWN(06), KNOWN(07), \
    KNOWN(08), KNOWN(09), MORE(0A), MORE(0B), MORE(0C), KNOWN(0D), KNOWN(0E), KNOWN(0F), \
    MORE(10), MORE(11), MORE(12), MORE(13), MORE(14), NONE, NONE, NONE, \
    NONE, NONE, NONE, KNOWN(1B), KNOWN(1C), KNOWN(1D), KNOWN(1E), KNOWN(1F), \
    MORE(20), MORE(21), MORE(22), MORE(23), MORE(24), MORE(25), MORE(26), MORE(27), \
    MORE(28), MORE(29), MORE(2A), MORE(2B), MORE(2C), NONE, NONE, NONE, \
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE, \
    NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE
#define HANDLER(name) (const void*)&name
#define FAST_HANDLER(code) HANDLER(fast_##code)
#define SLOW_HANDLER(code) HANDLER(slow_##code)
#define TIA_WRITE_HANDLER(number) HANDLER(tia_write_##number)
#define TIA_WRITE_FULL_HANDLER(number) HANDLER(tia_write_full_##number)

// Runs up to a quantum of instructions of a frame; returns whether the frame continues.
bool run_quantum() {
    static const void* const handlers[HANDLERS] = {
        INSTRUCTIONS(FAST_HANDLER, SLOW_HANDLER, SLOW_HANDLER(others)),
        INSTRUCTIONS(SLOW_HANDLER, SLOW_HANDLER, SLOW_HANDLER(others)),
        REGISTERS(TIA_WRITE_HANDLER, TIA_WRITE_FULL_HANDLER, TIA_WRITE_FULL_HANDLER(3F)),
        REGISTERS(TIA_WRITE_FULL_HANDLER, TIA_WRITE_FULL_HANDLER, TIA_WRITE_FULL_HANDLER(3F)),
        HANDLER(fetch_slow),
        HANDLER(end)};
    Machine& m = *this;
    FIELDS
    u32 a, x, y, nz, carry;
    unsigned long long place;
    const u32 rest = MAX_INSTRUCTIONS - instructions, granted = rest < INSTRUCTION_QUANTUM ? rest : INSTRUCTION_QUANTUM;
    instructions += granted;
    LOAD_REGISTERS
    ((Handler)handlers[SLOW_FETCH])(m, place, 0, cycles, granted - 1, a, x, y, nz, carry, handlers);
    return !stop && instructions < MAX_INSTRUCTIONS;
}

#endif
