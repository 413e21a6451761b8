"""Matplotlib figures without a display, written atomically. Matplotlib is an optional dependency."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import atomic_write


def new_figure(what: str, width: float, height: float) -> Any:
    """An empty figure.

    Args:
        what: What is to be drawn, for the message of the InputError that a missing matplotlib raises.
        width, height: Size in inches.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(f"{what} needs matplotlib: pip install 'worldloom[view]' adds it")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, target: Path) -> None:
    """Write ``figure`` to ``target``; its suffix, such as ``.png`` or ``.svg``, selects the format."""
    target = Path(target).expanduser()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target) as part:
            figure.savefig(part, dpi=150)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # a folder that cannot be created, or an unknown format
        raise InputError(f"cannot draw {target}: {error}") from None
