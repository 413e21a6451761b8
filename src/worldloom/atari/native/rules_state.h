// What the rules of the games keep from frame to frame; judge() reads ram and cart_ram and sets them.
s32 score;
s32 reward;   // of the last frame
s32 lives;
s32 note[4];  // what a rule remembers
u8 over;
