// Writes to the TIA on a GPU. The consoles of a warp run their programs apart from each other, so what the display is told waits until many of them have
// something to tell. Four of five writes tell it what it knows: they are not kept.
#if defined(__CUDA_ARCH__)

// Registers: those that act whenever they are written, and those that nothing comes of.
enum : unsigned long long { ALWAYS_ACT = 0x1C00001F0001ull, NEVER_ACT = 0xFFFFE00007E0000Cull };

// Nothing is known of what the registers hold, but for those whose change lets a write to others act.
CUDA_CALLABLE void begin_waiting() {
    waiting = 0;
    doubtful = ~0ull;
    told[0x1B] = grp[0];
    told[0x1C] = grp[1];
    told[0x1F] = enabl << 1;
}

// Whether a write would change anything.
CUDA_CALLABLE bool matters(u32 number, u32 value) const { return doubtful >> number & 1 || told[number] != value; }

NOINLINE CUDA_CALLABLE void wait_with(u32 number, u32 value, s32 at) {
    const unsigned long long one = 1;
    if (number == 0x00) sync_vertically(value, clock_of(at));
    if (told[number] != value) {  // the graphics of one player and the ball are shown later, by a write to those of the other
        if (number == 0x1B || number == 0x1F) doubtful |= one << 0x1C;
        if (number == 0x1C) doubtful |= one << 0x1B;
    }
    if (number == 0x10 || number == 0x11) doubtful |= one << (number - 0x10 + 0x04);  // a hidden copy is shown by NUSIZ
    if (number == 0x2B) doubtful |= one * 31 << 0x20;
    told[number] = (u8)value;
    doubtful = doubtful & ~(one << number) | ALWAYS_ACT;
    if (number == 0x00 || NEVER_ACT >> number & 1) return;
    if (waiting == WAITING_ROOM || at >> 18) tell_tia();
    if (at >> 18) {  // a program that has not looked at the chip for long
        tia_poke(number, (u8)value, at);
        return;
    }
    write[waiting++] = (u32)at << 14 | number << 8 | value;
    if (number == 0x01) tell_tia();  // VBLANK: paddles begin to load
}

// Any write; returns the cycles after it.
CUDA_CALLABLE s32 take_write(u32 number, u32 value, s32 at) {
    if (clock_of(at) > seen) seen = clock_of(at);
    if (clock_of(at) >= most_clocks) end_frame();
    if (number == 0x02) return end_of_line(at);
    if (matters(number, value)) wait_with(number, value, at);
    return at;
}

NOINLINE CUDA_CALLABLE void tell_tia() {
    ROLLED for (u32 i = 0; i < waiting; i++) tia_poke(write[i] >> 8 & 63, (u8)write[i], (s32)(write[i] >> 14));
    waiting = 0;
}

#endif
