"""The grab action: a fixed joint to the cube ahead."""

import worldloom as wl
from worldloom import physics
from worldloom.envs.escape_room.entities import AGENT, FIRST_AGENT, SOLID, Agent, Body, Level
from worldloom.envs.escape_room.rays import nearest_box


@wl.system
def grab(agent: Agent, world: Level):
    if agent.act[3] == 0:
        return
    if agent.is_grabbing:
        if agent.hold.alive:
            agent.hold.get().despawn()
        agent.is_grabbing = False
        return
    own = world.at(Body, FIRST_AGENT + agent.id)
    height = world.eye_height - own.size.z
    eye = own.position + wl.vec3(0.0, 0.0, height)
    forward = wl.quat_rotate(own.rotation, wl.vec3(0.0, 1.0, 0.0))
    row, distance = nearest_box(world, eye, forward, world.grab_reach, FIRST_AGENT + agent.id)
    if row >= 0:
        target = world.at(Body, row)
        if target.motion == physics.DYNAMIC and target.type != AGENT:
            agent.hold = world.spawn(
                SOLID.Joint,
                kind=physics.FIXED,
                a=own.ref,
                b=target.ref,
                anchor_a=wl.vec3(0.0, distance, height),
                anchor_b=wl.quat_rotate_inv(target.rotation, eye + forward * distance - target.position),
                rotation=wl.quat_inverse(own.rotation) * target.rotation,
            )
            agent.is_grabbing = True
