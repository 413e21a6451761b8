"""Pairs of geoms whose bounds overlap."""

import mujoco
import pytest

from worldloom import robots
from worldloom.robots.warp.broad_phase import BroadPhase

SCENE = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="ball" pos="0 0 1"><freejoint/><geom type="sphere" size="0.1"/></body>
    <body name="rod" pos="0 0 3"><freejoint/><geom type="capsule" size="0.1" fromto="-1 0 0 1 0 0"/></body>
  </worldbody>
  {options}
</mujoco>
"""


def count(qpos, options=""):
    model = robots.Model(SCENE.format(options=options))
    data = mujoco.MjData(model.mj_model)
    for index, value in qpos.items():
        data.qpos[index] = value
    mujoco.mj_kinematics(model.mj_model, data)
    return BroadPhase(model).count(data)


@pytest.mark.parametrize(
    ("qpos", "pairs"),
    [
        pytest.param({}, 0, id="apart"),
        pytest.param({2: 0.05}, 1, id="a sphere in the plane"),
        pytest.param({2: 2.5}, 0, id="spheres overlap, boxes do not"),
        pytest.param({2: 2.85}, 1, id="boxes overlap"),
        pytest.param({2: 0.05, 9: 0.05}, 3, id="all"),
    ],
)
def test_pairs_have_overlapping_bounds(qpos, pairs):
    assert count(qpos) == pairs


def test_there_are_none_without_contacts():
    assert count({2: 0.05, 9: 0.05}, '<option><flag contact="disable"/></option>') == 0
