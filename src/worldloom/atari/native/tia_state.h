// State of the television chip; clocks are colour clocks since the first line of the frame began.
s32 phase;           // lines start at cycles phase + 76 k of the frame: minus the cycles that its first line had before it
s32 vsync_end;       // the clock from which the end of VSYNC ends the frame
s32 hmove_clock;     // of the last HMOVE
s32 dump_cycle;      // when the paddles' capacitors began to load, in CPU cycles
s32 looked;          // up to this clock collisions are known
s32 marked_line;     // the line for which HIDE0, HIDE1 and REFLECT of the display hold
u16 collided;        // a bit per pair of objects, see collisions.h
u8 kept[28];         // the display between two frames
u8 partial;          // 1: the last frame was cut off by its number of instructions, and goes on
u8 vblank;
u8 grp[2], grp_old[2], reflected[2], delayed[2];  // players: graphics, those that a delay shows, REFP, VDELP
u8 enam[2], resmp[2];                              // missiles
u8 enabl, enabl_old, delayed_ball;
u8 motion[5];        // HMxx: players, missiles, ball, the high nibble
