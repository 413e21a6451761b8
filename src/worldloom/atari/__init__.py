"""The Atari 2600 as a world: a console in C++ that runs on the CPU and on CUDA from one source, its cartridges and its games."""
