// Cartridges: banks, hotspots and RAM. The CPU's fast path reads the mapping in `slices`.

// The four slices of the 4 KiB bank that starts at KiB `first` of the image.
CUDA_CALLABLE u32 whole_bank(u32 first) { return first * 0x01010101u + 0x03020100u; }

CUDA_CALLABLE u32 rom_at(u32 address) { return rom[((slices >> ((address >> 7) & 24)) & 255) << 10 | (address & 1023)] & 255; }

CUDA_CALLABLE void map_slice(u32 place, u32 slice) { slices = (slices & ~(255u << (8 * place))) | slice << (8 * place); }

CUDA_CALLABLE void switch_3f(u32 bank_of_2k) {
    u32 first = 2 * (bank_of_2k % (rom_slices / 2));
    slices = (slices & 0xFFFF0000u) | first | (first + 1) << 8;
}

// UA's hotspots lie outside of the cartridge's own addresses.
CUDA_CALLABLE void ua_access(u32 address) {
    u32 spot = address & 0x1260;
    if (spot == 0x220) slices = whole_bank(0);
    if (spot == 0x240) slices = whole_bank(4);
}

// FE maps its first half at $F000 and its second at $D000; called at every jump of the program.
NOINLINE CUDA_CALLABLE void fe_jump(u32 address) { slices = whole_bank(address & 0x2000 ? 0 : 4); }

CUDA_CALLABLE void start_cartridge() {
    bank = 0;
    switch (kind) {
        case KIND_F8:
        case KIND_F8SC: slices = whole_bank(4); break;
        case KIND_FA: slices = whole_bank(8); break;
        case KIND_E0: slices = 0x07060504u; break;
        case KIND_E7: slices = 0x0F0E0100u; break;
        case KIND_3F: slices = (rom_slices - 1) << 24 | (rom_slices - 2) << 16 | 0x0100u; break;
        case KIND_CV: slices = 0x01000202u; break;
        case KIND_DPC:
            slices = whole_bank(4);
            start_dpc();
            break;
        default: slices = whole_bank(0); break;
    }
}

// Hotspots that switch banks of 4 KiB: the first one and their number.
CUDA_CALLABLE void switch_bank(u32 offset) {
    u32 first = 0, count = 0;
    switch (kind) {
        case KIND_F8:
        case KIND_F8SC:
        case KIND_DPC: first = 0xFF8, count = 2; break;
        case KIND_F6:
        case KIND_F6SC: first = 0xFF6, count = 4; break;
        case KIND_F4:
        case KIND_F4SC: first = 0xFF4, count = 8; break;
        case KIND_FA: first = 0xFF8, count = 3; break;
        default: break;
    }
    if (offset - first < count) slices = whole_bank(4 * (offset - first));
}

CUDA_CALLABLE void switch_e0(u32 offset) {
    if (offset - 0xFE0 < 24) map_slice((offset - 0xFE0) >> 3, offset & 7);
}

// The eighth hotspot maps RAM instead of a bank; it is represented by the slice behind the image.
CUDA_CALLABLE void switch_e7(u32 offset) {
    u32 spot = offset - 0xFE0;
    if (spot < 7) slices = (slices & 0xFFFF0000u) | 2 * spot | (2 * spot + 1) << 8;
    if (spot == 7) slices = (slices & 0xFFFF0000u) | 0x1010u;
    if (spot - 8 < 4) bank = (u8)(spot - 8);
}

CUDA_CALLABLE void touch_hotspot(u32 offset) {
    if (kind == KIND_E0)
        switch_e0(offset);
    else if (kind == KIND_E7)
        switch_e7(offset);
    else
        switch_bank(offset);
}

enum : u32 { NOT_RAM = 0, READS_RAM = 1, WRITES_RAM = 2 };

// The cartridge's RAM at an offset into its 4 KiB: read or write port, and the byte.
CUDA_CALLABLE u32 ram_port(u32 offset, u32* byte) {
    *byte = 0;
    switch (kind) {
        case KIND_F8SC:
        case KIND_F6SC:
        case KIND_F4SC:
            *byte = offset & 127;
            return offset < 0x80 ? WRITES_RAM : offset < 0x100 ? READS_RAM : NOT_RAM;
        case KIND_FA:
            *byte = offset & 255;
            return offset < 0x100 ? WRITES_RAM : offset < 0x200 ? READS_RAM : NOT_RAM;
        case KIND_CV:
            *byte = offset & 1023;
            return offset < 0x400 ? READS_RAM : offset < 0x800 ? WRITES_RAM : NOT_RAM;
        case KIND_E7:
            if (offset < 0x800 && (slices & 255) == 16) {
                *byte = offset & 1023;
                return offset < 0x400 ? WRITES_RAM : READS_RAM;
            }
            *byte = 1024u + bank * 256u + (offset & 255);
            return offset >= 0x800 && offset < 0x900 ? WRITES_RAM : offset >= 0x900 && offset < 0xA00 ? READS_RAM : NOT_RAM;
        default: return NOT_RAM;
    }
}

NOINLINE CUDA_CALLABLE u32 cart_peek(u32 address, s32 at) {
    u32 offset = address & 0xFFF;
    if (kind == KIND_FE) return rom[(address & 0x2000 ? 0 : 4096) + offset] & 255;
    touch_hotspot(offset);
    if (kind == KIND_DPC) {
        if (offset < 0x80 || offset >= 0xFC0) dpc_shuffle();
        if (offset < 0x80) return dpc_peek(offset, at);
    }
    u32 byte;
    return ram_port(offset, &byte) == READS_RAM ? cart_ram[byte] : rom_at(address);
}

NOINLINE CUDA_CALLABLE void cart_poke(u32 address, u32 value, s32 at) {
    u32 offset = address & 0xFFF;
    touch_hotspot(offset);
    if (kind == KIND_DPC) {
        dpc_shuffle();
        if (offset < 0x80) dpc_poke(offset, value, at);
    }
    u32 byte;
    if (ram_port(offset, &byte) == WRITES_RAM) cart_ram[byte] = (u8)value;
}
