"""The console's kernels for a batch, the ROM bank they read, and the layout and valid range of a machine's state. May import native and games."""
