"""Annotations of the array arguments of kernels: the element type, and the number of dimensions where it is not 1."""

from __future__ import annotations

import warp as wp

Bools = wp.array(dtype=wp.bool)
Bools2D = wp.array2d(dtype=wp.bool)
Bytes2D = wp.array2d(dtype=wp.uint8)
Bytes3D = wp.array3d(dtype=wp.uint8)
Bytes4D = wp.array4d(dtype=wp.uint8)
Ints = wp.array(dtype=wp.int32)
Ints2D = wp.array2d(dtype=wp.int32)
Longs = wp.array(dtype=wp.int64)
Longs2D = wp.array2d(dtype=wp.int64)
Words = wp.array(dtype=wp.uint32)
Words2D = wp.array2d(dtype=wp.uint32)
Floats = wp.array(dtype=wp.float32)
Floats2D = wp.array2d(dtype=wp.float32)
