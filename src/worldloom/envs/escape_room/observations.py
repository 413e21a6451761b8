"""What agents observe besides the lidar: positions in polar coordinates of their own frame."""

import math

import worldloom as wl
from worldloom.envs.escape_room.entities import (
    AGENT_ID,
    BUTTON,
    CUBE,
    FIRST_AGENT,
    FIRST_CUBE,
    FIRST_END_WALL,
    MAX_CUBES,
    MAX_ROOM_ENTITIES,
    NUM_AGENTS,
    NUM_BUTTONS,
    NUM_ROOMS,
    NUM_TYPES,
    PARTNER,
    ROOM_DOOR,
    ROOM_ENTITIES,
    SELF,
    STEPS_LEFT,
    Agent,
    Body,
    Button,
    Level,
    Room,
)


@wl.function
def yaw_of(rotation: wl.quat) -> float:
    """Angle of a rotation about the z axis, rad, counter-clockwise."""
    x, y, z, w = rotation[0], rotation[1], rotation[2], rotation[3]
    return wl.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


@wl.function
def polar_coordinates(rotation: wl.quat, offset: wl.vec3):
    """Horizontal distance, and angle clockwise from forward as a fraction of pi, of a point seen from an agent."""
    local = wl.quat_rotate_inv(rotation, offset)
    return wl.sqrt(local.x * local.x + local.y * local.y), wl.atan2(local.x, local.y) / math.pi


@wl.system
def observe(agent: Agent, world: Level):
    body = world.at(Body, FIRST_AGENT + agent.id)
    position, rotation = body.position, body.rotation
    number = wl.clamp(int(position.y / world.room_length), 0, NUM_ROOMS - 1)
    room = world.at(Room, number)
    scale = 1.0 / (float(NUM_ROOMS) * world.room_length)

    agent.sight[SELF] = position.x / (0.5 * world.width)
    agent.sight[SELF + 1] = position.y / world.room_length - float(number)
    agent.sight[SELF + 2] = position.x * scale
    agent.sight[SELF + 3] = position.y * scale
    agent.sight[SELF + 4] = (position.z - body.size.z) * scale
    agent.sight[SELF + 5] = agent.max_y * scale
    agent.sight[SELF + 6] = yaw_of(rotation) / math.pi
    agent.sight[SELF + 7] = 1.0 if agent.is_grabbing else 0.0

    partner = world.at(Body, FIRST_AGENT + NUM_AGENTS - 1 - agent.id)
    distance, angle = polar_coordinates(rotation, partner.position - position)
    agent.sight[PARTNER] = distance * scale
    agent.sight[PARTNER + 1] = angle
    agent.sight[PARTNER + 2] = 1.0 if world.at(Agent, NUM_AGENTS - 1 - agent.id).is_grabbing else 0.0

    for i in range(MAX_ROOM_ENTITIES):
        distance, angle, type = 0.0, 1.0, 0
        if i < room.num_buttons:
            button = world.at(Button, NUM_BUTTONS * number + i)
            place = wl.vec3(button.position.x, button.position.y, 0.0)
            distance, angle = polar_coordinates(rotation, place - position)
            type = BUTTON
        elif i < room.num_buttons + room.num_cubes:
            cube = world.at(Body, FIRST_CUBE + MAX_CUBES * number + i - room.num_buttons)
            distance, angle = polar_coordinates(rotation, cube.position - position)
            type = CUBE
        agent.sight[ROOM_ENTITIES + 3 * i] = distance * scale
        agent.sight[ROOM_ENTITIES + 3 * i + 1] = angle
        agent.sight[ROOM_ENTITIES + 3 * i + 2] = float(type) / float(NUM_TYPES)

    door = world.at(Body, FIRST_END_WALL + 3 * number + 2)
    distance, angle = polar_coordinates(rotation, door.position - position)
    agent.sight[ROOM_DOOR] = distance * scale
    agent.sight[ROOM_DOOR + 1] = angle
    agent.sight[ROOM_DOOR + 2] = 1.0 if room.is_open else 0.0

    agent.sight[STEPS_LEFT] = 1.0 - float(world.step) / float(max(world.max_steps, 1))
    agent.sight[AGENT_ID] = float(agent.id) / float(NUM_AGENTS - 1)
