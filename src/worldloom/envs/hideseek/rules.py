"""Rewards, and statistics of the episode."""

import worldloom as wl
from worldloom.envs.hideseek.bodies import AGENT, half_size
from worldloom.envs.hideseek.entities import EXTENT, SOLID, Agent, Arena, Level, Solid
from worldloom.physics.bodies import Tangents
from worldloom.physics.geometry.clipping import Points

STEEP = 0.5
"""Vertical part of the normal of a contact, below which its faces are steep."""


@wl.system
def begin(world: Arena):
    world.spotted = False
    world.clock = world.step + 1


@wl.function
def highest_point(anchors: Points, count: int) -> float:
    """Height of the highest point of a contact in the frame of a body, m."""
    highest = anchors[2]
    for i in wl.unroll(4):
        if i < count:
            highest = max(highest, anchors[3 * i + 2])
    return highest


@wl.system(disjoint=True)
def adjust_contacts(contact: SOLID.Contact, world: Arena):
    """The friction of a pair of bodies is the mean of both. Agents pass edges of up to `step_height`.

    An agent on a ramp presses it down by centimetres, so that its front meets the body behind the ramp below the edge.
    Such a contact has no points: the agent moves over the edge, and the next steps push it up.
    """
    a, b = contact.a_id, contact.b_id
    contact.friction = 0.5 * (world.at(Solid, a).friction + world.at(Solid, b).friction)
    end = world.first_agent + world.num_agents
    a_agent, b_agent = a >= world.first_agent and a < end, b >= world.first_agent and b < end
    if a_agent or b_agent:
        own = world.at(SOLID.Contact, contact.id)  # for what only these contacts need: it is loaded here
        if abs(own.normal.z) < STEEP:
            step = world.step_height - half_size(AGENT).z
            low = a_agent and highest_point(own.a_anchors, own.num_points) < step
            if low or (b_agent and highest_point(own.b_anchors, own.num_points) < step):
                own.num_points = 0
                own.impulses, own.tangents = wl.vec4(), Tangents()


@wl.system
def stop_agents(body: Solid, world: Arena):
    """Agents keep only the velocity of a fall; all bodies note how far they moved."""
    place = wl.vec2(body.position.x, body.position.y)
    body.travelled = wl.length(place - body.place)
    body.place = place
    number = body.id - world.first_agent
    if number >= 0 and number < world.num_agents:
        body.velocity = wl.vec3(0.0, 0.0, min(body.velocity.z, 0.0))
        body.spin = wl.vec3(0.0, 0.0, 0.0)
        body.rest = 0  # never asleep, although it has no velocity when it is pushed


@wl.function
def passes(door: wl.vec4, start: wl.vec2, end: wl.vec2) -> bool:
    """Whether the way from start to end leads through a gap (x, y to x, y) in an inner wall."""
    if door[1] == door[3]:
        before, after = start.y - door[1], end.y - door[1]
        if abs(door[1]) >= EXTENT or before * after > 0.0 or before == after:
            return False
        middle = start.x + (end.x - start.x) * before / (before - after)
        return middle > door[0] and middle < door[2]
    before, after = start.x - door[0], end.x - door[0]
    if abs(door[0]) >= EXTENT or before * after > 0.0 or before == after:
        return False
    middle = start.y + (end.y - start.y) * before / (before - after)
    return middle > door[1] and middle < door[3]


@wl.system
def pay(agent: Agent, world: Arena):
    """Rewards of the step, and passages through doors."""
    body = world.at(Solid, world.first_agent + agent.number)
    place = wl.vec2(body.position.x, body.position.y)
    level = world.at(Level, 0)
    for k in range(world.num_doors):
        if passes(level.doors[k], agent.place, place):
            if agent.hider:
                world.hider_entries += 1
            else:
                world.seeker_entries += 1
    agent.place = place
    if world.step < world.preparation - 1:
        return
    hidden = -world.hidden_reward if world.spotted else world.hidden_reward
    agent.reward = hidden if agent.hider else -hidden
    if abs(place.x) >= EXTENT or abs(place.y) >= EXTENT:
        agent.reward -= world.outside_penalty


@wl.system
def keep_statistics(world: Arena):
    """Distances that boxes and ramps moved, and the fraction of steps in which a hider is seen."""
    boxes, ramps = 0.0, 0.0
    for k in range(world.first_agent):
        if k < world.num_boxes:
            boxes += world.at(Solid, k).travelled
        else:
            ramps += world.at(Solid, k).travelled
    if world.step < world.preparation - 1:
        world.boxes_moved_before += boxes
        world.ramps_moved_before += ramps
    else:
        world.boxes_moved_after += boxes
        world.ramps_moved_after += ramps
        if world.spotted:
            world.spotted_steps += 1
        world.spotted_fraction = float(world.spotted_steps) / float(world.step - world.preparation + 2)
