#if defined(__clang__)
#pragma clang diagnostic ignored "-Wparentheses-equality"
#pragma clang diagnostic ignored "-Wparentheses"
#pragma clang diagnostic ignored "-Wbitwise-op-parentheses"
#pragma clang diagnostic ignored "-Wshift-op-parentheses"
#pragma clang diagnostic ignored "-Wlogical-op-parentheses"
#endif
// Types, macros and tables of the console. They are placed in the body of a function, before the struct.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;

// NOINLINE marks functions that are rarely called: it keeps the hot loop and its number of registers small.
#if defined(__CUDACC__) || defined(__GNUC__) || defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE
#endif

// INLINE_ON_CPU marks short functions with many call sites or constant arguments: inlined on a CPU, called on a GPU.
// NOINLINE_ON_CPU marks their rare parts.
#if defined(__CUDA_ARCH__)
#define INLINE_ON_CPU NOINLINE
#define NOINLINE_ON_CPU
#else
#define INLINE_ON_CPU inline __attribute__((always_inline))
#define NOINLINE_ON_CPU NOINLINE
#endif

// ROLLED keeps the GPU compiler from unrolling a loop: small code stays in the instruction cache. UNROLLED unrolls it.
#if defined(__CUDA_ARCH__)
#define ROLLED _Pragma("unroll 1")
#define UNROLLED _Pragma("unroll")
#else
#define ROLLED
#define UNROLLED
#endif

// The row of a game in the game table. The index may come from a file: an index out of range selects the first row.
#define KNOWN_ROW(game, games) ((u32)(game) < (u32)(games) ? (game) : 0)

// Cartridge kinds, numbered as in cartridge.py.
enum : u32 {
    KIND_2K, KIND_4K, KIND_F8, KIND_F8SC, KIND_F6, KIND_F6SC, KIND_F4, KIND_F4SC,
    KIND_E0, KIND_FE, KIND_E7, KIND_3F, KIND_FA, KIND_CV, KIND_UA, KIND_DPC
};

// Controllers of a port, numbered as in rom_bank.py.
enum : u32 { PORT_JOYSTICK, PORT_PADDLES, PORT_EMPTY };

// The high byte of a ROM word. The low bytes are the byte at that address and the two following ones.
enum : u32 {
    WORD_READ = 1u << 24,   // reading this byte has a side effect: a hotspot, RAM, a register
    WORD_FETCH = 1u << 25,  // an instruction at this address must be fetched byte by byte
    WORD_POLL = 1u << 26    // start of a loop that polls the timer
};

// Lengths of instructions in bytes, 2 bits each, 16 opcodes per word.
static const u32 LENGTHS[16] = {0xFF99AA99u, 0xFFDDAA9Au, 0xFF99AA9Bu, 0xFFDDAA9Au,
                                0xFF99AA99u, 0xFFDDAA9Au, 0xFF99AA99u, 0xFFDDAA9Au,
                                0xFF99AAAAu, 0xFFDDAA9Au, 0xFF99AAAAu, 0xFFDDAA9Au,
                                0xFF99AAAAu, 0xFFDDAA9Au, 0xFF99AAAAu, 0xFFDDAA9Au};

// Intervals of the timer as powers of two: 1, 8, 64 and 1,024 cycles, 8 bits each.
enum : u32 { TIMER_SHIFTS = 0x0A060300u };

// Maximum number of instructions of a frame.
enum : s32 { MAX_INSTRUCTIONS = 25000 };

// Instructions that a CPU runs of one console before it switches to the next: about as many as its branch predictor
// holds.
enum : u32 { INSTRUCTION_QUANTUM = 768 };

// Directions of each action: up 1, down 2, left 4, right 8, fire 16.
static const u8 ACTIONS[18] = {0, 16, 1, 8, 4, 2, 9, 5, 10, 6, 17, 24, 20, 18, 25, 21, 26, 22};

// Change of a paddle's resistance by one frame of left or right.
enum : s32 { PADDLE_STEP = 23000 };

// Amplitude of the DPC for each combination of its three notes, 4 bits each.
enum : u32 { DPC_LOUDNESS = 0xFBA69540u };

// TIA writes that a console may queue; a warp flushes all queues once one of them is more than half full.
enum : u32 { WRITE_QUEUE_SIZE = 16 };
