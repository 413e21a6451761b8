"""Lists of the rows of each value, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from worldloom.core.kernels.row_list_kernels import MAX_VALUES, WORLDS_PER_WARP, list_rows

CASES = [  # worlds, rows per world, values, worlds of a tile, in an order; an even number of values is that of choices
    (1, 1, 1, 32, False),
    (37, 3, 2, 32, False),
    (70, 70, 5, 32, True),
    (41, 64, MAX_VALUES, 32, True),
    (33, 16, 31, 64, False),
    (200, 48, 17, 200, False),
]


def assert_lists(device: str, worlds: int, capacity: int, num_values: int, tile: int, ordered: bool) -> None:
    """Every list has the rows in use with its value, each once; choices that do not exist count as 0."""
    rng = np.random.default_rng(worlds)
    counts = rng.integers(0, capacity + 2, worlds)  # of more rows than there are, all are in use
    values = rng.integers(-1, num_values + 1, worlds * capacity)
    wanted = rng.permutation(num_values)
    choices = 0 if num_values % 2 else num_values
    seen = np.where((values >= 0) & (values < choices), values, 0) if choices else values
    order = rng.permutation(worlds) if ordered else np.arange(worlds)
    tiles = -(-worlds // tile)
    sizes = wp.zeros(tiles * num_values, dtype=wp.int32, device=device)
    rows = wp.full(tiles * num_values * tile * capacity, -1, dtype=wp.int32, device=device)
    arrays = [wp.array(numbers.astype(np.int32), device=device) for numbers in (counts, values, wanted, order)]
    per_run, threads = (WORLDS_PER_WARP, 32) if device != "cpu" else (worlds, 1)
    wp.launch(
        list_rows,
        dim=(-(-worlds // per_run), threads),
        inputs=[worlds, per_run, tile, arrays[0], False, capacity, arrays[1], choices, arrays[2], ordered, arrays[3]],
        outputs=[sizes, rows],
        device=device,
        block_dim=128 if device != "cpu" else 1,
    )
    lists = rows.numpy().reshape(tiles * num_values, tile * capacity)
    for number in range(tiles):
        for k, value in enumerate(wanted):
            used = [w * capacity + s for w in order[number * tile :][:tile] for s in range(min(counts[w], capacity))]
            expected = sorted(row for row in used if seen[row] == value)
            found = lists[number * num_values + k]
            size = sizes.numpy()[number * num_values + k]
            assert sorted(found[:size]) == expected
            assert (found[size:] == -1).all()


@pytest.mark.parametrize("case", CASES)
def test_lists_on_the_cpu(case: tuple[int, int, int, int, bool]) -> None:
    assert_lists("cpu", *case)
