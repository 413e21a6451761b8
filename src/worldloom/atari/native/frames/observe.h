// Start of the native function that writes the observation of console k. It continues in observe_cpu.h, or in
// observe_cuda.h as thread `lane` of a block that works on one console.

enum : s32 { SHOW_SAME, SHOW_FIRST, SHOW_SECOND, SHOW_BRIGHTER, SHOW_NOTHING_NEW };
enum : s32 { CELLS = OUT_HEIGHT * OUT_WIDTH, PLANE = CELLS * CHANNELS, OLDER = PLANE * (STACK - 1) };
enum : s32 { PIXEL_STEP = INTERLEAVED ? CHANNELS : 1, CHANNEL_STEP = INTERLEAVED ? 1 : CELLS };

s32 number = (u32)game.data[k] < (u32)palettes.shape[0] ? game.data[k] : 0, shown = show.data ? show.data[k] : SHOW_BRIGHTER;
bool begins = fresh.data && fresh.data[k];
if (shown == SHOW_NOTHING_NEW) return;

u8* stack = screen.data + (long long)k * (PLANE * STACK);
u8* newest = stack + OLDER;
const u8* first = pictures.data + (long long)k * pictures.strides[0];
const u8* second = first + pictures.strides[1];
if (shown == SHOW_FIRST) second = first;
if (shown == SHOW_SECOND) first = second;
const u8* colours = palettes.data + number * (CHANNELS * 256);
Resize resize;
resize.begin(plans.data + sizes.data[number] * plans.shape[1], shares.data + sizes.data[number] * shares.shape[1]);
s32 rows = resize.plan[PLAN_ROWS];
