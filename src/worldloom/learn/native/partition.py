"""The division of a minibatch into blocks and parts, which does not depend on the number of threads.

A block is as many samples as stay in the cache. A part is a sequence of blocks with its own sum of gradients. The sums
of all parts are added in order, so that any number of threads computes the same bits.
"""

from __future__ import annotations

import itertools

from worldloom.core.base.shards import num_cores

BLOCK = 256
"""Samples of a block."""
PARTS = 8
"""Maximum number of parts: the most threads that are of use."""
MIN_BLOCKS = 2
"""Blocks of a part, at least, unless there are fewer."""
MIN_PRODUCTS_PER_THREAD = 1 << 26
"""Multiplications below which another thread costs more than it saves."""


def blocks_of_parts(samples: int) -> list[list[tuple[int, int]]]:
    """For each part, its blocks as (first sample, end)."""
    blocks = [(first, min(first + BLOCK, samples)) for first in range(0, samples, BLOCK)]
    parts = max(1, min(PARTS, len(blocks) // MIN_BLOCKS))
    edges = [len(blocks) * part // parts for part in range(parts + 1)]
    return [blocks[first:end] for first, end in itertools.pairwise(edges)]


def share(parts: int, threads: int) -> list[range]:
    """The parts of each thread."""
    threads = max(1, min(parts, threads))
    edges = [parts * thread // threads for thread in range(threads + 1)]
    return [range(first, end) for first, end in itertools.pairwise(edges)]


def useful_threads(products: int) -> int:
    """How many threads to use for a number of multiplications."""
    return max(1, min(num_cores(), products // MIN_PRODUCTS_PER_THREAD))
