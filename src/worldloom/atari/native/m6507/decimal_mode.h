// Decimal mode. BCD numbers are converted to binary and back, which also defines the result for digits above 9. C is
// exact; N, V and Z are those of the decimal result. Bits 0 to 7 of the return value are the result, 8: C, 9: V, 10: Z,
// 11: N.
CUDA_CALLABLE u32 from_digits(u32 digits) { return (digits >> 4) * 10 + (digits & 15); }

CUDA_CALLABLE u32 to_digits(u32 number) { return (number % 100 / 10) << 4 | number % 10; }

CUDA_CALLABLE u32 decimal_flags(u32 one, u32 other, u32 result) {
    return result | ((one ^ result) & (other ^ result) & 128) << 2 | (result ? 0u : 1024u) | (result & 128) << 4;
}

NOINLINE CUDA_CALLABLE u32 add_decimal(u32 one, u32 other, u32 carried) {
    u32 sum = from_digits(one) + from_digits(other) + carried;
    return decimal_flags(one, other, to_digits(sum & 255)) | (sum > 99 ? 256u : 0u);
}

NOINLINE CUDA_CALLABLE u32 subtract_decimal(u32 one, u32 other, u32 carried) {
    s32 rest = (s32)(from_digits(one) + carried) - (s32)from_digits(other) - 1;
    if (rest < 0) rest += 100;
    u32 result = rest < 0 ? from_digits((u32)rest & 255) : to_digits((u32)rest);
    return decimal_flags(one, other, result) | ((one + (other ^ 255) + carried) & 256);
}
