"""Level generation: the kinds of rooms, doors, buttons, cubes and the places of agents."""

import worldloom as wl
from worldloom import physics
from worldloom.envs.escape_room.entities import (
    AGENT,
    CUBE,
    CUBE_BLOCKING,
    CUBE_BUTTONS,
    DOOR,
    DOUBLE_BUTTON,
    FIRST_AGENT,
    FIRST_BORDER,
    FIRST_CUBE,
    FIRST_END_WALL,
    FLOOR_ROW,
    MAX_CUBES,
    NONE,
    NUM_BUTTONS,
    NUM_ROOM_KINDS,
    NUM_ROOMS,
    SINGLE_BUTTON,
    WALL,
    Agent,
    Body,
    Button,
    Level,
    Room,
)

SHELF = wl.vec3(0.0, -100.0, 0.0)
"""Where cubes lie that the rooms of an episode do not need, without collisions."""


@wl.system
def draw_room(room: Room, world: Level):
    room.kind = world.third_room
    if room.id == 0:
        room.kind = world.first_room
    elif room.id == 1:
        room.kind = world.second_room
    drawn = world.integer(NUM_ROOM_KINDS)
    if room.kind < 0:
        room.kind = drawn
    nearest = world.door_margin * world.door_gap
    room.door_x = world.random(nearest, world.width - nearest) - 0.5 * world.width
    room.num_buttons = 1 if room.kind == SINGLE_BUTTON else NUM_BUTTONS
    room.num_cubes = 0
    if room.kind == CUBE_BLOCKING:
        room.num_cubes = 3
    elif room.kind == CUBE_BUTTONS:
        room.num_cubes = 2
    room.stays_open = room.kind != CUBE_BUTTONS


@wl.system
def place_button(button: Button, world: Level):
    number = button.id // NUM_BUTTONS
    kind = world.at(Room, number).kind
    start = float(number) * world.room_length
    end = start + world.room_length
    half, width = 0.5 * world.width, world.button_width
    across, along = world.random(), world.random()
    if kind == SINGLE_BUTTON:
        reach = 0.5 * (half - width)
        button.position.x = wl.lerp(-reach, reach, across)
    else:
        inner = width if kind == DOUBLE_BUTTON else width + 0.5 * half
        side = -1.0 if button.id % NUM_BUTTONS == 0 else 1.0
        button.position.x = side * wl.lerp(inner, half - width, across)
    if kind in (SINGLE_BUTTON, DOUBLE_BUTTON):
        button.position.y = wl.lerp(start + 0.25 * world.room_length, end - world.wall_thickness - 0.5 * width, along)
    else:
        button.position.y = wl.lerp(start + width, end - 0.25 * world.room_length, along)


@wl.system
def place_floor_and_borders(body: Body, world: Level):
    if body.id >= FIRST_END_WALL:
        return
    body.motion = physics.STATIC
    body.friction = world.wall_friction
    length = float(NUM_ROOMS) * world.room_length
    thick, half_height = world.wall_thickness, 0.5 * world.border_height
    body.type = WALL
    if body.id == FLOOR_ROW:
        body.type = NONE
        body.shape = physics.PLANE
        body.friction = world.floor_friction
    elif body.id == FIRST_BORDER:
        body.position = wl.vec3(0.0, -0.5 * thick, half_height)
        body.size = wl.vec3(0.5 * world.width + thick, 0.5 * thick, half_height)
    elif body.id > FIRST_BORDER:
        side = 1.0 if body.id == FIRST_BORDER + 1 else -1.0
        body.position = wl.vec3(side * 0.5 * (world.width + thick), 0.5 * length, half_height)
        body.size = wl.vec3(0.5 * thick, 0.5 * length, half_height)


@wl.system
def place_agent(body: Body, world: Level):
    number = body.id - FIRST_AGENT
    if number < 0 or body.id >= FIRST_BORDER:
        return
    half = world.agent_half
    yaw = world.random(-world.spawn_yaw, world.spawn_yaw)
    extent = half * (abs(wl.cos(yaw)) + abs(wl.sin(yaw)))  # of the turned box, which may not reach into walls
    spread = 0.25 * world.width - 1.25 * half
    side = 1.0 if number == 0 else -1.0
    x = world.random(-spread, spread) + side * 0.25 * world.width
    y = world.random(1.1 * half, world.spawn_depth)
    body.type = AGENT
    body.motion = physics.DYNAMIC
    body.position = wl.vec3(wl.clamp(x, extent - 0.5 * world.width, 0.5 * world.width - extent), max(y, extent), half)
    body.rotation = wl.quat_from_axis_angle(wl.vec3(0.0, 0.0, 1.0), yaw)
    body.size = wl.vec3(half, half, half)
    body.mass = world.agent_mass
    body.friction = world.agent_friction
    body.angular_factor = wl.vec3(0.0, 0.0, 1.0)


@wl.system
def place_end_wall(body: Body, world: Level):
    number = (body.id - FIRST_END_WALL) // 3
    if number < 0 or body.id >= FIRST_CUBE:
        return
    part = (body.id - FIRST_END_WALL) % 3
    door_x = world.at(Room, number).door_x
    half_gap, half_width, half_height = 0.5 * world.door_gap, 0.5 * world.width, 0.5 * world.end_wall_height
    left, right = door_x - half_gap, door_x + half_gap
    body.type = WALL
    body.motion = physics.STATIC
    if part == 0:
        left, right = -half_width, left
    elif part == 1:
        left, right = right, half_width
    else:
        left, right = door_x - world.door_fill * half_gap, door_x + world.door_fill * half_gap
        body.type = DOOR
        body.motion = physics.KINEMATIC
    y = world.room_length * float(number + 1) - 0.5 * world.wall_thickness
    body.position = wl.vec3(0.5 * (left + right), y, half_height)
    body.size = wl.vec3(0.5 * (right - left), 0.5 * world.wall_thickness, half_height)
    body.friction = world.wall_friction


@wl.system
def place_cube(body: Body, world: Level):
    if body.id < FIRST_CUBE:
        return
    number = (body.id - FIRST_CUBE) // MAX_CUBES
    index = (body.id - FIRST_CUBE) % MAX_CUBES
    room = world.at(Room, number)
    half = world.cube_half
    body.size = wl.vec3(half, half, half)
    across, along = world.random(), world.random()
    if index >= room.num_cubes:
        body.motion = physics.STATIC
        body.collision_group = 0
        body.position = SHELF
        return
    start = float(number) * world.room_length
    end = start + world.room_length - world.wall_thickness
    x, y = 0.0, 0.0
    if room.kind == CUBE_BLOCKING:
        x = room.door_x + 2.0 * half * float(index - 1)
        y = end + 0.5 * world.wall_thickness - 2.0
    else:
        side = -1.0 if index == 0 else 1.0
        x = side * wl.lerp(half, 0.25 * world.width, across)
        y = wl.lerp(start + 2.0, end - 2.0, along)
    body.type = CUBE
    body.motion = physics.DYNAMIC
    body.position = wl.vec3(x, y, half)
    body.mass = world.cube_mass
    body.friction = world.cube_friction


@wl.system
def begin_progress(agent: Agent, world: Level):
    agent.max_y = world.at(Body, FIRST_AGENT + agent.id).position.y


RESET = [draw_room, place_button, place_floor_and_borders, place_agent, place_end_wall, place_cube, begin_progress]
"""The systems of a reset, in order."""
