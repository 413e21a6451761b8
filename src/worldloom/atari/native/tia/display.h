// The display state at one moment, and the pixels of a scanline that each of the six objects covers.
//
// The console changes it by events, each with a kind and a value. The drawing kernel replays the same events from a
// log. Objects are masks of 160 bits in five words, the leftmost pixel in the lowest bit of the first word.

enum Kind : u32 {
    VBLANK, COLUP0, COLUP1, COLUPF, COLUBK, CTRLPF, PF0, PF1, PF2, SHAPE0, SHAPE1, NUSIZ0, NUSIZ1, MISSILE0, MISSILE1, BALL,
    X_PLAYER0, X_PLAYER1, X_MISSILE0, X_MISSILE1, X_BALL, HIDE0, HIDE1, COMB, REFLECT, STARS, KINDS = 28
};

enum Object : u32 { PLAYER0, PLAYER1, OBJECT_MISSILE0, OBJECT_MISSILE1, OBJECT_BALL, PLAYFIELD, OBJECTS };

// By kind of event: a bit per object whose pixels depend on it, and the object that it enables or disables.
static const u8 TOUCHED[KINDS] = {0, 0, 0, 0, 0, 16, 32, 32, 32, 1, 2, 5, 10, 4, 8, 16, 1, 2, 4, 8, 16, 1, 2, 0, 32, 4, 0, 0};
static const u8 APPEARS[KINDS] = {9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 1, 9, 9, 2, 3, 4, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9};

// The two objects of each pair that may collide, in the order of Pair in collisions.h, the second shifted by 3.
static constexpr u8 PAIRED[16] = {
    PLAYER1 | OBJECT_MISSILE0 << 3, PLAYER0 | OBJECT_MISSILE0 << 3,
    PLAYER0 | OBJECT_MISSILE1 << 3, PLAYER1 | OBJECT_MISSILE1 << 3,
    PLAYER0 | PLAYFIELD << 3, PLAYER0 | OBJECT_BALL << 3, PLAYER1 | PLAYFIELD << 3, PLAYER1 | OBJECT_BALL << 3,
    OBJECT_MISSILE0 | PLAYFIELD << 3, OBJECT_MISSILE0 | OBJECT_BALL << 3,
    OBJECT_MISSILE1 | PLAYFIELD << 3, OBJECT_MISSILE1 | OBJECT_BALL << 3,
    OBJECT_BALL | PLAYFIELD << 3, 0, PLAYER0 | PLAYER1 << 3, OBJECT_MISSILE0 | OBJECT_MISSILE1 << 3
};

#if !defined(__CUDA_ARCH__)
// By set of objects, as bits: the pairs with any of them.
struct PairsWith {
    u16 of[1 << OBJECTS] = {};
    constexpr PairsWith() {
        for (u32 objects = 0; objects < 1 << OBJECTS; objects++)
            for (u32 pair = 0; pair < 16; pair++)
                if (PAIRED[pair] && (objects >> (PAIRED[pair] & 7) & 1 || objects >> (PAIRED[pair] >> 3) & 1)) of[objects] |= 1 << pair;
    }
};
static constexpr PairsWith PAIRS_WITH;

// By NUSIZ: positions of the copies of a player, one bit per eight pixels after the first.
static const u16 COPIES[8] = {0x001, 0x005, 0x011, 0x015, 0x101, 0x001, 0x111, 0x001};
#endif

// Each of four bits repeated four times: a lookup table for CPUs; GPUs compute it.
static const u16 QUADRUPLED[16] = {0x0000, 0x000F, 0x00F0, 0x00FF, 0x0F00, 0x0F0F, 0x0FF0, 0x0FFF,
                                      0xF000, 0xF00F, 0xF0F0, 0xF0FF, 0xFF00, 0xFF0F, 0xFFF0, 0xFFFF};

static const s32 LINE = 228;   // colour clocks of a scanline
static const s32 BLANK = 68;   // horizontal blank, in colour clocks
static const s32 WIDTH = 160;
static const s32 LOG_HEAD = 11;  // header words of a log, see rasterizer.h
static const s32 NEVER = 0x7FFFFFFF;
static const s32 HUNG = 0x20000000;  // cycles of one frame: about two hours

struct Display {
    u8 now[KINDS];
    u32 mask[OBJECTS][5];
    u32 stale;    // a bit per object whose mask is out of date
    u32 present;  // a bit per object that has any pixel

    // Invalidates all masks after `now` has been filled.
    CUDA_CALLABLE void begin() {
        stale = (1u << OBJECTS) - 1;
        present = (now[SHAPE0] != 0) << PLAYER0 | (now[SHAPE1] != 0) << PLAYER1 | now[MISSILE0] << OBJECT_MISSILE0 | now[MISSILE1] << OBJECT_MISSILE1 |
                  now[BALL] << OBJECT_BALL | ((now[PF0] | now[PF1] | now[PF2]) != 0) << PLAYFIELD;
    }

    // Applies an event.
    CUDA_CALLABLE void set(u32 kind, u32 value) {
        now[kind] = value;
        stale |= TOUCHED[kind];
        u32 object = APPEARS[kind];
        if (kind >= PF0 && kind <= PF2) {
            object = PLAYFIELD;
            value = now[PF0] | now[PF1] | now[PF2];
        }
        if (object <= PLAYFIELD) present = value ? present | 1u << object : present & ~(1u << object);
    }

    // The starfield effect: a write to HMM0 at the right moment keeps the extra clocks of missile 0 going, so that it
    // moves from scanline to scanline. STARS is 128 plus the phase in a cycle of four scanlines.
    CUDA_CALLABLE NOINLINE void advance_starfield() {
        u32 turn = (now[STARS] + 1) & 3;
        s32 to = now[X_MISSILE0] - (turn == 0 ? 18 : turn == 1 ? 33 : turn == 2 ? 0 : 17);
        now[STARS] = 128 | turn;
        now[X_MISSILE0] = to < 0 ? to + WIDTH : to;
        stale |= 1u << OBJECT_MISSILE0;
    }

    // Nonzero if any state holds for this scanline only.
    CUDA_CALLABLE u32 ends_with_line() const { return now[STARS] | now[HIDE0] | now[HIDE1] | now[COMB] | (now[REFLECT] ^ (now[CTRLPF] & 1)); }

    // End of a scanline: resets the state that holds for one scanline only.
    CUDA_CALLABLE void end_line() {
        if (now[STARS]) advance_starfield();
        if (now[HIDE0]) stale |= 1u << PLAYER0;
        if (now[HIDE1]) stale |= 1u << PLAYER1;
        now[HIDE0] = now[HIDE1] = now[COMB] = 0;
        u8 reflect = now[CTRLPF] & 1;
        if (now[REFLECT] != reflect) stale |= 1u << PLAYFIELD;
        now[REFLECT] = reflect;
    }

    // Sets up to 32 pixels from pixel x on, wrapping around the edge of the scanline.
    CUDA_CALLABLE void cover(u32* into, u32 bits, s32 x) const {
        if (x >= WIDTH) x -= WIDTH;
        s32 word = x >> 5, shift = x & 31;
        into[word] |= bits << shift;
        if (shift) into[word == 4 ? 0 : word + 1] |= bits >> (32 - shift);
    }

    // The first copy of an object and its repetitions by NUSIZ.
    NOINLINE CUDA_CALLABLE void copies(u32* into, u32 bits, s32 x, u32 mode, u32 hidden) const {
        if (!hidden) cover(into, bits, x);
        if (mode == 1 || mode == 3) cover(into, bits, x + 16);
        if (mode == 2 || mode == 3 || mode == 6) cover(into, bits, x + 32);
        if (mode == 4 || mode == 6) cover(into, bits, x + 64);
    }

    CUDA_CALLABLE u32 doubled(u32 byte) const {  // repeats every bit
        byte = (byte | byte << 4) & 0x0F0Fu;
        byte = (byte | byte << 2) & 0x3333u;
        return ((byte | byte << 1) & 0x5555u) * 3;
    }

    CUDA_CALLABLE u32 quadrupled(u32 byte) const {
#if defined(__CUDA_ARCH__)
        byte = (byte | byte << 12) & 0x000F000Fu;
        byte = (byte | byte << 6) & 0x03030303u;
        return ((byte | byte << 3) & 0x11111111u) * 15;
#else
        return QUADRUPLED[byte & 15] | (u32)QUADRUPLED[byte >> 4] << 16;
#endif
    }

    CUDA_CALLABLE u32 mirrored(u32 half) const {  // reverses the 20 bits of half a playfield
        half = (half & 0x55555u) << 1 | (half >> 1 & 0x55555u);
        half = (half & 0x33333u) << 2 | (half >> 2 & 0x33333u);
        return (half & 15) << 16 | (half & 0xF0) << 8 | (half & 0xF00) | (half & 0xF000) >> 8 | half >> 16;
    }

    CUDA_CALLABLE void build_player(u32 which) {
        u32* into = mask[which];
        u32 shape = now[SHAPE0 + which], mode = now[NUSIZ0 + which] & 7, hidden = now[HIDE0 + which];
        s32 x = now[X_PLAYER0 + which];
        if (mode == 5) shape = doubled(shape);
        if (mode == 7) shape = quadrupled(shape);
        copies(into, shape, mode == 5 || mode == 7 ? x + 1 : x, mode, hidden);  // wide players come one clock later
    }

    CUDA_CALLABLE void build_playfield() {
        u32* into = mask[PLAYFIELD];
        u32 half = now[PF0] | now[PF1] << 4 | now[PF2] << 12;
        into[0] = quadrupled(half & 255);
        into[1] = quadrupled(half >> 8 & 255);
        into[2] = quadrupled(half >> 16);
        u32 right = now[REFLECT] ? mirrored(half) : half;
        into[2] |= quadrupled(right & 15) << 16;
        into[3] = quadrupled(right >> 4 & 255);
        into[4] = quadrupled(right >> 12);
    }

    // Updates the masks of these objects.
    CUDA_CALLABLE void build(u32 wanted) {
        wanted &= stale;
        if (!wanted) return;
        stale &= ~wanted;
#if defined(__CUDA_ARCH__)  // all threads of a warp build the same object at the same time
        ROLLED for (u32 object = 0; object < OBJECTS; object++) {
            if (!(wanted >> object & 1)) continue;
#else
        for (; wanted; wanted &= wanted - 1) {
            const u32 object = __builtin_ctz(wanted);
#endif
            u32* into = mask[object];
            into[0] = into[1] = into[2] = into[3] = into[4] = 0;
            if (object <= PLAYER1) build_player(object);
            else if (object == PLAYFIELD) build_playfield();
            else if (object == OBJECT_BALL) cover(into, (1u << (1u << (now[CTRLPF] >> 4 & 3))) - 1, now[X_BALL]);
            else {
                u32 size = now[NUSIZ0 + object - OBJECT_MISSILE0];
                if (object == OBJECT_MISSILE0 && now[STARS]) {
                    if (now[STARS] == 130) continue;
                    if (now[STARS] == 129) size |= 16;
                }
                copies(into, (1u << (1u << (size >> 4 & 3))) - 1, now[X_MISSILE0 + object - OBJECT_MISSILE0], size & 7, 0);
            }
        }
    }

    // The pixels of [x0, x1) in a word of the masks.
    CUDA_CALLABLE u32 window(s32 word, s32 x0, s32 x1) const {
        s32 from = x0 - 32 * word, to = x1 - 32 * word;
        u32 below = to >= 32 ? 0xFFFFFFFFu : to <= 0 ? 0u : (1u << to) - 1;
        return from >= 32 ? 0u : from <= 0 ? below : below & ~((1u << from) - 1);
    }
};
