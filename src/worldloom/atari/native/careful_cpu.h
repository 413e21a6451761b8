// Instructions that may do anything.
#if !defined(__CUDA_ARCH__)

#undef OPCODE
#undef SLOWLY
#undef TELL_TIA
#undef PUSHES
#undef PULLS
#undef CHANGES
#undef LEAVES
#define OPCODE(code, ...) FUNCTION(careful_##code, __VA_ARGS__)
#define SLOWLY(...) { __VA_ARGS__ RESUME }
#define TELL_TIA(address, value) SLOWLY(t = m.poke_tia(address, value, t);)
#define PUSHES(count)
#define PULLS(count)
#define CHANGES(address)
#define LEAVES

#endif
