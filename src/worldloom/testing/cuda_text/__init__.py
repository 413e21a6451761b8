"""The text of CUDA kernels, run without a GPU by a Python thread for every thread of a warp or block."""

from worldloom.testing.cuda_text.machine import Machine

__all__ = ["Machine"]
