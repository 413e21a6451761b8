"""Starting Warp: its banner and its word on a missing driver are kept back; worldloom says what matters where it matters."""

from __future__ import annotations

import os
import sys
import tempfile

import warp as wp

from worldloom.core.base import cpu_flags, kernel_cache

_EXPECTED = b"Could not find or load the NVIDIA CUDA driver"


def initialise() -> None:
    """Initialise Warp quietly. What its native part writes to standard error is passed on, but for a missing driver."""
    wp.config.log_level = max(wp.config.log_level, wp.LOG_WARNING)
    wp.config.cpu_compiler_flags = cpu_flags.complete(wp.config.cpu_compiler_flags)
    kernel_cache.install()
    try:
        sys.stderr.flush()
        kept = os.dup(2)
    except (OSError, AttributeError, ValueError):
        wp.init()
        return
    try:
        with tempfile.TemporaryFile() as caught:
            os.dup2(caught.fileno(), 2)
            try:
                wp.init()
            finally:
                os.dup2(kept, 2)
            caught.seek(0)
            for line in caught:
                if _EXPECTED not in line:
                    os.write(2, line)
    finally:
        os.close(kept)
