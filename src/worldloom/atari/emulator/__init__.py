"""The console's kernels for a batch, the ROM bank they read, and the layout and valid ranges of a console's state.

May import native and games.
"""
