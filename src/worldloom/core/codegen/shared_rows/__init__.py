"""Rows of arrays that a GPU keeps in shared memory while a kernel runs: of its threads, or of its warps."""
