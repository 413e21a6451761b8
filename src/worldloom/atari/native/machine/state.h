// The fields of the machine. Those kept between launches lie at the end, without padding, as one block of bytes.

// The cartridge and the controllers: constant during a run, set by attach_game.
const u32* rom;      // one word per byte of the image, see WORD_* in common.h
u8* cart_ram;        // cartridge RAM, or the registers of a DPC
u32 kind;            // KIND_*
u32 rom_slices;      // size of the image in 1 KiB, 1 to 256
u32 left, right;     // PORT_*: controllers of the two ports
u32 swap_ports;      // 1: player A uses the right port
u32 swap_paddles;    // 1: the two paddles of a port are swapped
u32 switches_on;     // bits of SWCHB for colour and the two difficulties
u32 players;         // number of players: 1, 2 or 4
s32 paddle_low;      // limits of the resistance of a paddle
s32 paddle_high;

// Valid only while a frame runs.
s32 line_phase;      // scanlines start at cycles line_phase + 76 k
u32 stop;            // 1: the frame is over, the CPU stops after this instruction
u8 bus;              // last byte on the data bus before a read of the TIA
u8 touched;          // register of the last write to the TIA; 0 after a read
s32 passed;          // clock of the latest display change for which collisions were not evaluated
s32 others[3];       // reward of the last frame for players B, C and D; set by multiplayer reward rules

#if !defined(__CUDA_ARCH__)
u32 shown, lift, overflow, modes;  // of the 6507, see m6507.h, where V is `over`
u32 player_overlap;           // see player_overlap.h
#endif

// The TIA while frames run.
Display view;
#if defined(__CUDA_ARCH__)  // see tia_write_queue_cuda.h
u32 warp_mask;            // a bit per console of the warp that runs this frame too; they synchronize at every scanline
u32 write_queue[WRITE_QUEUE_SIZE];  // pending writes: cycle (18 bits), register (6), value (8)
u32 queued_writes;
u8 last_written[64];         // by register: last value
unsigned long long stale_registers;  // a bit per register whose last value is unknown, or whose writes always act
u32 command[12];       // commands of the current write: clocks after it, kind and value; see tia_commands.h
u32 commands;
s32 write_clock;         // clock of the current write
#endif
u32* log;            // log of one frame; null: no logging
u8* pictures;        // both pictures: a full log is drawn into one of them
s32 picture_bytes;   // bytes from one picture to the other
u32 log_room;        // capacity of the log in events
u32 logged, has_log_header;  // events so far; whether the header is written
s32 first_clock, last_clock;  // of the visible scanlines
s32 most_clocks;     // end of a frame without VSYNC
u32 fades;           // 1: a PAL television, which may lose colours
u32 combs;           // 1: HMOVE blanks eight pixels at the left

// Everything from here on is state: the record of a machine, larger types first except for the RAM, which has a fixed
// offset.
s32 cycles;          // CPU cycles since the start of the frame
u8 ram[128];
s32 timer_cycle;     // cycle of the last write to the timer
s32 timer_noted;     // cycle of the first read after the timer expired
s32 paddle[4];       // resistances of the paddles
u32 slices;          // KiB of the image mapped to each KiB of the cartridge's 4 KiB: 8 bits each, lowest address first
// The TIA; clocks are colour clocks since the start of the frame's first scanline.
s32 phase;           // scanlines start at cycles phase + 76 k: minus the cycles of the first scanline before the frame
s32 vsync_end;       // clock from which the end of VSYNC ends the frame
s32 hmove_clock;     // clock of the last HMOVE
s32 dump_cycle;      // cycle at which the paddles' capacitors began to charge
s32 seen;            // clock of the last access to the TIA: the display is known up to here
s32 looked;          // collisions are evaluated up to this clock
s32 marked_line;     // scanline for which HIDE0, HIDE1 and REFLECT of the display hold
s32 instructions;    // instructions of the last frame; on a CPU including the whole current quantum
// State of the reward rules.
s32 score;
s32 reward;   // reward of the last frame
s32 lives;
s32 note[4];  // memory of a rule
u16 pc;
u16 collided;        // a bit per pair of objects, see collisions.h
u8 a, x, y, s, p;    // p: N V 1 B D I Z C from bit 7 to 0
u8 timer_value, timer_shift, timer_expired;
u8 swacnt;           // data direction of port A; without effect except for reads
u8 sticks;           // pins of SWCHA
u8 switches;         // pins of SWCHB
u8 fire[2];          // 1: fire button of the joystick in the left, right port is pressed
u8 bank;             // E7: mapped bank of 256 bytes of RAM
u8 kept[28];         // the display between two frames
u8 faded;            // 1: this frame has lost its colours
u8 comb_due;         // HMOVE blank of the first visible scanline: bit 0 in this frame, bit 1 in the next
u8 buffer;           // index of the picture of this frame
u8 partial;          // 1: the last frame hit the instruction limit and continues
u8 vblank;
u8 grp[2], grp_old[2], reflected[2], delayed[2];  // players: graphics, delayed graphics, REFP, VDELP
u8 enam[2], resmp[2];                              // missiles
u8 enabl, enabl_old, delayed_ball;
u8 motion[5];        // HMxx of players, missiles and ball: the high nibble
u8 over;
u8 record_end;
u8 beyond[64];       // padding: records are copied as a fixed number of words
