#if defined(__clang__)
#pragma clang diagnostic ignored "-Wparentheses-equality"
#pragma clang diagnostic ignored "-Wparentheses"
#pragma clang diagnostic ignored "-Wbitwise-op-parentheses"
#pragma clang diagnostic ignored "-Wshift-op-parentheses"
#pragma clang diagnostic ignored "-Wlogical-op-parentheses"
#endif
// Types, macros and tables of the console. Everything here stands in the body of a function, before the struct.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;

// NOINLINE marks what is rarely called: it keeps the hot loop small and its registers few.
#if defined(__CUDACC__) || defined(__GNUC__) || defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE
#endif

// What is short or often told a constant, and called in many places, a CPU gets a copy of in each, a GPU only once; NOINLINE_ON_CPU keeps the rare parts of it
// together.
#if defined(__CUDA_ARCH__)
#define INLINE_ON_CPU NOINLINE
#define NOINLINE_ON_CPU
#else
#define INLINE_ON_CPU inline __attribute__((always_inline))
#define NOINLINE_ON_CPU NOINLINE
#endif

// ROLLED stands before loops that a GPU's compiler is not to unroll: small code stays in the cache of instructions. UNROLLED before those it is to.
#if defined(__CUDA_ARCH__)
#define ROLLED _Pragma("unroll 1")
#define UNROLLED _Pragma("unroll")
#else
#define ROLLED
#define UNROLLED
#endif

// The row of a game in the table of games. What names it lies in memory that a file may have filled: one that is not there counts as the first.
#define KNOWN_ROW(game, games) ((u32)(game) < (u32)(games) ? (game) : 0)

// Kinds of cartridges, numbered as in cartridge.py.
enum : u32 { KIND_2K, KIND_4K, KIND_F8, KIND_F8SC, KIND_F6, KIND_F6SC, KIND_F4, KIND_F4SC, KIND_E0, KIND_FE, KIND_E7, KIND_3F, KIND_FA, KIND_CV, KIND_UA, KIND_DPC };

// What is plugged into a port, numbered as in cartridge.py.
enum : u32 { PORT_JOYSTICK, PORT_PADDLES, PORT_EMPTY };

// The high byte of a word of the ROM. The low bytes are the byte at that place and the two after it.
enum : u32 {
    WORD_READ = 1u << 24,   // reading this byte does more than to give it: a hotspot, RAM, a register
    WORD_FETCH = 1u << 25,  // an instruction that begins here has to be fetched byte by byte
    WORD_POLL = 1u << 26    // a loop that waits for the timer begins here
};

// Lengths of instructions in bytes, 2 bits each, 16 opcodes a word.
static const u32 LENGTHS[16] = {0xFF99AA99u, 0xFFDDAA9Au, 0xFF99AA9Bu, 0xFFDDAA9Au, 0xFF99AA99u, 0xFFDDAA9Au, 0xFF99AA99u, 0xFFDDAA9Au,
                                0xFF99AAAAu, 0xFFDDAA9Au, 0xFF99AAAAu, 0xFFDDAA9Au, 0xFF99AAAAu, 0xFFDDAA9Au, 0xFF99AAAAu, 0xFFDDAA9Au};

// Intervals of the timer as powers of two: 1, 8, 64 and 1,024 cycles, 8 bits each.
enum : u32 { TIMER_SHIFTS = 0x0A060300u };

// A frame ends after so many instructions, whatever the program does.
enum : s32 { MAX_INSTRUCTIONS = 25000 };

// On a CPU consoles take turns of so many instructions: about as many as it remembers the way through.
enum : u32 { INSTRUCTION_QUANTUM = 768 };

// What each action pushes: up 1, down 2, left 4, right 8, fire 16.
static const u8 ACTIONS[18] = {0, 16, 1, 8, 4, 2, 9, 5, 10, 6, 17, 24, 20, 18, 25, 21, 26, 22};

// What one frame of left or right changes the resistance of a paddle by.
enum : s32 { PADDLE_STEP = 23000 };

// Loudness of the DPC for each set of its three notes, 4 bits each.
enum : u32 { DPC_LOUDNESS = 0xFBA69540u };

enum : u32 { WRITE_QUEUE_SIZE = 16 };  // writes that wait for a line to end; all tell theirs once anybody has more than half as many
