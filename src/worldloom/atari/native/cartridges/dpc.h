// The DPC of Pitfall II: eight data fetchers over 2 KiB of graphics, three of which can play notes, and a random number
// generator. Its registers lie in the cartridge's memory.
enum : u32 {
    DPC_TOP = 0,        // 8 bytes
    DPC_BOTTOM = 8,     // 8 bytes
    DPC_FLAG = 16,      // 8 bytes, 0 or 255
    DPC_LOW = 24,       // 8 bytes: low bytes of the counters, which address the graphics backwards
    DPC_HIGH = 32,      // 8 bytes: 3 high bits of the counters; 16: the fetcher plays notes
    DPC_RANDOM = 40,    // 1 byte
    DPC_PARTS = 44,     // 4 bytes: fraction of an oscillator tick
    DPC_SEEN = 48       // 4 bytes: cycle up to which the oscillator has run
};

// The oscillator ticks 15,700 times a second, the CPU 1,193,192 times.
enum : s32 { DPC_RATE = 15700, CPU_RATE = 1193192 };

CUDA_CALLABLE s32 dpc_number(u32 place) {
    return (s32)(cart_ram[place] | (u32)cart_ram[place + 1] << 8 | (u32)cart_ram[place + 2] << 16 | (u32)cart_ram[place + 3] << 24);
}

CUDA_CALLABLE void set_dpc_number(u32 place, s32 value) {
    for (u32 each = 0; each < 4; each++) cart_ram[place + each] = (u8)((u32)value >> (8 * each));
}

CUDA_CALLABLE void start_dpc() {
    for (u32 each = 0; each < 52; each++) cart_ram[each] = 0;
    cart_ram[DPC_RANDOM] = 1;
}

CUDA_CALLABLE void rebase_dpc(s32 by) {
    if (kind == KIND_DPC) set_dpc_number(DPC_SEEN, (s32)((u32)dpc_number(DPC_SEEN) - (u32)by));
}

CUDA_CALLABLE void dpc_flag(u32 fetcher) {
    if (cart_ram[DPC_LOW + fetcher] == cart_ram[DPC_TOP + fetcher])
        cart_ram[DPC_FLAG + fetcher] = 255;
    else if (cart_ram[DPC_LOW + fetcher] == cart_ram[DPC_BOTTOM + fetcher])
        cart_ram[DPC_FLAG + fetcher] = 0;
}

// Runs the oscillator up to now. A note counts down from its top and restarts; it is on while it is above its bottom.
CUDA_CALLABLE void dpc_music(s32 at) {
    unsigned long long parts = (unsigned long long)((u32)at - (u32)dpc_number(DPC_SEEN)) * DPC_RATE + (u32)dpc_number(DPC_PARTS);
    u32 ticks = (u32)(parts / CPU_RATE);
    set_dpc_number(DPC_PARTS, (s32)(parts % CPU_RATE));
    set_dpc_number(DPC_SEEN, at);
    for (u32 fetcher = 5; fetcher < 8; fetcher++) {
        if (!(cart_ram[DPC_HIGH + fetcher] & 16)) continue;
        u32 low = cart_ram[DPC_LOW + fetcher], top = cart_ram[DPC_TOP + fetcher];
        low = ticks <= low ? low - ticks : top - (ticks - low - 1) % (top + 1);
        cart_ram[DPC_LOW + fetcher] = (u8)low;
        cart_ram[DPC_FLAG + fetcher] = (u8)(low > cart_ram[DPC_BOTTOM + fetcher] ? 255 : 0);
    }
}

// Every write to the cartridge, and every read outside of plain ROM ($80 to $FBF), draws the next random number.
CUDA_CALLABLE void dpc_shuffle() {
    u32 old = cart_ram[DPC_RANDOM];
    cart_ram[DPC_RANDOM] = (u8)(old << 1 | (~(old >> 7 ^ old >> 5 ^ old >> 4 ^ old >> 3) & 1));
}

// Registers 0 to $3F: the low three bits are the fetcher, the next three the function.
CUDA_CALLABLE u32 dpc_peek(u32 offset, s32 at) {
    u32 fetcher = offset & 7;
    if (offset >= 0x40) return rom_at(offset);
    if (offset < 4) return cart_ram[DPC_RANDOM];
    if (offset < 8) {
        dpc_music(at);
        u32 notes = (cart_ram[DPC_FLAG + 5] & 1u) | (cart_ram[DPC_FLAG + 6] & 2u) | (cart_ram[DPC_FLAG + 7] & 4u);
        return DPC_LOUDNESS >> (4 * notes) & 15;
    }
    u32 high = cart_ram[DPC_HIGH + fetcher];
    u32 plays = fetcher >= 5 ? high & 16 : 0;
    if (!plays) dpc_flag(fetcher);
    u32 counter = (high & 7) << 8 | cart_ram[DPC_LOW + fetcher];
    u32 byte = rom[8192 + 2047 - counter] & 255;
    u32 flag = cart_ram[DPC_FLAG + fetcher];
    if (!plays) {
        counter -= 1;
        cart_ram[DPC_LOW + fetcher] = (u8)counter;
        cart_ram[DPC_HIGH + fetcher] = (u8)((high & ~7u) | (counter >> 8 & 7));
    }
    switch (offset >> 3) {
        case 1: return byte;
        case 2: return byte & flag;
        case 7: return flag;
        default: return 0;  // swapped, mirrored and shifted bytes: unused by games
    }
}

CUDA_CALLABLE void dpc_poke(u32 offset, u32 value, s32 at) {
    u32 fetcher = offset & 7;
    dpc_music(at);
    switch (offset >> 3) {
        case 8:
            cart_ram[DPC_TOP + fetcher] = (u8)value;
            cart_ram[DPC_FLAG + fetcher] = 0;
            break;
        case 9: cart_ram[DPC_BOTTOM + fetcher] = (u8)value; break;
        case 10: cart_ram[DPC_LOW + fetcher] = (u8)(fetcher >= 5 && cart_ram[DPC_HIGH + fetcher] & 16 ? cart_ram[DPC_TOP + fetcher] : value); break;
        case 11: cart_ram[DPC_HIGH + fetcher] = (u8)value; break;
        case 14: cart_ram[DPC_RANDOM] = 1; break;
        default: break;
    }
}
