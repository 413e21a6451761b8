"""Figures of papers, one JSON file per paper, each with the table or figure that it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAPERS = ("cule", "envpool", "madrona", "warpdrive")


def published(paper: str) -> dict[str, Any]:
    """The settings and figures of one of ``PAPERS``."""
    found: dict[str, Any] = json.loads((Path(__file__).parent / f"{paper}.json").read_text())
    return found
