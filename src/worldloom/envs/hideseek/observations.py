"""Observations of agents: themselves, other agents, boxes and ramps in their own frame, and all positions."""

import worldloom as wl
from worldloom.envs.hideseek.entities import (
    AGENT_FEATURES,
    BOX_FEATURES,
    EXTENT,
    FREE,
    HIDERS,
    MAX_AGENTS,
    MAX_BOXES,
    MAX_MOVING,
    MAX_RAMPS,
    OTHERS,
    RAMP_FEATURES,
    SEEKERS,
    Agent,
    Arena,
    Solid,
)
from worldloom.envs.hideseek.sight import FORWARD, RAMPS_FROM


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
def position_slot(row: int, boxes: int, first_agent: int) -> int:
    """The place of a body among all agents, boxes and ramps."""
    if row >= first_agent:
        return row - first_agent
    return MAX_AGENTS + row if row < boxes else MAX_AGENTS + MAX_BOXES + row - boxes


@wl.system
def describe_self(agent: Agent, world: Arena):
    """Features of the agent, and which targets it sees."""
    own = world.at(Solid, world.first_agent + agent.number)
    origin = own.position
    forward = wl.quat_rotate(own.rotation, FORWARD)
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


@wl.system(threads=32, separate=True)
def describe(agent: Agent, world: Arena):
    """Features of all bodies that the agent may see, whether it sees them or not, and for critics the horizontal
    positions of all agents, boxes and ramps, m.
    """
    for slot in wl.share(MAX_MOVING):  # places without a body; a GPU then keeps these arrays in shared memory
        agent.all_positions[slot, 0] = 0.0
        agent.all_positions[slot, 1] = 0.0
    for box in wl.share(MAX_BOXES):
        for feature in range(BOX_FEATURES):
            agent.boxes[box, feature] = 0.0
    for ramp in wl.share(MAX_RAMPS):
        for feature in range(RAMP_FEATURES):
            agent.ramps[ramp, feature] = 0.0
    for target in wl.share(OTHERS):
        for feature in range(AGENT_FEATURES):
            agent.others[target, feature] = 0.0
    own_row = world.first_agent + agent.number
    own = world.at(Solid, own_row)
    team = HIDERS if agent.hider else SEEKERS
    for row in wl.share(MAX_MOVING, disjoint=True):  # each body has a place of its own in these arrays
        if row < world.first_agent + world.num_agents:
            origin, rotation = own.position, own.rotation  # loaded here, together with those of the body
            body = world.at(Solid, row)
            position, velocity, size, owner = body.position, body.velocity, body.size, body.owner
            other_rotation = body.rotation
            forward = wl.quat_rotate(rotation, FORWARD)
            yaw = relative_yaw(rotation, other_rotation)
            place, speed = in_frame(forward, position - origin), in_frame(forward, velocity)
            ours, theirs = float(owner == team), float(owner != team and owner != FREE)
            slot = wl.clamp(position_slot(row, world.num_boxes, world.first_agent), 0, MAX_MOVING - 1)
            agent.all_positions[slot, 0] = position.x
            agent.all_positions[slot, 1] = position.y
            if row < world.num_boxes:
                box = wl.clamp(row, 0, MAX_BOXES - 1)
                agent.boxes[box, 0] = place.x
                agent.boxes[box, 1] = place.y
                agent.boxes[box, 2] = speed.x
                agent.boxes[box, 3] = speed.y
                agent.boxes[box, 4] = 2.0 * size.x
                agent.boxes[box, 5] = 2.0 * size.y
                agent.boxes[box, 6] = yaw
                agent.boxes[box, 7] = ours
                agent.boxes[box, 8] = theirs
            elif row < world.first_agent:
                ramp = wl.clamp(row - world.num_boxes, 0, MAX_RAMPS - 1)
                agent.ramps[ramp, 0] = place.x
                agent.ramps[ramp, 1] = place.y
                agent.ramps[ramp, 2] = speed.x
                agent.ramps[ramp, 3] = speed.y
                agent.ramps[ramp, 4] = yaw
                agent.ramps[ramp, 5] = ours
                agent.ramps[ramp, 6] = theirs
            elif row != own_row:
                target = wl.clamp(row - world.first_agent - int(row > own_row), 0, OTHERS - 1)
                agent.others[target, 0] = place.x
                agent.others[target, 1] = place.y
                agent.others[target, 2] = speed.x
                agent.others[target, 3] = speed.y
                agent.others[target, 4] = float((row - world.first_agent < world.hiders) == agent.hider)
