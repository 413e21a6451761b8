// The television chip while frames run: filled in by who starts the machine.
Display view;
u32* log;            // memory for the log of one frame, null: none is kept
u8* picture;         // where a log that is full is drawn to
u32 log_room;        // events that fit
u32 logged, headed;  // events so far; whether the log has begun
s32 first_clock, last_clock;  // of the lines that are shown
s32 most_clocks;     // a frame without VSYNC ends here
u32 combs;           // 1: HMOVE leaves eight black pixels at the left
