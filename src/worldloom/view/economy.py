"""Deprecated path of :mod:`worldloom.envs.covid.figures`, kept for one release."""

from __future__ import annotations

import importlib
import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    figures = importlib.import_module("worldloom.envs.covid.figures")
    if not hasattr(figures, name):
        raise AttributeError(f"module 'worldloom.view.economy' has no attribute '{name}'")
    warnings.warn("worldloom.view.economy is now worldloom.envs.covid.figures", DeprecationWarning, stacklevel=2)
    return getattr(figures, name)
