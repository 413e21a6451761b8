// The queue of TIA writes on a GPU. The consoles of a warp run different instructions, so writes are queued until the
// end of a scanline at which a queue of the warp is more than half full, and then all queues are flushed together; or
// until a console reads a collision. Four of five writes repeat the value of the register: they are not queued.
//
// __activemask() is the set of threads that are here now. It is read once, and these threads make the same calls with
// it afterwards. If a warp arrives in parts, each part has its own mask, which costs only time. Threads without work
// take part in every call.
#if defined(__CUDA_ARCH__)

// Registers whose writes always act, and registers without effect.
enum : unsigned long long { ALWAYS_ACT = 0x1C00001F0001ull, NEVER_ACT = 0xFFFFE00007E0000Cull };

// The values of the registers are unknown, except for those whose change makes a write to another register act.
CUDA_CALLABLE void begin_write_queue() {
    queued_writes = commands = 0;
    stale_registers = ~0ull;
    last_written[0x1B] = grp[0];
    last_written[0x1C] = grp[1];
    last_written[0x1F] = enabl << 1;
}

// Whether a write would have an effect.
CUDA_CALLABLE bool is_new_value(u32 number, u32 value) const { return stale_registers >> number & 1 || last_written[number] != value; }

// Records a write with an effect; returns whether the display must process it.
CUDA_CALLABLE bool record_write(u32 number, u32 value) {
    const unsigned long long one = 1;
    // A write to the graphics of the other player shows those of this one and the ball.
    if (last_written[number] != value) {
        if (number == 0x1B || number == 0x1F) stale_registers |= one << 0x1C;
        if (number == 0x1C) stale_registers |= one << 0x1B;
    }
    // NUSIZ shows a hidden copy again.
    if (number == 0x10 || number == 0x11) stale_registers |= one << (number - 0x10 + 0x04);
    if (number == 0x2B) stale_registers |= one * 31 << 0x20;
    last_written[number] = (u8)value;
    stale_registers = stale_registers & ~(one << number) | ALWAYS_ACT;
    return number != 0x00 && !(NEVER_ACT >> number & 1);
}

// A queued write, and the first cycle that does not fit into it.
CUDA_CALLABLE u32 pack_write(u32 number, u32 value, s32 at) const { return (u32)at << 14 | number << 8 | value; }
enum : s32 { MAX_QUEUED_CYCLE = 1 << 18 };

// Queues a write behind `before` others; returns the length of the queue.
CUDA_CALLABLE u32 queue(u32 number, u32 value, s32 at, u32 before) {
    if (!is_new_value(number, value) || !record_write(number, value)) return before;
    if (number == 0x01) load_paddles(value, at);
    write_queue[before] = pack_write(number, value, at);
    return before + 1;
}

// The same for rare call sites.
NOINLINE CUDA_CALLABLE u32 queue_noinline(u32 number, u32 value, s32 at, u32 before) { return queue(number, value, at, before); }

// Any write with an effect, outside of the loop, where half of the queue is free.
NOINLINE CUDA_CALLABLE void queue_write(u32 number, u32 value, s32 at) {
    if (number == 0x00) sync_vertically(value, clock_of(at));
    if (at < MAX_QUEUED_CYCLE) {
        queued_writes = queue(number, value, at, queued_writes);
        return;
    }
    if (!record_write(number, value)) return;  // the program has not accessed the TIA for a long time
    if (number == 0x01) load_paddles(value, at);
    flush_tia(__activemask());
    write_now(number, value, at);
}

// Any write; returns the cycle after it.
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

enum : u32 { TRIES = 3 };  // writes that a console may issue until one gives a command: not all of them do

// Flushes the queues of the threads `with` of the warp. In every round a console whose commands have been applied
// queues those of its next write, and then each applies one command.
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
