"""Escape Room: the schedule of a step."""

import worldloom as wl
from worldloom.envs.escape_room.entities import (
    NUM_AGENTS,
    NUM_BODIES,
    NUM_BUTTONS,
    NUM_ROOM_KINDS,
    NUM_ROOMS,
    RANDOM_ROOM,
    SOLID,
    Agent,
    Body,
    Button,
    Level,
    Room,
)
from worldloom.envs.escape_room.grab import grab
from worldloom.envs.escape_room.levels import RESET
from worldloom.envs.escape_room.lidar import LIDAR
from worldloom.envs.escape_room.observations import observe
from worldloom.envs.escape_room.rendering import draw
from worldloom.envs.escape_room.rules import (
    end_episode,
    move,
    open_door,
    press,
    reward_partners,
    reward_progress,
    slide_door,
    stop_agent,
)

ESCAPE_ROOM = wl.register(
    "EscapeRoom-v0",
    world=Level,
    entities={
        Agent: NUM_AGENTS,
        Body: NUM_BODIES,
        Room: NUM_ROOMS,
        Button: NUM_BUTTONS * NUM_ROOMS,
        **SOLID.entities(pairs=48, contacts=48, joints=NUM_AGENTS, overflow="reset"),
    },
    reset=RESET,
    step=[
        move,
        slide_door,
        grab,
        *SOLID.step,
        stop_agent,
        press,
        open_door,
        reward_progress,
        reward_partners,
        end_episode,
    ],
    observe=[observe, LIDAR],
    render=draw,
    frames_per_second=25,
    max_steps=200,
    doc="EscapeRoom: two agents press buttons and move cubes to leave three rooms together.",
    limits={name: (RANDOM_ROOM, NUM_ROOM_KINDS - 1) for name in ("first_room", "second_room", "third_room")},
)
