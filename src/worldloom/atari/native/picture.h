// Draws the picture of a frame from the log of its events: picture_cpu.h or picture_cuda.h.
//
// A log holds: how many events, the clock it begins at, the clock it ends at, the display at its beginning (7 words), which of the two
// pictures it belongs to, and the events: clock << 13 | kind << 8 | value. Events whose clocks are before that of another before them take effect
// together with it.

Display view;
u8* picture;
s32 first_line;

CUDA_CALLABLE u8* row_of(s32 line) const { return picture + (line - first_line) * WIDTH; }

CUDA_CALLABLE void begin(const u32* log) {
    for (s32 i = 0; i < KINDS / 4; i++) ((u32*)view.now)[i] = log[3 + i];
    view.begin();
}
