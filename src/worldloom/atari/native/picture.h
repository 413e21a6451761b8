// Draws the picture of a frame from the log of its events.
//
// A log holds: how many events, the clock it begins at, the clock it ends at, the display at its beginning (7 words), which of the two
// pictures it belongs to, and the events: clock << 13 | kind << 8 | value.

Display view;
u8* picture;
s32 first_line;

// Draw from one clock of the frame to another; rows outside of [top, bottom) are left alone.
CUDA_CALLABLE void draw(s32 from, s32 to, s32 top, s32 bottom) {
    s32 alike = -2;  // the last line that was drawn whole, as all after it will be
    s32 line = from / LINE, x = from - line * LINE - BLANK;
    if (x < 0) x = 0;
    while (line * LINE + BLANK + x < to) {
        s32 end = to - line * LINE - BLANK;
        if (end > WIDTH) end = WIDTH;
        if (line >= top && line < bottom && x < end) {
#if !defined(__CUDA_ARCH__)  // a GPU draws a line sooner than it reads one
            if (x == 0 && end == WIDTH && alike == line - 1 && line > top) repeat(line);
            else
#endif
                segment(line, x, end);
            if (x == 0 && end == WIDTH && !view.ends_with_line()) alike = line;
        }
        if (to < (line + 1) * LINE) return;
        view.end_line();
        line++;
        x = 0;
    }
}

// Draw the lines [top, bottom) of the log's frame.
CUDA_CALLABLE void replay(const u32* log, s32 top, s32 bottom) {
    u32 count = log[0];
    s32 clock = log[1], end = log[2];
    for (s32 i = 0; i < KINDS / 4; i++) ((u32*)view.now)[i] = log[3 + i];
    view.begin();
    forget_ground();
    s32 stop = bottom * LINE;
    if (end > stop) end = stop;
    for (u32 i = 0; i < count; i++) {
        u32 event = log[LOG_HEAD + i], kind = event >> 8 & 31;
        s32 at = event >> 13;
        if (at > end) break;
        if (at > clock) {
            draw(clock, at, top, bottom);
            clock = at;
        }
        view.set(kind, event & 255);
        if (kind >= COLUP0 && kind <= CTRLPF) forget_ground();
    }
    if (clock < end) draw(clock, end, top, bottom);
}
