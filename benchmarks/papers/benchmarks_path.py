"""Makes the modules of benchmarks/ importable from the programs of this folder. Import it first."""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER = str(Path(__file__).parents[1])
if FOLDER not in sys.path:
    sys.path.append(FOLDER)
