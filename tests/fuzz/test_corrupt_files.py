"""A small sample of corrupted snapshot and replay files, and every unusual path; see ``corrupt_files.py``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import corrupt_files


def test_corrupted_files_are_refused_or_restored() -> None:
    endings, faults = corrupt_files.fuzz(24, seed=7)
    assert faults == []
    assert endings["refused"] > 12 and endings["restored"] > 0
