// Draws the picture of a frame from the log of its display events: rasterizer_cpu.h or rasterizer_cuda.h.
//
// A log holds the number of events, its first clock, its last clock, the display at its start (7 words), the index of
// its picture, and the events: clock << 13 | kind << 8 | value. An event with an earlier clock than one before it takes
// effect together with that one.

Display view;
u8* picture;
s32 first_line;

// The visible object of 32 pixels of a scanline, one bit each. The playfield may have the colours of the players, that
// of player 0 in its left half; the other objects may lie in front of it.
struct Layers {
    u32 field, left, player0, player1, ball;
};

CUDA_CALLABLE u32 mask_of(u32 shown, u32 object, s32 word) const { return shown >> object & 1 ? view.mask[object][word] : 0; }

// Whether the halves of the playfield have the colours of the players.
CUDA_CALLABLE bool is_split(u32 shown) const { return view.now[CTRLPF] & 2 && (!(view.now[CTRLPF] & 4) || !(shown & ~(1u << PLAYFIELD))); }

CUDA_CALLABLE Layers layers(u32 shown, bool split, s32 word) const {
    const u32 halves = view.now[CTRLPF] & 2, over = view.now[CTRLPF] & 4, field = mask_of(shown, PLAYFIELD, word);
    const u32 player0 = mask_of(shown, PLAYER0, word) | mask_of(shown, OBJECT_MISSILE0, word);
    const u32 player1 = mask_of(shown, PLAYER1, word) | mask_of(shown, OBJECT_MISSILE1, word), ball = mask_of(shown, OBJECT_BALL, word);
    const u32 left = split ? field & view.window(word, 0, WIDTH / 2) : 0, before = over ? field | ball : 0;
    return {field, left, player0 & ~before, player1 & ~(before | left), ball & ~((halves ? field : 0) | (over ? 0 : player0 | player1))};
}

CUDA_CALLABLE u8* row_of(s32 line) const { return picture + (line - first_line) * WIDTH; }

CUDA_CALLABLE void begin(const u32* log) {
    for (s32 i = 0; i < KINDS / 4; i++) ((u32*)view.now)[i] = log[3 + i];
    view.begin();
}
