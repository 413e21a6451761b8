// The RIOT: two ports and a timer. Its RAM is `ram`. The ports always read the pins: no output device is connected.

NOINLINE CUDA_CALLABLE u8 riot_peek(u32 address, s32 at) {
    switch (address & 7) {
        case 0: return sticks;
        case 1: return swacnt;
        case 2: return switches;
        case 3: return 0;
        case 5:
        case 7: return (u8)(timer_expired || timer_left(at) >= 0 ? 0 : 0x80);
        default: return timer_peek(at);
    }
}

NOINLINE CUDA_CALLABLE void riot_poke(u32 address, u32 value, s32 at) {
    if (address & 4) {
        if (address & 16) set_timer(value, TIMER_SHIFTS >> (8 * (address & 3)) & 255, at);
    } else if ((address & 3) == 1) {
        swacnt = (u8)value;
    }
}

CUDA_CALLABLE void set_timer(u32 value, u32 shift, s32 at) {
    timer_value = (u8)value;
    timer_shift = (u8)shift;
    timer_cycle = at;
    timer_expired = 0;
}

// Cycles since the timer was written, for an access at the end of an instruction.
CUDA_CALLABLE s32 timer_age(s32 at) { return (s32)((u32)at - (u32)timer_cycle - 1u); }

// The timer in intervals; negative once it has expired.
CUDA_CALLABLE s32 timer_left(s32 at) { return (s32)(timer_value - (u32)(timer_age(at) >> timer_shift) - 1u); }

// After its last interval the timer counts cycles until it is read.
CUDA_CALLABLE u8 timer_peek(s32 at) {
    s32 left = timer_left(at);
    if (left >= 0) return (u8)left;
    u32 whole = (u32)timer_value << timer_shift;
    left = (s32)(whole - (u32)timer_age(at) - 1u);
    if (left <= -2 && !timer_expired) {
        timer_expired = 1;
        timer_noted = at;
    }
    if (timer_expired) left = (s32)((u32)timer_left(at) + 1u - ((u32)timer_noted - (u32)timer_cycle - whole));
    return (u8)left;
}

CUDA_CALLABLE void start_riot(u32 timer) {
    set_timer(timer, 6, 0);
    timer_noted = 0;
    swacnt = 0;
}

// Moves the origin of time by `by` cycles. A timer that is not set for hours wraps around.
CUDA_CALLABLE void rebase_riot(s32 by) {
    timer_cycle = (s32)((u32)timer_cycle - (u32)by);
    timer_noted = (s32)((u32)timer_noted - (u32)by);
}
