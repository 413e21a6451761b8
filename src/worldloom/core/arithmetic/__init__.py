"""The arithmetic of interpreted systems: every operation rounded once, in the order of the compiled CPU code.

Nothing here calls Warp's prebuilt library. That library is compiled apart from the kernels and fuses products with sums where the
processor can, as on aarch64, while kernels are compiled with contraction off.
"""
