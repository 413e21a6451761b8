// The body of the native function that shows the pictures of console k: as thread `lane` of a block that works on one console
// on a GPU, alone on a CPU.

enum : s32 { SHOW_SAME, SHOW_FIRST, SHOW_SECOND, SHOW_BRIGHTER, SHOW_NOTHING_NEW };
enum : s32 { CELLS = OUT_HEIGHT * OUT_WIDTH, PLANE = CELLS * CHANNELS, OLDER = PLANE * (STACK - 1) };
enum : s32 { PIXEL_STEP = INTERLEAVED ? CHANNELS : 1, CHANNEL_STEP = INTERLEAVED ? 1 : CELLS };

s32 number = game.data[k], shown = show.data ? show.data[k] : SHOW_BRIGHTER;
bool begins = fresh.data && fresh.data[k];
if (shown == SHOW_NOTHING_NEW) return;

u8* stack = screen.data + (long long)k * (PLANE * STACK);
u8* newest = stack + OLDER;
const u8* first = pictures.data + (long long)k * pictures.strides[0];
const u8* second = first + pictures.strides[1];
if (shown == SHOW_FIRST) second = first;
if (shown == SHOW_SECOND) first = second;
const u8* colours = palettes.data + number * (CHANNELS * 256);
const s32* chosen = plans.data + (long long)sizes.data[number] * plans.strides[0] / 4;
const float* parts = shares.data + (long long)sizes.data[number] * shares.strides[0] / 4;
s32 rows = chosen[PLAN_ROWS];

#if defined(__CUDA_ARCH__)

__shared__ __align__(16) u8 brightness[ROWS * WIDTH];
__shared__ u8 table[CHANNELS * 256];
__syncthreads();
for (s32 i = lane; i < CHANNELS * 256; i += LANES) table[i] = colours[i];

// Each thread moves the same bytes of all planes, so that none is read after it was written.
for (s32 i = lane; i < PLANE / (s32)sizeof(Unit); i += LANES) {
    Unit* at = (Unit*)stack + i;
    Unit last = at[OLDER / (s32)sizeof(Unit)], nothing = Unit();
    for (s32 plane = 0; plane < STACK - 1; plane++, at += PLANE / (s32)sizeof(Unit))
        *at = !begins ? at[PLANE / (s32)sizeof(Unit)] : ZEROS ? nothing : last;
}
if (shown == SHOW_SAME) return;

Resize resize = {brightness, chosen, parts};
for (s32 channel = 0; channel < CHANNELS; channel++) {
    const u8* seen = table + 256 * channel;
    __syncthreads();
#pragma unroll 4
    for (s32 i = lane; i < rows * (WIDTH / 16); i += LANES) {
        uint4 one = ((const uint4*)first)[i], other = ((const uint4*)second)[i];
        u32 a[4] = {one.x, one.y, one.z, one.w}, b[4] = {other.x, other.y, other.z, other.w};
        for (s32 word = 0; word < 4; word++) {
            u32 made = 0;
            for (s32 byte = 0; byte < 32; byte += 8) made |= (u32)seen[a[word] >> byte & 255] << byte;
            if (a[word] != b[word]) {
                u32 before = made;
                made = 0;
                for (s32 byte = 0; byte < 32; byte += 8) {
                    u32 mine = before >> byte & 255, its = seen[b[word] >> byte & 255];
                    made |= (mine > its ? mine : its) << byte;
                }
            }
            a[word] = made;
        }
        ((uint4*)brightness)[i] = make_uint4(a[0], a[1], a[2], a[3]);
    }
    __syncthreads();
    for (s32 i = lane; i < CELLS; i += LANES) {
        s32 y = i / OUT_WIDTH, x = i - y * OUT_WIDTH;
        u8 made;
        if (HAS_LINEAR && chosen[PLAN_KIND] == LINEAR) {
            made = resize.between(x, y);
        } else {
            bool doubt;
            u32 sum = resize.sum(x, y);
            made = resize.mean(sum, doubt);
            if (doubt) made = resize.settled(x, y, sum, made);
        }
        u8* at = newest + channel * CHANNEL_STEP + i * PIXEL_STEP;
        *at = made;
        if (begins && !ZEROS)
            for (s32 plane = 1; plane < STACK; plane++) at[-plane * PLANE] = made;
    }
}

#else

// Rows of a picture repeat, and frames do: whatever was worked out already is not worked out again.
struct Eye {
    const u8 *first, *second;
    s32 rows;
    u8 brightness[ROWS * WIDTH];
    u16 alike[ROWS];  // the first of the rows above that are all the same as this one
    bool differ[ROWS];  // whether both frames show the row in the same way

    bool same(const u8* a, const u8* b) const {
        u8 found = 0;
        for (s32 x = 0; x < WIDTH; x++) found |= a[x] ^ b[x];
        return !found;
    }

    void compare() {
        for (s32 y = 0; y < ROWS; y++) alike[y] = y;
        for (s32 y = 0; y < rows; y++) {
            const u8 *a = first + y * WIDTH, *b = second + y * WIDTH;
            differ[y] = first != second && !same(a, b);
            if (y && differ[y] == differ[y - 1] && same(a, a - WIDTH) && (!differ[y] || same(b, b - WIDTH))) alike[y] = alike[y - 1];
        }
    }

    void pool(const u8* table) {
        for (s32 y = 0; y < rows; y++) {
            const u8 *a = first + y * WIDTH, *b = second + y * WIDTH;
            u8* made = brightness + y * WIDTH;
            if (alike[y] != y) {
                for (s32 x = 0; x < WIDTH; x++) made[x] = made[x - WIDTH];
            } else if (differ[y]) {
                for (s32 x = 0; x < WIDTH; x++) made[x] = table[a[x]] > table[b[x]] ? table[a[x]] : table[b[x]];
            } else {
                for (s32 x = 0; x < WIDTH; x++) made[x] = table[a[x]];
            }
        }
    }

    // One line of the target; false where a mean was in doubt, so that the next line may differ though all of its sources are the same.
    bool shrink(const Resize& resize, s32 y, u8* made) const {
        const s32 *lines = resize.line(y), *columns = resize.columns();
        const u8* at = brightness + lines[0] * WIDTH;
        u16 down[WIDTH];
        for (s32 x = 0; x < WIDTH; x++) down[x] = 0;
        for (s32 j = 0; j < DOWN; j++)
            for (s32 x = 0; x < WIDTH; x++) down[x] += (u16)lines[1 + j] * at[j * WIDTH + x];
        bool any = false;
        for (s32 x = 0; x < OUT_WIDTH; x++) {
            u32 sum = 0;
            for (s32 i = 0; i < ACROSS; i++) sum += (u32)columns[(1 + i) * OUT_WIDTH + x] * down[columns[x] + i];
            bool doubt;
            made[x] = resize.mean(sum, doubt);
            if (doubt) {
                made[x] = resize.settled(x, y, sum, made[x]);
                any = true;
            }
        }
        return !any;
    }

    void resize(const Resize& resize, u8* to) const {
        u8 made[OUT_WIDTH];
        bool sure = false;
        for (s32 y = 0; y < OUT_HEIGHT; y++) {
            if (HAS_LINEAR && resize.plan[PLAN_KIND] == LINEAR) {
                for (s32 x = 0; x < OUT_WIDTH; x++) made[x] = resize.between(x, y);
            } else if (!sure || alike[resize.line(y)[0] + DOWN - 1] > resize.line(y - 1)[0]) {
                sure = shrink(resize, y, made);
            }
            for (s32 x = 0; x < OUT_WIDTH; x++) to[(y * OUT_WIDTH + x) * PIXEL_STEP] = made[x];
        }
    }
};

if (!begins) __builtin_memmove(stack, stack + PLANE, OLDER);
if (shown != SHOW_SAME) {
    Eye eye;
    eye.first = first;
    eye.second = second;
    eye.rows = rows;
    eye.compare();
    for (s32 channel = 0; channel < CHANNELS; channel++) {
        eye.pool(colours + 256 * channel);
        eye.resize({eye.brightness, chosen, parts}, newest + channel * CHANNEL_STEP);
    }
}
if (begins) {
    if (ZEROS)
        __builtin_memset(stack, 0, OLDER);
    else
        for (s32 plane = 0; plane < STACK - 1; plane++) __builtin_memcpy(stack + plane * PLANE, newest, PLANE);
}

#endif
