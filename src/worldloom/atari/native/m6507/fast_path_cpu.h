// Fast path: instructions that access registers, RAM and ROM, or store to the TIA, as nearly all do. On any other
// access the instruction has changed nothing yet and restarts on the slow path.
#if !defined(__CUDA_ARCH__)

#define OPCODE(code, ...) FUNCTION(fast_##code, const auto place_before = place; const s32 t_before = t; __VA_ARGS__)
#define TAKE_SLOW_PATH { place = place_before, t = t_before; TAIL_CALL(SLOW_PATH + (word & 255)) }
#define ON_SLOW_PATH(...) TAKE_SLOW_PATH
#define STORE_TIA(address, value) { if (UNLIKELY(kind == KIND_3F)) TAKE_SLOW_PATH const u32 number = (address) & 63; word = (value); TAIL_CALL(TIA_WRITE + number) }
// Before the first byte is pushed or pulled: all of them must lie in RAM.
#define PUSHES(count) if (UNLIKELY(s < 127 + count)) TAKE_SLOW_PATH
#define PULLS(count) if (UNLIKELY((u32)s - 127 > 128 - count)) TAKE_SLOW_PATH
// Before a byte is modified, and before a jump.
#define CHANGES(address) if (UNLIKELY(((address) & 0x1280) != 0x80)) TAKE_SLOW_PATH
#define LEAVES if (UNLIKELY(kind == KIND_FE)) TAKE_SLOW_PATH

#endif
