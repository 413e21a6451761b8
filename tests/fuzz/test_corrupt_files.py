"""A small sample of corrupted snapshot and replay files, and every unusual path; see ``corrupt_files.py``."""

from __future__ import annotations

import sys
from pathlib import Path

from thorough import THOROUGH

sys.path.insert(0, str(Path(__file__).parent))
import corrupt_files


def test_corrupted_files_are_refused_or_restored() -> None:
    files = 24 if THOROUGH else 8
    endings, faults = corrupt_files.fuzz(files, seed=7)
    assert faults == []
    assert endings["refused"] >= files // 2 and endings["restored"] > 0
