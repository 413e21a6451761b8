// Instructions that touch registers, RAM and ROM, or store into the television chip, as nearly all do. One that finds anything else has done nothing yet, and
// begins anew with care.
#if !defined(__CUDA_ARCH__)

#define OPCODE(code, ...) FUNCTION(quick_##code, const auto place_before = place; const s32 t_before = t; __VA_ARGS__)
#define CAREFULLY { place = place_before, t = t_before; GO(CAREFUL + (word & 255)) }
#define SLOWLY(...) CAREFULLY
#define TELL_TIA(address, value) { if (SELDOM(kind == KIND_3F)) CAREFULLY const u32 number = (address) & 63; word = (value); GO(TELL + number) }
// Before the first byte that goes to the stack, or comes from it: all of them lie in RAM.
#define PUSHES(count) if (SELDOM(s < 127 + count)) CAREFULLY
#define PULLS(count) if (SELDOM((u32)s - 127 > 128 - count)) CAREFULLY
// Before a byte is changed, and before a jump.
#define CHANGES(address) if (SELDOM(((address) & 0x1280) != 0x80)) CAREFULLY
#define LEAVES if (SELDOM(kind == KIND_FE)) CAREFULLY

#endif
