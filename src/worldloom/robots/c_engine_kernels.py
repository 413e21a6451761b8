# mypy: ignore-errors
"""Kernels that step MuJoCo's C engine: native code for CPUs that calls functions of libmujoco by their addresses."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.launch_kernels import picked

STEP = """
typedef void (*Call)(const void*, void*);
char* const* memory = (char* const*)arrays.data;
int* warnings = (int*)warning_counts;
const void* model = (const void*)model_address;
void* data = (void*)data_address;
if (reset_function) ((Call)reset_function)(model, data);
for (int k = 0; k < copied_in; ++k)
    __builtin_memcpy(memory[2 * k + 1], memory[2 * k] + (long)world * sizes.data[k], sizes.data[k]);
const int seen = 1 << 20;  // MuJoCo prints the first warning of a kind
for (int k = 0; k < num_warnings; ++k) warnings[2 * k] = seen;
for (int k = 0; k < steps; ++k) ((Call)step_function)(model, data);
if (after_function) ((Call)after_function)(model, data);
for (int k = first_out; k < num_arrays; ++k)
    __builtin_memcpy(memory[2 * k] + (long)world * sizes.data[k], memory[2 * k + 1], sizes.data[k]);
int faults = 0;
for (int k = 0; k < num_warnings; ++k)  // a reset of mjData, after numbers that are not finite, clears the counters
    faults |= (warnings[2 * k] != 0 && warnings[2 * k] != seen) << k;
return faults;
"""
"""Load a world into ``mjData``, run a function of the engine ``steps`` times and another once, and store the world."""


@wp.func_native(STEP)
def _run_world(
    world: int, model_address: wp.uint64, data_address: wp.uint64, reset_function: wp.uint64,
    step_function: wp.uint64, steps: int, after_function: wp.uint64, warning_counts: wp.uint64, num_warnings: int,
    arrays: wp.array(dtype=wp.uint64), sizes: wp.array(dtype=wp.int32), copied_in: int, first_out: int, num_arrays: int,
) -> int: ...  # fmt: skip


@wp.kernel(enable_backward=False)
def run_worlds(
    first: int, count: int, mask: wp.array(dtype=wp.bool), value: bool, model_address: wp.uint64,
    data_address: wp.uint64, reset_function: wp.uint64, step_function: wp.uint64, steps: int,
    after_function: wp.uint64, warning_counts: wp.uint64, num_warnings: int, arrays: wp.array(dtype=wp.uint64),
    sizes: wp.array(dtype=wp.int32), copied_in: int, first_out: int,
    # outputs
    faults: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Run the engine for ``count`` worlds from ``first`` on, one after the other in one ``mjData``. One thread.

    Args:
        first, count, mask, value: The worlds, see :class:`~worldloom.core.model.launch.Shard`.
        model_address, data_address: ``mjModel`` and ``mjData``.
        reset_function: Called before each world is loaded; 0 for none.
        step_function, steps: Called ``steps`` times.
        after_function: Called after the steps; 0 for none.
        warning_counts, num_warnings: Address of the counters of warnings in ``mjData``, and their number.
        arrays: Pairs of addresses: a column, and the array in ``mjData``.
        sizes: Bytes of each array per world.
        copied_in: Arrays up to this one are loaded before the steps.
        first_out: Arrays from this one on are stored after the steps.
        faults: Bits of the warnings of each world.
    """
    for i in range(count):
        world = first + i
        if picked(mask, value, world):
            faults[world] = _run_world(
                world, model_address, data_address, reset_function, step_function, steps, after_function,
                warning_counts, num_warnings, arrays, sizes, copied_in, first_out, sizes.shape[0],
            )  # fmt: skip
