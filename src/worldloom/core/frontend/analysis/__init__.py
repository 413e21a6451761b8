"""What systems do with whole components: overwrite an array, or only index a vector. Kernels for a GPU depend on it."""
