"""Figures of matplotlib, an extra: made without a screen, and written whole or not at all."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import atomic_write


def new_figure(what: str, width: float, height: float) -> Any:
    """An empty figure, its size in inches; InputError, which names ``what`` was to be drawn, where matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(f"{what} needs matplotlib: pip install 'worldloom[view]' adds it")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, target: Path) -> None:
    """Write ``figure`` into ``target``, whose ending says which format, such as ``.png`` or ``.svg``."""
    target = Path(target).expanduser()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target) as part:
            figure.savefig(part, dpi=150)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # a folder that cannot be made, a format that matplotlib does not know
        raise InputError(f"cannot draw {target}: {error}") from None
