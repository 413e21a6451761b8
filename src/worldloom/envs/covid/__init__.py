"""The COVID-19 economy: 51 governors close and open their states, and a planner pays subsidies.

``CovidEconomy-v0`` runs on the published data, once it is fetched; ``CovidEconomySynthetic-v0`` on made-up data, always.
"""

from worldloom.core.registry.registry import Definition, register_lazily
from worldloom.envs.covid.data import load_real, load_synthetic

REAL, SYNTHETIC = "CovidEconomy-v0", "CovidEconomySynthetic-v0"


def announce_real() -> None:
    """Have ``CovidEconomy-v0`` made of the data as it is fetched now, when it is next asked for."""
    register_lazily(REAL, _make_real)


def _make_real() -> Definition:
    parameters = load_real()
    from worldloom.envs.covid.economy import economy

    return economy(parameters, id=REAL)


def _make_synthetic() -> Definition:
    from worldloom.envs.covid.economy import economy

    return economy(load_synthetic(), id=SYNTHETIC)


announce_real()
register_lazily(SYNTHETIC, _make_synthetic)
