"""The machine that runs the text of kernels for CUDA in plain Python."""

from worldloom.testing.cuda_text import Machine

__all__ = ["Machine"]
