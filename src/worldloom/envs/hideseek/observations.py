"""Observations of agents: themselves, other agents, boxes and ramps in their own frame, and all positions."""

import worldloom as wl
from worldloom.envs.hideseek.entities import (
    EXTENT,
    FREE,
    HIDERS,
    MAX_AGENTS,
    MAX_BOXES,
    MAX_MOVING,
    MAX_RAMPS,
    OTHERS,
    SEEKERS,
    Agent,
    Arena,
    Solid,
)
from worldloom.envs.hideseek.sight import FORWARD, RAMPS_FROM, target_row


@wl.function
def relative_yaw(own: wl.quat, other: wl.quat) -> float:
    """Yaw of ``own`` times the inverse of ``other``, rad."""
    q = own * wl.quat_inverse(other)
    return wl.atan2(2.0 * (q[3] * q[2] + q[0] * q[1]), 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2]))


@wl.function
def in_frame(forward: wl.vec3, v: wl.vec3) -> wl.vec2:
    """Horizontal components of a vector to the right and to the front of an agent."""
    return wl.vec2(v.x * forward.y - v.y * forward.x, v.x * forward.x + v.y * forward.y)


@wl.function
def position_row(slot: int, boxes: int, first_agent: int, agents: int) -> int:
    """The row of a body by its place among all agents, boxes and ramps, -1 for none."""
    if slot < MAX_AGENTS:
        return first_agent + slot if slot < agents else -1
    if slot < MAX_AGENTS + MAX_BOXES:
        return slot - MAX_AGENTS if slot - MAX_AGENTS < boxes else -1
    ramp = boxes + slot - MAX_AGENTS - MAX_BOXES
    return ramp if ramp < first_agent else -1


@wl.system(threads=32, separate=True)
def describe(agent: Agent, world: Arena):
    """Features of the agent and of all bodies that it may see, whether it sees them or not, and for critics the
    horizontal positions of all agents, boxes and ramps, m.
    """
    own = world.at(Solid, world.first_agent + agent.number)
    origin, rotation = own.position, own.rotation
    forward = wl.quat_rotate(rotation, FORWARD)
    left = max(world.preparation - world.clock, 0)
    agent.agent_type = int(agent.hider)
    agent.preparation_left = left
    agent.myself[0] = origin.x / EXTENT
    agent.myself[1] = origin.y / EXTENT
    agent.myself[2] = origin.z
    agent.myself[3] = forward.x
    agent.myself[4] = forward.y
    agent.myself[5] = own.velocity.z
    agent.myself[6] = float(agent.hider)
    agent.myself[7] = float(agent.holds)
    agent.myself[8] = float(left) / float(max(world.preparation, 1))
    agent.myself[9] = float(world.clock) / float(max(world.max_steps, 1))
    for target in range(OTHERS):
        agent.others_visible[target] = agent.visible[target]
    for target in range(MAX_BOXES):
        agent.boxes_visible[target] = agent.visible[OTHERS + target]
    for target in range(MAX_RAMPS):
        agent.ramps_visible[target] = agent.visible[RAMPS_FROM + target]
    team = HIDERS if agent.hider else SEEKERS
    for target in wl.share(OTHERS):
        row = target_row(target, agent.number, world.num_boxes, world.first_agent, world.num_agents)
        if row >= 0:
            other = world.at(Solid, row)
            place, speed = in_frame(forward, other.position - origin), in_frame(forward, other.velocity)
            agent.others[target, 0] = place.x
            agent.others[target, 1] = place.y
            agent.others[target, 2] = speed.x
            agent.others[target, 3] = speed.y
            agent.others[target, 4] = float((row - world.first_agent < world.hiders) == agent.hider)
    for target in wl.share(MAX_BOXES):
        if target < world.num_boxes:
            box = world.at(Solid, target)
            place, speed = in_frame(forward, box.position - origin), in_frame(forward, box.velocity)
            size, owner, yaw = box.size, box.owner, relative_yaw(rotation, box.rotation)
            agent.boxes[target, 0] = place.x
            agent.boxes[target, 1] = place.y
            agent.boxes[target, 2] = speed.x
            agent.boxes[target, 3] = speed.y
            agent.boxes[target, 4] = 2.0 * size.x
            agent.boxes[target, 5] = 2.0 * size.y
            agent.boxes[target, 6] = yaw
            agent.boxes[target, 7] = float(owner == team)
            agent.boxes[target, 8] = float(owner != team and owner != FREE)
    for target in wl.share(MAX_RAMPS):
        if world.num_boxes + target < world.first_agent:
            ramp = world.at(Solid, world.num_boxes + target)
            place, speed = in_frame(forward, ramp.position - origin), in_frame(forward, ramp.velocity)
            owner, yaw = ramp.owner, relative_yaw(rotation, ramp.rotation)
            agent.ramps[target, 0] = place.x
            agent.ramps[target, 1] = place.y
            agent.ramps[target, 2] = speed.x
            agent.ramps[target, 3] = speed.y
            agent.ramps[target, 4] = yaw
            agent.ramps[target, 5] = float(owner == team)
            agent.ramps[target, 6] = float(owner != team and owner != FREE)
    for slot in wl.share(MAX_MOVING):
        row = position_row(slot, world.num_boxes, world.first_agent, world.num_agents)
        if row >= 0:
            position = world.at(Solid, row).position
            agent.all_positions[slot, 0] = position.x
            agent.all_positions[slot, 1] = position.y
