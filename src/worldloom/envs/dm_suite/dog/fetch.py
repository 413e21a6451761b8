# Annotations are evaluated: systems refer to classes that are local to a function.
"""The dog's task to fetch a thrown ball."""

import math

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import joint_address, velocity_address
from worldloom.envs.dm_suite.dog.rules import dog_of, observe_systems, place_system, stand_system
from worldloom.envs.dm_suite.geometry import distance
from worldloom.envs.dm_suite.observations import numbers
from worldloom.envs.dm_suite.task import SuiteWorld, define_task, suite_physics
from worldloom.envs.dm_suite.tolerance import excess, reciprocal
from worldloom.robots import Model

BITE_MARGIN = wl.float64(2.0)
_TURN = wl.float64(2.0 * math.pi)


def define_fetch(id: str, model: Model, control_timestep: float, doc: str | None) -> Definition:
    """The world of the task."""

    class Dog(wl.Entity, dog_of(model, "xpos", "xmat", "geom_xpos", "site_xpos", "site_xmat", "subtree_com", "cvel")):
        ball_state: numbers(6)
        target_position: numbers(3)
        reward: wl.Reward(wl.float64)

    return define_task(
        id,
        suite_physics(model, Dog, control_timestep),
        reset=[place_system(Dog, model), _throw_system(Dog, model)],
        reward=[stand_system(Dog, model), _reward_system(Dog, model)],
        observe=[*observe_systems(Dog, model), _observe_system(Dog, model)],
        doc=doc,
    )


def _throw_system(kind: type[wl.Entity], model: Model) -> System:
    ball, velocity = joint_address(model, "ball_root"), velocity_address(model, "ball_root")
    radius = wl.float64(0.75 * model.mj_model.geom_size[model.id("geom", "floor"), 0])
    gravity = wl.float64(-model.mj_model.opt.gravity[2])

    @wl.system
    def throw_ball(dog: kind, world: SuiteWorld):
        azimuth = _TURN * world.random()
        height, speed = world.random(0.0, 3.0), world.random(0.0, 5.0)
        dog.qpos[ball] = radius * wl.sin(azimuth)
        dog.qpos[ball + 1] = radius * wl.cos(azimuth)
        dog.qpos[ball + 2] = 0.05
        dog.qvel[velocity] = speed * (world.normal(0.0, 0.05) - wl.sin(azimuth))
        dog.qvel[velocity + 1] = speed * (world.normal(0.0, 0.05) - wl.cos(azimuth))
        dog.qvel[velocity + 2] = wl.sqrt(2.0 * gravity * height)

    return throw_ball


def _reward_system(kind: type[wl.Entity], model: Model) -> System:
    ball, target = model.id("geom", "ball"), model.id("geom", "target")
    upper, lower = model.id("site", "upper_bite"), model.id("site", "lower_bite")
    sizes = model.mj_model.geom_size
    bite_radius, target_radius = wl.float64(model.mj_model.site_size[upper, 0]), wl.float64(sizes[target, 0])
    floor = wl.float64(sizes[model.id("geom", "floor"), 0])

    @wl.system
    def reward_fetch(dog: kind):
        x, y, z = dog.geom_xpos[ball, 0], dog.geom_xpos[ball, 1], dog.geom_xpos[ball, 2]
        mouth = 0.5 * (
            distance(x - dog.site_xpos[upper, 0], y - dog.site_xpos[upper, 1], z - dog.site_xpos[upper, 2])
            + distance(x - dog.site_xpos[lower, 0], y - dog.site_xpos[lower, 1], z - dog.site_xpos[lower, 2])
        )
        goal = distance(x - dog.geom_xpos[target, 0], y - dog.geom_xpos[target, 1], z - dog.geom_xpos[target, 2])
        reach = (6.0 * reciprocal(excess(mouth, 0.0, bite_radius, BITE_MARGIN), 0.1) + 1.0) / 7.0
        if goal < 2.0 * target_radius:  # let go of a ball that is at the target
            reach = 1.0
        bring = (reciprocal(excess(goal, 0.0, target_radius, floor), 0.1) + 1.0) / 2.0
        dog.reward = dog.standing * reach * bring

    return reward_fetch


def _observe_system(kind: type[wl.Entity], model: Model) -> System:
    head, ball, target = model.id("site", "head"), model.id("geom", "ball"), model.id("geom", "target")
    skull, body = int(model.mj_model.site_bodyid[head]), int(model.mj_model.geom_bodyid[ball])
    skull_root, ball_root = (int(model.mj_model.body_rootid[b]) for b in (skull, body))

    @wl.system
    def observe_ball(dog: kind):
        for axis in range(3):
            position, velocity, goal = wl.float64(0.0), wl.float64(0.0), wl.float64(0.0)
            for i in range(3):
                frame = dog.site_xmat[head, 3 * i + axis]
                j, k = (i + 1) % 3, (i + 2) % 3
                # The velocity of a point at r from the centre of mass of its tree is v + w x r.
                head_j = dog.site_xpos[head, j] - dog.subtree_com[skull_root, j]
                head_k = dog.site_xpos[head, k] - dog.subtree_com[skull_root, k]
                ball_j = dog.geom_xpos[ball, j] - dog.subtree_com[ball_root, j]
                ball_k = dog.geom_xpos[ball, k] - dog.subtree_com[ball_root, k]
                head_v = dog.cvel[skull, 3 + i] + (dog.cvel[skull, j] * head_k - dog.cvel[skull, k] * head_j)
                ball_v = dog.cvel[body, 3 + i] + (dog.cvel[body, j] * ball_k - dog.cvel[body, k] * ball_j)
                position += (dog.geom_xpos[ball, i] - dog.site_xpos[head, i]) * frame
                velocity += (ball_v - head_v) * frame
                goal += (dog.geom_xpos[target, i] - dog.site_xpos[head, i]) * frame
            dog.ball_state[axis] = position
            dog.ball_state[3 + axis] = velocity
            dog.target_position[axis] = goal

    return observe_ball
