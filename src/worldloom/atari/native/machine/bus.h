// What the CPU reads and writes outside of the fast paths: 13 address lines, of which A12, A9 and A7 choose who answers.

// One byte for the CPU. `last` is the byte that was on the data bus before.
NOINLINE CUDA_CALLABLE u32 peek(u32 address, u32 last, s32 at) {
    bus = (u8)last;
    if (address & 0x1000) return cart_peek(address, at);
    if (kind == KIND_UA) ua_access(address);
    if (!(address & 0x80)) {
#if defined(__CUDA_ARCH__)
        if ((address & 15) < 8) flush_tia(__activemask());  // collisions
#endif
        return tia_peek(address, at);
    }
    if (address & 0x200) return riot_peek(address, at);
    return ram[address & 127];
}

#if defined(__CUDA_ARCH__)
// A byte of a port or of the timer, or of an input of the TIA (bit 3 of the address is set), for which nothing has to be told to anybody before. Not for
// cartridges that see what is read.
NOINLINE CUDA_CALLABLE u32 port(u32 address, u32 last, s32 at) {
    bus = (u8)last;
    return address & 0x80 ? riot_peek(address, at) : tia_input(address & 15, last & 0x3F, at);
}
#endif

// A byte for the TIA, which most writes outside of RAM are; returns the cycles after it, which a wait for the end of the line moves on.
NOINLINE CUDA_CALLABLE s32 poke_tia(u32 address, u32 value, s32 at) {
    touched = address & 0x3F;
    if (kind == KIND_3F && (address & 0x1FFF) < 0x40) switch_3f(value);
#if defined(__CUDA_ARCH__)
    return write_register(address & 0x3F, value, at);
#else
    return tia_poke(address, (u8)value, at);
#endif
}

// Takes one byte of the CPU; returns the cycles after it.
NOINLINE CUDA_CALLABLE s32 poke(u32 address, u32 value, s32 at) {
    if (address & 0x1000) {
        cart_poke(address, value, at);
        return at;
    }
    if (kind == KIND_UA) ua_access(address);
    if (!(address & 0x80)) return poke_tia(address, value, at);
    if (address & 0x200)
        riot_poke(address, value, at);
    else
        ram[address & 127] = (u8)value;
    return at;
}

// An instruction fetched byte by byte, as a word of the ROM: where the program runs outside of the cartridge, over the end of a slice or near a hotspot.
NOINLINE CUDA_CALLABLE u32 fetch(u32 address, s32 at) {
    u32 word = peek(address, bus, at);
    u32 length = (LENGTHS[word >> 4] >> ((word & 15) * 2)) & 3;
    if (length > 1) word |= peek(address + 1, word, at) << 8;
    if (length > 2) word |= peek(address + 2, word >> 8, at) << 16;
    return word;
}

// A pointer out of page zero, whose second byte comes from page zero too.
NOINLINE CUDA_CALLABLE u32 pointer_at(u32 address, u32 last, s32 at) {
    u32 low = peek(address & 255, last, at);
    return low | peek((address + 1) & 255, low, at) << 8;
}

// A byte of the stack where it is not in RAM. The place before it has been read once in vain, and that byte is still on the bus.
NOINLINE CUDA_CALLABLE u32 pull(u32 pointer, u32 opcode, s32 at) {
    u32 last = peek(0x100 | ((pointer - 1) & 255), opcode, at);
    return peek(0x100 | pointer, last, at);
}
