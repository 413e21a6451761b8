"""What agents do: forces, and locks and grabs of the body ahead."""

from typing import Any

import worldloom as wl
from worldloom import physics
from worldloom.core.frontend.system import System
from worldloom.envs.hideseek.entities import FREE, HIDERS, SEEKERS, SOLID, Agent, Arena, Hider, Seeker, Solid
from worldloom.envs.hideseek.sight import FORWARD, nearest_hit

NO_FORCE = 5
"""The choice without a force or a torque."""
HAND_HEIGHT = 0.5
"""m, of the ray of lock and grab above the centre."""


@wl.system(separate=True)
def act(agent: Agent, world: Arena):
    """Forces and torques, and the body ahead where the agent locks or grabs."""
    row = world.first_agent + agent.number
    body = world.at(Solid, row)
    if agent.hider or world.step >= world.preparation - 1:
        push = wl.vec3(float(agent.choose[0] - NO_FORCE), float(agent.choose[1] - NO_FORCE), 0.0)
        body.force += wl.quat_rotate(body.rotation, push * world.move_force)
        body.torque += wl.vec3(0.0, 0.0, float(agent.choose[2] - NO_FORCE) * world.turn_torque)
    agent.ahead = -1
    if agent.choose[3] == 1 or agent.choose[4] == 1:
        origin = body.position + wl.vec3(0.0, 0.0, HAND_HEIGHT)
        way = wl.quat_rotate(body.rotation, FORWARD)
        distance, ahead = nearest_hit(world, origin, way, row)
        if distance <= world.reach:
            agent.ahead = ahead
            agent.ahead_distance = distance


@wl.function
def lock(world: Arena, row: int, team: int):
    """Lock a free body, or free one that the own team has locked."""
    body = world.at(Solid, row)
    if body.motion == physics.STATIC and body.owner == team:
        body.motion = physics.DYNAMIC
        body.owner = FREE
    elif body.motion == physics.DYNAMIC and body.owner == FREE:
        body.motion = physics.STATIC
        body.owner = team
        if team == HIDERS:
            world.hider_locks += 1
        else:
            world.seeker_locks += 1


def handle_system(kind: Any, team: int) -> System:
    """Locks and grabs of a team, agent by agent."""

    @wl.system(separate=True)
    def handle(world: Arena):
        for agent in world.all(kind):
            if agent.choose[4] == 1 and agent.ahead >= 0:
                lock(world, agent.ahead, team)
            if agent.choose[3] == 1:
                if agent.holds:
                    if agent.joint.alive:
                        agent.joint.get().despawn()
                    agent.holds = False
                elif agent.ahead >= 0:
                    own = world.at(Solid, world.first_agent + agent.number)
                    body = world.at(Solid, agent.ahead)
                    if body.motion == physics.DYNAMIC and body.owner == FREE:
                        on_own = wl.vec3(0.0, agent.ahead_distance, HAND_HEIGHT)
                        hit = own.position + wl.quat_rotate(own.rotation, on_own)
                        agent.joint = world.spawn(
                            SOLID.Joint,
                            kind=physics.FIXED,
                            a=own.ref,
                            b=body.ref,
                            anchor_a=on_own,
                            anchor_b=wl.quat_rotate_inv(body.rotation, hit - body.position),
                            rotation=wl.quat_inverse(own.rotation) * body.rotation,
                        )
                        agent.holds = True

    return handle


HANDLE = [handle_system(Hider, HIDERS), handle_system(Seeker, SEEKERS)]
