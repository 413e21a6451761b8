# Annotations are evaluated: systems refer to classes that are local to a function.
"""Ball in cup: swing a ball on a string into a cup."""

import worldloom as wl
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import joint_address
from worldloom.envs.dm_suite.observations import numbers, observe_position_system, observe_velocity_system
from worldloom.envs.dm_suite.task import default_model, define_task, robot_of, suite_physics
from worldloom.robots import Draw, DrawKind, Model, Placement, PlacementState

CONTROL_TIMESTEP = 0.02


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = default_model(model_file, "ball_in_cup")
    ball, target = model.body("ball"), model.id("site", "target")
    x_room, z_room = _room(model)

    class BallInCup(wl.Entity, robot_of(model, "xpos", "site_xpos"), PlacementState):
        position: numbers(model.nq)
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    @wl.system
    def reward(cup: BallInCup):
        x = abs(cup.site_xpos[target, 0] - cup.xpos[ball, 0])
        z = abs(cup.site_xpos[target, 2] - cup.xpos[ball, 2])
        cup.reward = wl.float64(1.0) if x < x_room and z < z_room else wl.float64(0.0)

    physics = suite_physics(model, BallInCup, CONTROL_TIMESTEP)
    draws = [
        Draw(DrawKind.UNIFORM, joint_address(model, "ball_x"), -0.2, 0.2),
        Draw(DrawKind.UNIFORM, joint_address(model, "ball_z"), 0.2, 0.5),
    ]
    return define_task(
        id,
        physics,
        reset=Placement(physics, draws, free_of_contacts=True).reset,
        reward=[reward],
        observe=[observe_position_system(BallInCup, model), observe_velocity_system(BallInCup, model)],
        doc=__doc__,
    )


def _room(model: Model) -> tuple[wl.float64, wl.float64]:
    """The distances in x and z between the centres of ball and target within which the ball is in the target."""
    target, ball = model.id("site", "target"), model.id("geom", "ball")
    room = model.mj_model.site_size[target] - model.mj_model.geom_size[ball, 0]
    return wl.float64(room[0]), wl.float64(room[2])
