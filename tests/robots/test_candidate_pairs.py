"""Candidate pairs of the broad phase against MuJoCo's contacts."""

import mujoco
import numpy as np

from worldloom.envs.locomotion.team import load_team
from worldloom.robots.candidate_pairs import CandidatePairs


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
