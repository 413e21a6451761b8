"""A few corrupted snapshot and replay files, and every odd path; ``corrupt_files.py`` runs as many as one likes."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import corrupt_files


def test_corrupted_files_are_refused_or_restored() -> None:
    endings, faults = corrupt_files.fuzz(60, seed=7)
    assert faults == []
    assert endings["refused"] > 40 and endings["restored"] > 2
