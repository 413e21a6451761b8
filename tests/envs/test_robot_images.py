"""Images of the robot tasks show what is no part of physics: targets, colours."""

import numpy as np
import pytest

import worldloom as wl
from worldloom.envs.locomotion.appearance import drawn_team
from worldloom.envs.locomotion.task import Task

GOALS = [("ReacherEasy-v1", "geom", [0, 1]), ("FingerTurnEasy-v1", "site", [0, 2])]


@pytest.mark.parametrize(("id", "kind", "axes"), GOALS)
def test_the_goal_of_a_suite_task_is_drawn(id, kind, axes):
    definition = wl.definition(id)
    simulation = wl.Simulation(definition, num_worlds=3, seed=0)
    (table,) = definition.entities
    states = definition.render.states(simulation, [0, 2])
    target = definition.render.model.id(kind, "target")
    for state, world in zip(states, (0, 2), strict=True):
        position = state[f"{kind}_pos"].reshape(-1, 3)[target]
        assert (position[axes] == simulation[table].goal.numpy()[world, 0]).all()
        assert np.isfinite(position).all()


def test_the_drawn_robots_are_those_of_physics():
    task = Task("humanoid.xml", None, 2.0, 0.8, target_frames=200, agents=2)
    drawn = drawn_team(task)
    physics = wl.definition("LocomotionHumanoid-v0").render.physics.model
    assert drawn.nq == 2 * physics.nq
    colors = drawn.mj_model.geom_rgba
    first, second = (colors[drawn.mj_model.geom_bodyid == body][0].tolist() for body in (1, 1 + physics.nbody - 1))
    assert first != second
    assert colors[drawn.id("geom", "target1")][:3].tolist() == second[:3]
