"""The tests of this folder use the settings of physics that the games ship, apart from those that they switch off."""

from __future__ import annotations

import numpy as np
import pytest
from physics_scenes import SCENE

import worldloom as wl
from worldloom import physics
from worldloom.core.model.fields import Role

SETTINGS = [
    name for name, field in physics.World.declared.items() if field.role is Role.CONFIG and not name.startswith("hull_")
]


def settings(id: str) -> dict[str, np.ndarray]:
    with wl.Simulation(id, 1, "python", seed=0) as sim:
        return {name: np.asarray(sim.get_config(name)) for name in SETTINGS}


OFF = 1e30
OWN = {
    "HideSeek-v0": {"heavy_load": OFF, "max_depth": OFF, "joint_frequency": 30.0},
    "EscapeRoom-v0": {
        "dt": 0.04,
        "contact_frequency": 25.0,
        "joint_frequency": 25.0,
        "heavy_load": OFF,
        "max_depth": OFF,
    },
}


@pytest.mark.parametrize(("id", "own"), OWN.items())
def test_games_ship_the_settings_that_are_tested(id: str, own: dict[str, float]) -> None:
    shipped, tested = settings(id), settings(SCENE.id)
    assert {"gravity", "dt", "substeps", "sweeps", "margin", "contact_frequency", "sleep_speed"} <= shipped.keys()
    for name, value in shipped.items():
        np.testing.assert_allclose(value, own.get(name, tested[name]), rtol=1e-6, err_msg=name)
    assert (float(tested["dt"]), int(tested["substeps"]), int(tested["sweeps"])) == (pytest.approx(1.0 / 30.0), 4, 1)
