"""The rules of a step: movement, doors and buttons, rewards."""

import math

import worldloom as wl
from worldloom import physics
from worldloom.envs.escape_room.box_overlap import boxes_touch
from worldloom.envs.escape_room.entities import (
    AGENT,
    DOOR,
    FIRST_AGENT,
    FIRST_END_WALL,
    NUM_BUTTONS,
    NUM_ROOMS,
    Agent,
    Body,
    Button,
    Level,
    Room,
)


@wl.system
def move(body: Body, world: Level):
    if body.type == AGENT:
        agent = world.at(Agent, body.id - FIRST_AGENT)
        force = world.move_force * float(agent.act[0]) / 3.0
        angle = 0.25 * math.pi * float(agent.act[1])  # clockwise from forward
        body.force = wl.quat_rotate(body.rotation, wl.vec3(force * wl.sin(angle), force * wl.cos(angle), 0.0))
        body.torque = wl.vec3(0.0, 0.0, world.turn_torque * float(agent.act[2] - 2) / 2.0)


@wl.system
def slide_door(body: Body, world: Level):
    if body.type == DOOR:
        closed = 0.5 * world.end_wall_height
        distance = world.door_speed * world.dt
        if world.at(Room, (body.id - FIRST_END_WALL) // 3).is_open:
            body.position.z = max(body.position.z - distance, closed - world.door_depth)
        else:
            body.position.z = min(body.position.z + distance, closed)


@wl.system
def stop_agent(body: Body):
    if body.type == AGENT:
        body.velocity = wl.vec3(0.0, 0.0, min(body.velocity.z, 0.0))
        body.spin = wl.vec3(0.0, 0.0, 0.0)


@wl.system
def press(button: Button, world: Level):
    half = wl.vec3(0.5 * world.button_width, 0.5 * world.button_width, 0.5 * world.button_height)
    centre = wl.vec3(button.position.x, button.position.y, half.z)
    button.is_pressed = False
    for body in world.all(Body):
        offset = body.position - centre
        near = abs(offset.y) <= half.y + body.size.x + body.size.y + body.size.z  # skips most other rooms
        if body.motion == physics.DYNAMIC and near and boxes_touch(half, body.size, offset, body.rotation):
            button.is_pressed = True


@wl.system
def open_door(room: Room, world: Level):
    all_pressed = True
    for i in range(NUM_BUTTONS):
        if i < room.num_buttons and not world.at(Button, NUM_BUTTONS * room.id + i).is_pressed:
            all_pressed = False
    room.is_open = all_pressed or (room.stays_open and room.is_open)


@wl.system
def reward_progress(agent: Agent, world: Level):
    y = min(world.at(Body, FIRST_AGENT + agent.id).position.y, world.progress_limit)
    if y > agent.max_y:
        agent.reward = world.reward_per_distance * (y - agent.max_y)
        agent.max_y = y
    else:
        agent.reward = world.slack_reward


@wl.system
def reward_partners(agent: Agent, world: Level):
    last = agent.max_y
    together = True
    for other in world.all(Agent):
        last = min(last, other.max_y)
        if abs(other.max_y - agent.max_y) > world.partner_distance:
            together = False
    if together and agent.reward > 0.0:
        agent.reward *= world.partner_bonus
    agent.rooms_passed = float(wl.clamp(int(last / world.room_length), 0, NUM_ROOMS))
    agent.escaped = 1.0 if agent.rooms_passed >= float(NUM_ROOMS) else 0.0


@wl.system
def end_episode(world: Level):
    if world.max_steps > 0 and world.step + 1 >= world.max_steps:
        world.terminate()
