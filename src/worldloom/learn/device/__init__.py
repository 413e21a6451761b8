"""Work on tensors with no notion of learning: Warp launches, CUDA graphs, gathers, PyTorch settings, tensor checks.

Imports core only.
"""
