"""Programs that make simulations of their own: comparison of devices, replays, timings. It imports everything in core."""
