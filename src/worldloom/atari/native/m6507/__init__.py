"""The 6507: instructions, addressing, fast and slow path, a dispatch for CPUs (_cpu) and one for CUDA (_cuda)."""
