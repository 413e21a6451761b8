// The fields of the machine. Those of `Machine` that outlive a launch lie between record_begin and record_end, without holes, as one block of bytes.

// The cartridge and what is plugged in: the same throughout a run, filled in by who starts the machine.
const u32* rom;      // one word for each byte of the image, see WORD_* in tables.h
u8* cart_ram;        // memory of the cartridge: RAM, or the registers of a DPC
u32 kind;            // KIND_*
u32 rom_slices;      // size of the image in 1 KiB, 1 to 256
u32 left, right;     // PORT_*: the controllers of the two ports
u32 swap_ports;      // 1: player A sits at the right port
u32 swap_paddles;    // 1: the two paddles of a port are exchanged
u32 switches_on;     // bits of SWCHB for colour and the two difficulties, as they stand
s32 paddle_low;      // limits of the resistance of a paddle
s32 paddle_high;

// Only while a frame runs.
s32 line_phase;      // lines start at cycles line_phase + 76 k
u32 stop;            // 1: the frame is over, the CPU ends after this instruction
s32 instructions;    // run in this frame so far
u8 bus;              // the last byte on the data bus before a read of the TIA

// Everything from here on is state: the record of a machine, from `cycles` to `ram`, the larger types first.
s32 cycles;          // CPU cycles since the start of the frame
s32 timer_cycle;     // cycles at the last write to the timer
s32 timer_noted;     // cycles at the read that noticed that the timer had expired
s32 paddle[4];       // resistances of the paddles
u32 slices;          // which KiB of the image each KiB of the cartridge's 4 KiB shows: 8 bits each, the lowest address first
u16 pc;
u8 a, x, y, s, p;    // p: N V 1 B D I Z C from bit 7 to 0
u8 timer_value, timer_shift, timer_expired;
u8 swcha_out, swcha_ddr, swchb_out, swchb_ddr;
u8 sticks;           // the pins of SWCHA
u8 switches;         // the pins of SWCHB
u8 fire[2];          // 1: the button of the stick in the left, right port is pressed
u8 bank;             // E7: which 256 bytes of RAM are shown
u8 ram[128];

// The record as bytes.
CUDA_CALLABLE u8* record() { return (u8*)&cycles; }
CUDA_CALLABLE u32 record_bytes() { return (u32)(ram + 128 - (u8*)&cycles); }
