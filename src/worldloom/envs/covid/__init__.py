"""The COVID-19 economy: everything that belongs to it, from data and rules to figures and its command.

``CovidEconomy-v0`` uses the published data, which must be fetched; ``CovidEconomySynthetic-v0`` uses synthetic data.
Modules here may import ``core``, ``terminal`` and ``view``, but not ``learn`` or ``cli``.
"""

from __future__ import annotations

from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import register_lazily

REAL, SYNTHETIC = "CovidEconomy-v0", "CovidEconomySynthetic-v0"


def register_worlds() -> None:
    """Register both worlds; each is built on first use."""
    register_real()
    register_lazily(SYNTHETIC, _make_synthetic)


def register_real() -> None:
    """Register ``CovidEconomy-v0``; the data are loaded on first use. A definition built before is dropped."""
    register_lazily(REAL, _make_real, _has_real)


def _has_real() -> bool:
    from worldloom.envs.covid.data import cache_path

    return cache_path().is_file()


def _make_real() -> Definition:
    from worldloom.envs.covid.data import load_real

    parameters = load_real()
    from worldloom.envs.covid.economy import economy

    return economy(parameters, id=REAL)


def _make_synthetic() -> Definition:
    from worldloom.envs.covid.data import load_synthetic
    from worldloom.envs.covid.economy import economy

    return economy(load_synthetic(), id=SYNTHETIC)
