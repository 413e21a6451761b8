// The bus: CPU reads and writes outside of the fast path. Of its 13 address lines A12, A9 and A7 select the chip.

// Reads one byte. `last` is the previous byte on the data bus.
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
// Reads a port, the timer, or an input of the TIA (bit 3 of the address is set). No TIA write has to be flushed before.
// Not for cartridges with hotspots outside of their own addresses.
NOINLINE CUDA_CALLABLE u32 port(u32 address, u32 last, s32 at) {
    bus = (u8)last;
    return address & 0x80 ? riot_peek(address, at) : tia_input(address & 15, last & 0x3F, at);
}
#endif

// Writes a byte to the TIA; most writes outside of RAM do. Returns the cycle after it, which WSYNC advances.
NOINLINE CUDA_CALLABLE s32 poke_tia(u32 address, u32 value, s32 at) {
    touched = address & 0x3F;
    if (kind == KIND_3F && (address & 0x1FFF) < 0x40) switch_3f(value);
#if defined(__CUDA_ARCH__)
    return write_register(address & 0x3F, value, at);
#else
    return tia_poke(address, (u8)value, at);
#endif
}

// Writes one byte; returns the cycle after it.
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

// Fetches an instruction byte by byte, as a ROM word: for code outside of the cartridge, across the end of a slice or
// near a hotspot.
NOINLINE CUDA_CALLABLE u32 fetch(u32 address, s32 at) {
    u32 word = peek(address, bus, at);
    u32 length = (LENGTHS[word >> 4] >> ((word & 15) * 2)) & 3;
    if (length > 1) word |= peek(address + 1, word, at) << 8;
    if (length > 2) word |= peek(address + 2, word >> 8, at) << 16;
    return word;
}

// Reads a pointer from the zero page; its second byte wraps within that page.
NOINLINE CUDA_CALLABLE u32 pointer_at(u32 address, u32 last, s32 at) {
    u32 low = peek(address & 255, last, at);
    return low | peek((address + 1) & 255, low, at) << 8;
}

// Pulls a byte from a stack outside of RAM. The 6507 reads the previous address first; that byte is on the bus then.
NOINLINE CUDA_CALLABLE u32 pull(u32 pointer, u32 opcode, s32 at) {
    u32 last = peek(0x100 | ((pointer - 1) & 255), opcode, at);
    return peek(0x100 | pointer, last, at);
}
