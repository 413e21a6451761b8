// Writes to the TIA on a GPU. The consoles of a warp run their programs apart from each other, so what the display is told waits for the end of a line at which
// one of them has much to tell, and then all tell it together; or until one reads a collision. Four of five writes tell it what it knows: they are not kept.
//
// __activemask() names those who are here now. It is read once, and all of them make the same calls with it afterwards; should a warp come here in parts, each
// part has its own, and only time is lost. Those who have nothing to do come to every call with the others.
#if defined(__CUDA_ARCH__)

// Registers: those that act whenever they are written, and those that nothing comes of.
enum : unsigned long long { ALWAYS_ACT = 0x1C00001F0001ull, NEVER_ACT = 0xFFFFE00007E0000Cull };

// Nothing is known of what the registers hold, but for those whose change lets a write to others act.
CUDA_CALLABLE void begin_write_queue() {
    queued_writes = commands = 0;
    stale_registers = ~0ull;
    last_written[0x1B] = grp[0];
    last_written[0x1C] = grp[1];
    last_written[0x1F] = enabl << 1;
}

// Whether a write would change anything.
CUDA_CALLABLE bool is_new_value(u32 number, u32 value) const { return stale_registers >> number & 1 || last_written[number] != value; }

// Notes a write that matters; returns whether the display has to be told of it.
CUDA_CALLABLE bool record_write(u32 number, u32 value) {
    const unsigned long long one = 1;
    if (last_written[number] != value) {  // the graphics of one player and the ball are shown later, by a write to those of the other
        if (number == 0x1B || number == 0x1F) stale_registers |= one << 0x1C;
        if (number == 0x1C) stale_registers |= one << 0x1B;
    }
    if (number == 0x10 || number == 0x11) stale_registers |= one << (number - 0x10 + 0x04);  // a hidden copy is shown by NUSIZ
    if (number == 0x2B) stale_registers |= one * 31 << 0x20;
    last_written[number] = (u8)value;
    stale_registers = stale_registers & ~(one << number) | ALWAYS_ACT;
    return number != 0x00 && !(NEVER_ACT >> number & 1);
}

// A write as it waits, and the cycle from which on it does not fit.
CUDA_CALLABLE u32 pack_write(u32 number, u32 value, s32 at) const { return (u32)at << 14 | number << 8 | value; }
enum : s32 { MAX_QUEUED_CYCLE = 1 << 18 };

// A write that fits, behind `before` that wait already; returns how many wait then.
CUDA_CALLABLE u32 queue(u32 number, u32 value, s32 at, u32 before) {
    if (!is_new_value(number, value) || !record_write(number, value)) return before;
    if (number == 0x01) load_paddles(value, at);
    write_queue[before] = pack_write(number, value, at);
    return before + 1;
}

// The same where it is seldom called.
NOINLINE CUDA_CALLABLE u32 queue_noinline(u32 number, u32 value, s32 at, u32 before) { return queue(number, value, at, before); }

// Any write that matters, out of the loop: there half of the room is free.
NOINLINE CUDA_CALLABLE void queue_write(u32 number, u32 value, s32 at) {
    if (number == 0x00) sync_vertically(value, clock_of(at));
    if (at < MAX_QUEUED_CYCLE) {
        queued_writes = queue(number, value, at, queued_writes);
        return;
    }
    if (!record_write(number, value)) return;  // of a program that has not looked at the chip for long
    if (number == 0x01) load_paddles(value, at);
    flush_tia(__activemask());
    write_now(number, value, at);
}

// Any write; returns the cycles after it.
CUDA_CALLABLE s32 write_register(u32 number, u32 value, s32 at) {
    if (clock_of(at) > seen) seen = clock_of(at);
    if (clock_of(at) >= most_clocks) end_frame();
    if (number == 0x02) return end_of_line(at);
    if (is_new_value(number, value)) queue_write(number, value, at);
    return at;
}

CUDA_CALLABLE void issue_write(u32 number, u32 value, s32 at) {
    write_clock = clock_of(at);
    tia_poke(number, (u8)value, at);
}

NOINLINE CUDA_CALLABLE void write_now(u32 number, u32 value, s32 at) {
    issue_write(number, value, at);
    apply_commands();
}

enum : u32 { TRIES = 3 };  // writes that a console may tell of before there is an order: not all of them give one

// Together with others of the warp, a bit for each. In every round a console whose commands are carried out notes those of its next write, and then all carry
// out one.
NOINLINE CUDA_CALLABLE void flush_tia(u32 with) {
    u32 next = 0, done = 0;
    while (__any_sync(with, next < queued_writes || done < commands)) {
        ROLLED for (u32 tries = 0; tries < TRIES && done == commands && next < queued_writes; tries++) {
            const u32 what = write_queue[next++];
            done = commands = 0;
            issue_write(what >> 8 & 63, what, (s32)(what >> 14));
        }
        __syncwarp(with);
        if (done < commands) apply_command(command[done++]);
    }
    queued_writes = commands = 0;
}

#endif
