"""Initialisation of Warp, without its banner and its message about a missing driver."""

from __future__ import annotations

import os
import sys
import tempfile

import warp as wp

from worldloom.core.base import cpu_flags, warp_branches
from worldloom.core.base.caches import kernel_cache

_EXPECTED = b"Could not find or load the NVIDIA CUDA driver"


def initialise() -> None:
    """Initialise Warp. Its native messages on standard error are passed on, except that about a missing driver."""
    wp.config.log_level = max(wp.config.log_level, wp.LOG_WARNING)
    wp.config.cpu_compiler_flags = cpu_flags.complete(wp.config.cpu_compiler_flags)
    kernel_cache.install()
    warp_branches.install()
    try:
        sys.stderr.flush()
        stderr = os.dup(2)
    except (OSError, AttributeError, ValueError):
        wp.init()
        return
    try:
        with tempfile.TemporaryFile() as captured:
            os.dup2(captured.fileno(), 2)
            try:
                wp.init()
            finally:
                os.dup2(stderr, 2)
            captured.seek(0)
            for line in captured:
                if _EXPECTED not in line:
                    os.write(2, line)
    finally:
        os.close(stderr)
