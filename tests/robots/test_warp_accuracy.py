"""One step of MuJoCo Warp against the C engine: contacts whose frames or number once differed."""

import numpy as np
import pytest
from thorough import THOROUGH

from worldloom import robots
from worldloom.robots.warp.accuracy import TOLERANCE, Accuracy, measure_accuracy

warp_engine = pytest.mark.skipif(not THOROUGH, reason="compiles MuJoCo Warp for minutes: make test-thorough")
SCENE = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody><geom type="plane" size="5 5 1"/>{bodies}</worldbody>
</mujoco>
"""
BODY = '<body pos="{x} 0 {z}" euler="0 {tilt} {turn}"><freejoint/>{geom}</body>'
STEEP_CAPSULES = "".join(
    BODY.format(x=k, z=0.5, tilt=5 * k, turn=20 * k, geom='<geom type="capsule" size="0.1 0.4"/>') for k in range(6)
)
STACKED_BOXES = "".join(
    BODY.format(x=0.13 * k, z=0.21 + 0.25 * k, tilt=3 * k, turn=7 * k, geom='<geom type="box" size="0.2 0.2 0.1"/>')
    for k in range(4)
)


@warp_engine
@pytest.mark.parametrize("bodies", [STEEP_CAPSULES, STACKED_BOXES], ids=["capsules", "boxes"])
def test_contacts_are_those_of_mujoco(bodies):
    model = robots.Model(SCENE.format(bodies=bodies))
    accuracy = measure_accuracy(model, 1, robots.measure(model).sizes, "cpu", num_states=100, episodes=2)
    assert accuracy.contacts.max() > 3
    assert accuracy.num_faults == 0
    assert accuracy.share > 0.98, accuracy.outliers()


def test_outliers_are_listed_worst_first():
    errors = np.array([1e-6, 2e-3, 5e-4])
    accuracy = Accuracy(errors, np.array([0, 3, 1]), np.array([0, 12, 4]), 0)
    assert accuracy.share == pytest.approx(1 / 3)
    assert accuracy.outliers() == [
        "error 2.0e-03: 3 contacts, 12 constraints",
        "error 5.0e-04: 1 contacts, 4 constraints",
    ]
    assert accuracy.outliers(1) == accuracy.outliers()[:1]
    assert TOLERANCE == 1e-4
