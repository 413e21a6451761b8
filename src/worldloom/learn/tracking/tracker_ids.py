"""``trackers.json`` in a run's folder: the id of the run in each tracker, so that a resumed training continues it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from worldloom.core.base.files import write_file
from worldloom.learn.config.json_files import read_json

TRACKERS = "trackers.json"


def read_tracker_ids(folder: Path) -> dict[str, str]:
    """The ids in ``folder`` by the tracker's name. The folder may be untrusted: what is not an id is left out."""
    try:
        values = read_json(folder / TRACKERS)
    except (OSError, ValueError):
        return {}
    if not isinstance(values, dict):
        return {}
    return {k: v for k, v in values.items() if isinstance(v, str) and re.fullmatch(r"[\w-]{1,128}", v)}


def write_tracker_id(folder: Path, tracker: str, id_: str) -> None:
    """Store the id of the run in ``tracker``."""
    write_file(folder / TRACKERS, json.dumps({**read_tracker_ids(folder), tracker: id_}, indent=2) + "\n")
