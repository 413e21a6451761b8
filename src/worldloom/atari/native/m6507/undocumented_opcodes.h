// Undocumented opcodes: combinations of two documented operations, which some games use, NOPs of all lengths, and a few
// unstable ones. They are rare, so one function decodes them, on the registers in the machine's fields.

enum : u32 { FLAG_C = 1, FLAG_Z = 2, FLAG_D = 8, FLAG_V = 64, FLAG_N = 128 };

CUDA_CALLABLE void set_nz(u32 value) { p = (u8)((p & ~(FLAG_N | FLAG_Z)) | (value & 128) | (value & 255 ? 0u : FLAG_Z)); }

CUDA_CALLABLE void set_carry(u32 on) { p = (u8)((p & ~FLAG_C) | (on ? FLAG_C : 0u)); }

CUDA_CALLABLE void add_to_a(u32 value) {
    if (p & FLAG_D) {
        set_sum(add_decimal(a, value, p & FLAG_C));
    } else {
        u32 sum = a + value + (p & FLAG_C);
        set_sum((sum & 511) | (~(a ^ value) & (a ^ sum) & 128) << 2 | (sum & 255 ? 0u : 1024u) | (sum & 128) << 4);
    }
}

CUDA_CALLABLE void subtract_from_a(u32 value) {
    if (p & FLAG_D)
        set_sum(subtract_decimal(a, value, p & FLAG_C));
    else
        add_to_a(value ^ 255);
}

// Sets A and the flags from a result of add_decimal.
CUDA_CALLABLE void set_sum(u32 sum) {
    a = (u8)sum;
    p = (u8)((p & ~(FLAG_N | FLAG_V | FLAG_Z | FLAG_C)) | (sum >> 8 & FLAG_C) | (sum >> 3 & FLAG_V) | (sum >> 9 & FLAG_Z) | (sum >> 4 & FLAG_N));
}

// JAM: the CPU halts.
CUDA_CALLABLE bool jams(u32 opcode) const { return (opcode & 0x1F) == 0x12 || ((opcode & 0x1F) == 0x02 && opcode < 0x80); }

// Runs the instruction in `word`, with pc at its first byte; returns the cycle after it.
NOINLINE CUDA_CALLABLE s32 run_undocumented(u32 word, s32 at) {
    u32 opcode = word & 255, low = word >> 8 & 255, absolute = word >> 8 & 0xFFFF;
    u32 row = opcode >> 5;
    if (jams(opcode)) return at + 2;
    u32 length = (LENGTHS[opcode >> 4] >> ((opcode & 15) * 2)) & 3;
    pc = (u16)(pc + length);
    if (length == 1) return at + 2;
    if ((opcode & 0x1F) == 0x0B || (opcode & 0x0F) == 0x02 || (opcode & 0x1F) == 0x00 || opcode == 0x89) {
        run_immediate(opcode, low);
        return at + 2;
    }

    // The address. Rows 4 and 5 store and load, the others modify memory. The column is the addressing mode.
    bool changes = (opcode & 3) == 3 && row != 4 && row != 5;
    u32 index = (opcode & 0xDF) == 0x97 || (opcode & 0xDF) == 0x9F || opcode == 0x9E ? y : x;
    if ((opcode & 0x1F) == 0x1B) index = y;
    u32 address, last = word >> 16 & 255;
    switch (opcode & 0x1F) {
        case 0x03: address = pointer_at(low + x, low, at), last = address >> 8, at += changes ? 8 : 6; break;
        case 0x13:
            address = pointer_at(low, low, at), last = address >> 8;
            at += changes ? 8 : row == 4 ? 6 : 5 + (s32)(((address & 255) + y) >> 8);
            address += y;
            break;
        case 0x04:
        case 0x07: address = low, last = low, at += changes ? 5 : 3; break;
        case 0x14:
        case 0x17: address = (low + index) & 255, last = low, at += changes ? 6 : 4; break;
        case 0x0C:
        case 0x0F: address = absolute, at += changes ? 6 : 4; break;
        default:
            address = absolute + index;
            at += changes ? 7 : row == 4 ? 5 : 4 + (s32)((low + index) >> 8);
            break;
    }
    if (opcode == 0xA7) at += 1;  // as ALE counts it
    if (row == 4) return store_undocumented(opcode, address & 0xFFFF, at);

    u32 value = peek(address, last, at);
    if ((opcode & 3) != 3) return at;  // a NOP that reads
    if (row == 5) {
        if (opcode == 0xBB) value &= s, s = (u8)value;  // LAS
        a = x = (u8)value;                              // LAX
        set_nz(value);
        return at;
    }
    u32 carried = p & FLAG_C;
    switch (row) {
        case 0:  // SLO
        case 1:  // RLA
            set_carry(value & 128);
            value = (value << 1 | (row ? carried : 0)) & 255;
            a = (u8)(row ? a & value : a | value);
            set_nz(a);
            break;
        case 2:  // SRE
        case 3:  // RRA
            set_carry(value & 1);
            value = value >> 1 | (row == 3 ? carried << 7 : 0);
            if (row == 3) {
                add_to_a(value);
            } else {
                a = (u8)(a ^ value);
                set_nz(a);
            }
            break;
        case 6:  // DCP
            value = (value - 1) & 255;
            set_carry(a >= value);
            set_nz(a - value);
            break;
        default:  // ISB
            value = (value + 1) & 255;
            subtract_from_a(value);
            break;
    }
    return poke(address, value, at);
}

// Operations on the byte after the opcode; all others are NOPs.
CUDA_CALLABLE void run_immediate(u32 opcode, u32 value) {
    switch (opcode) {
        case 0x0B:
        case 0x2B:  // ANC
            a = (u8)(a & value);
            set_nz(a);
            set_carry(a & 128);
            break;
        case 0x4B:  // ASR
            value &= a;
            set_carry(value & 1);
            a = (u8)(value >> 1);
            set_nz(a);
            break;
        case 0x6B: rotate_and(value); break;
        case 0x8B:  // ANE
            a = (u8)((a | 0xEE) & x & value);
            set_nz(a);
            break;
        case 0xAB:  // LXA
            a = x = (u8)((a | 0xEE) & value);
            set_nz(a);
            break;
        case 0xCB:  // SBX
            value = (a & x) + 256 - value;
            set_carry(value & 256);
            x = (u8)value;
            set_nz(x);
            break;
        case 0xEB: subtract_from_a(value); break;
        default: break;
    }
}

// ARR: AND, then a rotation whose flags come from the adder, with a correction in decimal mode.
CUDA_CALLABLE void rotate_and(u32 value) {
    value &= a;
    u32 turned = value >> 1 | (p & FLAG_C) << 7;
    set_nz(turned);
    p = (u8)((p & ~FLAG_V) | ((turned ^ value) & 64));
    if (p & FLAG_D) {
        if ((value & 15) + (value & 1) > 5) turned = (turned & 0xF0) | ((turned + 6) & 15);
        u32 high = (value & 0xF0) + (value & 0x10) > 0x50;
        if (high) turned += 0x60;
        set_carry(high);
    } else {
        set_carry(turned & 64);
        p = (u8)((p & ~FLAG_V) | ((turned ^ turned << 1) & 64));
    }
    a = (u8)turned;
}

// SAX, and the four stores that AND with the high byte of the address plus one.
CUDA_CALLABLE s32 store_undocumented(u32 opcode, u32 address, s32 at) {
    u32 page = ((address >> 8) + 1) & 255;
    u32 value = a & x;
    switch (opcode) {
        case 0x93:
        case 0x9F: value &= page; break;
        case 0x9E: value = x & page; break;
        case 0x9C: value = y & page; break;
        case 0x9B:
            s = (u8)value;
            value &= page;
            break;
        default: break;
    }
    return poke(address, value, at);
}
