// Slow path: instructions with any kind of access.
#if !defined(__CUDA_ARCH__)

#define OPCODE(code, ...) FUNCTION(slow_##code, __VA_ARGS__)
#define ON_SLOW_PATH(...) { __VA_ARGS__ RESUME }
#define STORE_TIA(address, value) ON_SLOW_PATH(t = m.poke_tia(address, value, t);)
#define PUSHES(count)
#define PULLS(count)
#define CHANGES(address)
#define LEAVES

// Rare instructions, which have no fast path.
OPCODE(6C, t += 5; JUMP_BY_POINTER)
OPCODE(40, t += 6; u32 v, low, high; PULL(v) UNPACK_FLAGS(v) PULL(low) PULL(high) GO_TO(low | high << 8))
OPCODE(00, t += 7; BREAK_FROM(PC + 2))
OPCODE(others, RUN_UNDOCUMENTED)

#endif
