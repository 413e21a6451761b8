// The fields of the machine. Those that outlive a launch lie at the end, without holes, as one block of bytes.

// The cartridge and what is plugged in: the same throughout a run, filled in by who starts the machine.
const u32* rom;      // one word for each byte of the image, see WORD_* in common.h
u8* cart_ram;        // memory of the cartridge: RAM, or the registers of a DPC
u32 kind;            // KIND_*
u32 rom_slices;      // size of the image in 1 KiB, 1 to 256
u32 left, right;     // PORT_*: the controllers of the two ports
u32 swap_ports;      // 1: player A sits at the right port
u32 swap_paddles;    // 1: the two paddles of a port are exchanged
u32 switches_on;     // bits of SWCHB for colour and the two difficulties, as they stand
u32 players;         // who plays: 1, 2 or 4
s32 paddle_low;      // limits of the resistance of a paddle
s32 paddle_high;

// Only while a frame runs.
s32 line_phase;      // lines start at cycles line_phase + 76 k
u32 stop;            // 1: the frame is over, the CPU ends after this instruction
u8 bus;              // the last byte on the data bus before a read of the TIA
u8 touched;          // the register of the last access to the TIA, 0 where that was a read
s32 passed;          // the clock of the latest change before which nobody looked for collisions
s32 others[3];       // what the last frame is worth to the players B, C and D; rules of games for several set it

#if !defined(__CUDA_ARCH__)
u32 shown, lift, overflow, modes;  // of the 6507, see m6507.h, where V is `over`
u32 player_overlap;           // whether the players are, see player_overlap.h
#endif

// The television chip while frames run.
Display view;
#if defined(__CUDA_ARCH__)  // see tia_write_queue_cuda.h
u32 warp_mask;            // a bit per console of the warp that runs this frame too: they meet at every line
u32 write_queue[WRITE_QUEUE_SIZE];  // writes that the chip has not been told of yet: cycles, register and value, 18, 6 and 8 bits
u32 queued_writes;
u8 last_written[64];         // by register, the last value
unsigned long long stale_registers;  // a bit per register that need not hold what it was told, or acts each time
u32 command[12];       // of the last write that the chip was told of: clocks after it, kind and value, see tia_commands.h
u32 commands;
s32 write_clock;         // its clock
#endif
u32* log;            // memory for the log of one frame, null: none is kept
u8* pictures;        // both: a log that is full is drawn into one of them
s32 picture_bytes;   // from one to the other
u32 log_room;        // events that fit
u32 logged, has_log_header;  // events so far; whether the log has begun
s32 first_clock, last_clock;  // of the lines that are shown
s32 most_clocks;     // a frame without VSYNC ends here
u32 fades;           // 1: a PAL set, which loses colours
u32 combs;           // 1: HMOVE leaves eight black pixels at the left

// Everything from here on is state: the record of a machine, the larger types first but for the RAM, whose place others know.
s32 cycles;          // CPU cycles since the start of the frame
u8 ram[128];
s32 timer_cycle;     // cycles at the last write to the timer
s32 timer_noted;     // cycles at the read that noticed that the timer had expired
s32 paddle[4];       // resistances of the paddles
u32 slices;          // which KiB of the image each KiB of the cartridge's 4 KiB shows: 8 bits each, the lowest address first
// The television chip; clocks are colour clocks since the first line of the frame began.
s32 phase;           // lines start at cycles phase + 76 k of the frame: minus the cycles that its first line had before it
s32 vsync_end;       // the clock from which the end of VSYNC ends the frame
s32 hmove_clock;     // of the last HMOVE
s32 dump_cycle;      // when the paddles' capacitors began to load, in CPU cycles
s32 seen;            // the clock of the last access to the chip: so far the picture is drawn
s32 looked;          // up to this clock collisions are known
s32 marked_line;     // the line for which HIDE0, HIDE1 and REFLECT of the display hold
s32 instructions;    // run in the last frame; on a CPU, while it runs, with those of a turn that has begun
// What the rules of the games keep from frame to frame.
s32 score;
s32 reward;   // of the last frame
s32 lives;
s32 note[4];  // what a rule remembers
u16 pc;
u16 collided;        // a bit per pair of objects, see collisions.h
u8 a, x, y, s, p;    // p: N V 1 B D I Z C from bit 7 to 0
u8 timer_value, timer_shift, timer_expired;
u8 swacnt;           // directions of port A, which can be read back and do nothing else
u8 sticks;           // the pins of SWCHA
u8 switches;         // the pins of SWCHB
u8 fire[2];          // 1: the button of the stick in the left, right port is pressed
u8 bank;             // E7: which 256 bytes of RAM are shown
u8 kept[28];         // the display between two frames
u8 faded;            // 1: this frame has no colours
u8 comb_due;         // the first line shown is to have its blank: bit 0 in this frame, bit 1 in the next
u8 buffer;           // which of the two pictures this frame goes to
u8 partial;          // 1: the last frame was cut off by its number of instructions, and goes on
u8 vblank;
u8 grp[2], grp_old[2], reflected[2], delayed[2];  // players: graphics, those that a delay shows, REFP, VDELP
u8 enam[2], resmp[2];                              // missiles
u8 enabl, enabl_old, delayed_ball;
u8 motion[5];        // HMxx: players, missiles, ball, the high nibble
u8 over;
u8 record_end;
u8 beyond[64];       // records are copied by whole words of a fixed size, into this
