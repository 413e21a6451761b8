"""Parts of networks that kernels compute on a GPU."""
