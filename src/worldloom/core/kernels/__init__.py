"""All Warp functions and kernels of the engine, which generated code calls. It imports arithmetic, model and base."""
