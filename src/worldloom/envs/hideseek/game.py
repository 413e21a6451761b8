"""The definition of HideSeek."""

from math import inf

import worldloom as wl
from worldloom.envs.hideseek.actions import HANDLE, act
from worldloom.envs.hideseek.entities import (
    MAX_AGENTS,
    MAX_BOXES,
    MAX_RAMPS,
    MAX_SOLIDS,
    MAX_TEAM,
    SOLID,
    Arena,
    Hider,
    Level,
    Seeker,
    Solid,
)
from worldloom.envs.hideseek.observations import describe, describe_self
from worldloom.envs.hideseek.placement import build_level, enter_agents
from worldloom.envs.hideseek.rendering import draw
from worldloom.envs.hideseek.rules import adjust_contacts, begin, keep_statistics, pay, stop_agents
from worldloom.envs.hideseek.sight import LIDAR, LOOK

EPISODE_LENGTH = 240
LIMITS = {
    "hiders": (0, MAX_TEAM),
    "seekers": (0, MAX_TEAM),
    "min_boxes": (0, MAX_BOXES),
    "max_boxes": (0, MAX_BOXES),
    "min_elongated": (0, MAX_BOXES),
    "ramps": (0, MAX_RAMPS),
    "pile_gap": (0.0, 1.0),
    "preparation": (0, inf),
    "reach": (0.0, inf),
    "step_height": (0.0, 1.0),
    "lidar_range": (0.0, inf),
}
contacts_found = len(SOLID.detection)

HIDE_SEEK = wl.register(
    "HideSeek-v0",
    world=Arena,
    entities={
        Hider: wl.UpTo(MAX_TEAM, agents=True),
        Seeker: wl.UpTo(MAX_TEAM, agents=True),
        Level: 1,
        Solid: wl.UpTo(MAX_SOLIDS),
        **SOLID.entities(pairs=96, contacts=64, joints=MAX_AGENTS, overflow="reset"),
    },
    reset=[build_level, enter_agents, LOOK],
    step=[
        begin,
        act,
        *HANDLE,
        *SOLID.step[:contacts_found],
        adjust_contacts,
        *SOLID.step[contacts_found:],
        stop_agents,
        LOOK,
        pay,
        keep_statistics,
    ],
    observe=[describe_self, describe, LIDAR],
    max_steps=EPISODE_LENGTH,
    render=draw,
    limits=LIMITS,
    worlds_per_thread=16,
    doc="HideSeek: hiders and seekers with boxes and ramps that they push, grab and lock.",
)
