"""The arithmetic of interpreted systems: every operation rounds once, in the order of the compiled CPU code.

It imports model and base. Nothing here calls Warp's prebuilt library: that library is compiled separately from the
kernels and fuses products with sums where the processor can, as on aarch64, while kernels are compiled with contraction
off.
"""
