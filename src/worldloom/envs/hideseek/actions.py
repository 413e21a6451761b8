"""What agents do: forces, and locks and grabs of the body ahead."""

from typing import Any

import worldloom as wl
from worldloom import physics
from worldloom.core.frontend.system import System
from worldloom.envs.hideseek.entities import FREE, HIDERS, SEEKERS, SOLID, Agent, Arena, Hider, Seeker, Solid
from worldloom.envs.hideseek.rays import MISS, may_hit, ray_solid, ray_wall, reciprocal
from worldloom.envs.hideseek.sight import FORWARD

NO_FORCE = 5
"""The choice without a force or a torque."""
HAND_HEIGHT = 0.5
"""m, of the ray of lock and grab above the centre."""


@wl.system
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
        inverse = wl.vec3(reciprocal(way.x), reciprocal(way.y), reciprocal(way.z))
        nearest = MISS
        for k in range(world.num_walls):
            nearest = min(nearest, ray_wall(origin, inverse, world.obstacles[k]))
        for k in range(world.first_agent + world.num_agents):
            if k != row:
                other = world.at(Solid, k)
                offset = other.position - origin
                if may_hit(offset, way, 1.0, other.radius):
                    distance = ray_solid(offset, way, other.rotation, other.size, other.shape)
                    if distance < nearest and distance <= world.reach:
                        nearest = distance
                        agent.ahead = k
        agent.ahead_distance = nearest


def handle_system(kind: Any, team: int) -> System:
    """Locks and grabs of a team, agent by agent."""

    @wl.system
    def handle(world: Arena):
        for agent in world.all(kind):
            if agent.choose[4] == 1 and agent.ahead >= 0:
                body = world.at(Solid, agent.ahead)
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

    return handle


HANDLE = [handle_system(Hider, HIDERS), handle_system(Seeker, SEEKERS)]
