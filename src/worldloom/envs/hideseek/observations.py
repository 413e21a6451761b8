"""Observations of agents: themselves, other agents, boxes and ramps in their own frame, and all positions."""

import worldloom as wl
from worldloom.envs.hideseek.entities import (
    EXTENT,
    FREE,
    HIDERS,
    MAX_AGENTS,
    MAX_BOXES,
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


@wl.system(separate=True)
def describe(agent: Agent, world: Arena):
    """Features of the agent and of all bodies that it may see, whether it sees them or not."""
    row = world.first_agent + agent.number
    own = world.at(Solid, row)
    forward = wl.quat_rotate(own.rotation, FORWARD)
    left = max(world.preparation - world.clock, 0)
    agent.agent_type = int(agent.hider)
    agent.preparation_left = left
    agent.myself[0] = own.position.x / EXTENT
    agent.myself[1] = own.position.y / EXTENT
    agent.myself[2] = own.position.z
    agent.myself[3] = forward.x
    agent.myself[4] = forward.y
    agent.myself[5] = own.velocity.z
    agent.myself[6] = float(agent.hider)
    agent.myself[7] = float(agent.holds)
    agent.myself[8] = float(left) / float(max(world.preparation, 1))
    agent.myself[9] = float(world.clock) / float(max(world.max_steps, 1))
    team = HIDERS if agent.hider else SEEKERS
    for target in range(OTHERS):
        other_row = target_row(target, agent.number, world.num_boxes, world.first_agent, world.num_agents)
        if other_row >= 0:
            other = world.at(Solid, other_row)
            place = in_frame(forward, other.position - own.position)
            speed = in_frame(forward, other.velocity)
            agent.others[target, 0] = place.x
            agent.others[target, 1] = place.y
            agent.others[target, 2] = speed.x
            agent.others[target, 3] = speed.y
            agent.others[target, 4] = float((other_row - world.first_agent < world.hiders) == agent.hider)
        agent.others_visible[target] = agent.visible[target]
    for target in range(MAX_BOXES):
        if target < world.num_boxes:
            box = world.at(Solid, target)
            place = in_frame(forward, box.position - own.position)
            speed = in_frame(forward, box.velocity)
            agent.boxes[target, 0] = place.x
            agent.boxes[target, 1] = place.y
            agent.boxes[target, 2] = speed.x
            agent.boxes[target, 3] = speed.y
            agent.boxes[target, 4] = 2.0 * box.size.x
            agent.boxes[target, 5] = 2.0 * box.size.y
            agent.boxes[target, 6] = relative_yaw(own.rotation, box.rotation)
            agent.boxes[target, 7] = float(box.owner == team)
            agent.boxes[target, 8] = float(box.owner != team and box.owner != FREE)
        agent.boxes_visible[target] = agent.visible[OTHERS + target]
    for target in range(MAX_RAMPS):
        if world.num_boxes + target < world.first_agent:
            ramp = world.at(Solid, world.num_boxes + target)
            place = in_frame(forward, ramp.position - own.position)
            speed = in_frame(forward, ramp.velocity)
            agent.ramps[target, 0] = place.x
            agent.ramps[target, 1] = place.y
            agent.ramps[target, 2] = speed.x
            agent.ramps[target, 3] = speed.y
            agent.ramps[target, 4] = relative_yaw(own.rotation, ramp.rotation)
            agent.ramps[target, 5] = float(ramp.owner == team)
            agent.ramps[target, 6] = float(ramp.owner != team and ramp.owner != FREE)
        agent.ramps_visible[target] = agent.visible[RAMPS_FROM + target]


@wl.system(separate=True)
def locate(agent: Agent, world: Arena):
    """Horizontal positions of all agents, boxes and ramps, m, for critics."""
    for slot in range(MAX_AGENTS + MAX_BOXES + MAX_RAMPS):
        row = -1
        if slot < MAX_AGENTS:
            row = world.first_agent + slot if slot < world.num_agents else -1
        elif slot < MAX_AGENTS + MAX_BOXES:
            row = slot - MAX_AGENTS if slot - MAX_AGENTS < world.num_boxes else -1
        else:
            row = world.num_boxes + slot - MAX_AGENTS - MAX_BOXES
            if row >= world.first_agent:
                row = -1
        if row >= 0:
            position = world.at(Solid, row).position
            agent.all_positions[slot, 0] = position.x
            agent.all_positions[slot, 1] = position.y
