// What leads from function to function on a CPU: the table of them, and those that are no instructions.
#if !defined(__CUDA_ARCH__)

// Writes of `word` to a register of the television chip: what may be nothing new to it, and anything. Registers that do nothing are all as 3F.
#define TELLING(number) FUNCTION(tell_##number, \
    const s32 clock = m.clock_of(t); \
    if (clock >= m.most_clocks || !m.knows(0x##number, word)) GO(TELL_MORE + 0x##number) \
    m.touched = 0x##number; \
    if (clock > m.seen) m.seen = clock;)
#define TELLING_MORE(number) FUNCTION(tell_more_##number, \
    m.touched = 0x##number; \
    t = m.tia_poke(0x##number, (u8)word, t); \
    if (SELDOM(stop)) HALT)
#define OFTEN_KNOWN(X) X(06) X(07) X(08) X(09) X(0D) X(0E) X(0F) X(1B) X(1C) X(1D) X(1E) X(1F)
#define OTHERS(X) \
    X(00) X(01) X(02) X(04) X(05) X(0A) X(0B) X(0C) X(10) X(11) X(12) X(13) X(14) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(2A) X(2B) \
    X(2C) X(3F)
OFTEN_KNOWN(TELLING)
OFTEN_KNOWN(TELLING_MORE)
OTHERS(TELLING_MORE)

KEEPS_NOTHING static void look_closer(STATE) {
    FIELDS
    LOOK_AT_INSTRUCTION
    GO(QUICK + (word & 255))
}

KEEPS_NOTHING static void end(STATE) {
    FIELDS
    PUT_DOWN
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
#define WAY(name) (const void*)&name
#define QUICK_WAY(code) WAY(quick_##code)
#define CAREFUL_WAY(code) WAY(careful_##code)
#define TELL_WAY(number) WAY(tell_##number)
#define TELL_MORE_WAY(number) WAY(tell_more_##number)

// Runs some instructions of a frame; says whether there are more.
bool run_some() {
    static const void* const ways[WAYS] = {
        INSTRUCTIONS(QUICK_WAY, CAREFUL_WAY, CAREFUL_WAY(others)),
        INSTRUCTIONS(CAREFUL_WAY, CAREFUL_WAY, CAREFUL_WAY(others)),
        REGISTERS(TELL_WAY, TELL_MORE_WAY, TELL_MORE_WAY(3F)),
        REGISTERS(TELL_MORE_WAY, TELL_MORE_WAY, TELL_MORE_WAY(3F)),
        WAY(look_closer),
        WAY(end)};
    Machine& m = *this;
    FIELDS
    u32 a, x, y, nz, carry;
    unsigned long long place;
    const u32 rest = MOST_INSTRUCTIONS - instructions, granted = rest < TURN ? rest : TURN;
    instructions += granted;
    PICK_UP
    ((Way)ways[CLOSER])(m, place, 0, cycles, granted - 1, a, x, y, nz, carry, ways);
    return !stop && instructions < MOST_INSTRUCTIONS;
}

#endif
