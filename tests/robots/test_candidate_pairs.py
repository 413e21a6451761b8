"""Candidate pairs of the broad phase against MuJoCo's contacts."""

import mujoco
import numpy as np
import pytest

from worldloom.envs.locomotion.team import load_team
from worldloom.robots.candidate_pairs import CandidatePairs

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


def test_geoms_in_contact_are_candidates():
    model = load_team("humanoid.xml", 2, 0.4).mj_model
    data, generator = mujoco.MjData(model), np.random.default_rng(0)
    pairs = CandidatePairs(mujoco, model)
    contacts = candidates = 0
    for step in range(300):
        if step % 10 == 0:
            data.ctrl[:] = generator.uniform(-1, 1, model.nu)
        mujoco.mj_step1(model, data)
        touching = pairs.touching(data)
        found = {frozenset(pair) for pair in zip(pairs.first[touching], pairs.second[touching], strict=True)}
        seen = {frozenset(geoms) for geoms in data.contact.geom.tolist()}
        assert seen <= found
        contacts, candidates = contacts + len(seen), candidates + len(found)
        mujoco.mj_step2(model, data)
    assert 0 < contacts < candidates < 300 * len(pairs.first) / 10


def num_pairs(heights, options=""):
    """Pairs with ball and rod at these heights."""
    model = mujoco.MjModel.from_xml_string(SCENE.format(options=options))
    data = mujoco.MjData(model)
    data.qpos[[2, 9]] = heights
    mujoco.mj_kinematics(model, data)
    return CandidatePairs(mujoco, model).touching(data).sum()


@pytest.mark.parametrize(
    ("heights", "pairs"),
    [
        pytest.param((1.0, 3.0), 0, id="apart"),
        pytest.param((0.05, 3.0), 1, id="a sphere in the plane"),
        pytest.param((2.5, 3.0), 0, id="spheres overlap, boxes do not"),
        pytest.param((2.85, 3.0), 1, id="boxes overlap"),
        pytest.param((0.05, 0.05), 3, id="all"),
    ],
)
def test_bounds_of_pairs_overlap(heights, pairs):
    assert num_pairs(heights) == pairs


def test_there_are_none_without_contacts():
    assert num_pairs((0.05, 0.05), '<option><flag contact="disable"/></option>') == 0
