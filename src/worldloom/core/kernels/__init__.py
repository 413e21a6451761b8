"""Functions and kernels for Warp, called by generated code. They import base, model and arithmetic."""
