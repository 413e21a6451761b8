// Writes to the TIA on a GPU. The consoles of a warp run their programs apart from each other, so what the display is told waits for the end of a line at which
// one of them has much to tell, and then all tell it together; or until one reads a collision. Four of five writes tell it what it knows: they are not kept.
//
// __activemask() names those who are here now. It is read once, and all of them make the same calls with it afterwards; should a warp come here in parts, each
// part has its own, and only time is lost. Those who have nothing to do come to every call with the others.
#if defined(__CUDA_ARCH__)

// Registers: those that act whenever they are written, and those that nothing comes of.
enum : unsigned long long { ALWAYS_ACT = 0x1C00001F0001ull, NEVER_ACT = 0xFFFFE00007E0000Cull };

// Nothing is known of what the registers hold, but for those whose change lets a write to others act.
CUDA_CALLABLE void begin_waiting() {
    waiting = orders = 0;
    doubtful = ~0ull;
    told[0x1B] = grp[0];
    told[0x1C] = grp[1];
    told[0x1F] = enabl << 1;
}

// Whether a write would change anything.
CUDA_CALLABLE bool matters(u32 number, u32 value) const { return doubtful >> number & 1 || told[number] != value; }

// Notes a write that matters; returns whether the display has to be told of it.
CUDA_CALLABLE bool acts(u32 number, u32 value) {
    const unsigned long long one = 1;
    if (told[number] != value) {  // the graphics of one player and the ball are shown later, by a write to those of the other
        if (number == 0x1B || number == 0x1F) doubtful |= one << 0x1C;
        if (number == 0x1C) doubtful |= one << 0x1B;
    }
    if (number == 0x10 || number == 0x11) doubtful |= one << (number - 0x10 + 0x04);  // a hidden copy is shown by NUSIZ
    if (number == 0x2B) doubtful |= one * 31 << 0x20;
    told[number] = (u8)value;
    doubtful = doubtful & ~(one << number) | ALWAYS_ACT;
    return number != 0x00 && !(NEVER_ACT >> number & 1);
}

// A write as it waits, and the cycle from which on it does not fit.
CUDA_CALLABLE u32 waiting_word(u32 number, u32 value, s32 at) const { return (u32)at << 14 | number << 8 | value; }
enum : s32 { TOO_LATE = 1 << 18 };

// A write that fits, behind `before` that wait already; returns how many wait then.
CUDA_CALLABLE u32 queue(u32 number, u32 value, s32 at, u32 before) {
    if (!matters(number, value) || !acts(number, value)) return before;
    if (number == 0x01) load_paddles(value, at);
    write[before] = waiting_word(number, value, at);
    return before + 1;
}

// The same where it is seldom called.
NOINLINE CUDA_CALLABLE u32 queue_apart(u32 number, u32 value, s32 at, u32 before) { return queue(number, value, at, before); }

// Any write that matters, out of the loop: there half of the room is free.
NOINLINE CUDA_CALLABLE void wait_with(u32 number, u32 value, s32 at) {
    if (number == 0x00) sync_vertically(value, clock_of(at));
    if (at < TOO_LATE) {
        waiting = queue(number, value, at, waiting);
        return;
    }
    if (!acts(number, value)) return;  // of a program that has not looked at the chip for long
    if (number == 0x01) load_paddles(value, at);
    tell_tia(__activemask());
    tell_now(number, value, at);
}

// Any write; returns the cycles after it.
CUDA_CALLABLE s32 take_write(u32 number, u32 value, s32 at) {
    if (clock_of(at) > seen) seen = clock_of(at);
    if (clock_of(at) >= most_clocks) end_frame();
    if (number == 0x02) return end_of_line(at);
    if (matters(number, value)) wait_with(number, value, at);
    return at;
}

CUDA_CALLABLE void tell(u32 number, u32 value, s32 at) {
    written = clock_of(at);
    tia_poke(number, (u8)value, at);
}

NOINLINE CUDA_CALLABLE void tell_now(u32 number, u32 value, s32 at) {
    tell(number, value, at);
    carry_out_all();
}

enum : u32 { TRIES = 3 };  // writes that a console may tell of before there is an order: not all of them give one

// Together with others of the warp, a bit for each. In every round a console whose orders are carried out notes those of its next write, and then all carry
// out one.
NOINLINE CUDA_CALLABLE void tell_tia(u32 with) {
    u32 next = 0, done = 0;
    while (__any_sync(with, next < waiting || done < orders)) {
        ROLLED for (u32 tries = 0; tries < TRIES && done == orders && next < waiting; tries++) {
            const u32 what = write[next++];
            done = orders = 0;
            tell(what >> 8 & 63, what, (s32)(what >> 14));
        }
        __syncwarp(with);
        if (done < orders) carry_out(order[done++]);
    }
    waiting = orders = 0;
}

#endif
