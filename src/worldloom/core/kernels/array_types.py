"""Annotations of the array arguments of kernels: the element type, and the number of dimensions where it is not 1."""

from __future__ import annotations

import warp as wp

Bools, Bools2D = wp.array(dtype=wp.bool), wp.array2d(dtype=wp.bool)
Bytes2D, Bytes3D, Bytes4D = wp.array2d(dtype=wp.uint8), wp.array3d(dtype=wp.uint8), wp.array4d(dtype=wp.uint8)
Ints, Ints2D = wp.array(dtype=wp.int32), wp.array2d(dtype=wp.int32)
Longs = wp.array(dtype=wp.int64)
Words, Words2D = wp.array(dtype=wp.uint32), wp.array2d(dtype=wp.uint32)
Floats, Floats2D = wp.array(dtype=wp.float32), wp.array2d(dtype=wp.float32)
