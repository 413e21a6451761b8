"""Bodies of the native functions that Warp kernels call: emulate, draw, power_on."""
