"""The 6507 CPU: instructions, addressing, fast and slow paths, one dispatch for the CPU (_cpu) and one for CUDA (_cuda)."""
