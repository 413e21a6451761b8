"""The kinds of entities of HideSeek, its configuration and its sizes.

Axes: x to the right, y forward, z up. Units are metres, seconds and kilograms.
"""

from math import cos, pi, sin

import numpy as np

import worldloom as wl
from worldloom import physics

MAX_TEAM = 3
"""Agents of a team."""
MAX_AGENTS = 2 * MAX_TEAM
OTHERS = MAX_AGENTS - 1
MAX_BOXES = 9
MAX_RAMPS = 2
TARGETS = OTHERS + MAX_BOXES + MAX_RAMPS
"""What an agent may see: other agents, boxes, ramps."""
MAX_CONNECTS, MAX_DOOR_CUTS = 5, 6
MAX_WALLS = 4 + 4 * MAX_CONNECTS + MAX_DOOR_CUTS
"""Outer walls; a connection adds two pieces of wall and splits both walls it connects; a door splits a wall."""
MAX_PARALLEL = 2 + 2 * MAX_CONNECTS + MAX_DOOR_CUTS
"""Walls of one orientation."""
MAX_DOORS = MAX_CONNECTS + MAX_DOOR_CUTS
MAX_OBSTACLES = MAX_WALLS + MAX_BOXES + MAX_RAMPS
MAX_MOVING = MAX_BOXES + MAX_RAMPS + MAX_AGENTS
MAX_SOLIDS = MAX_OBSTACLES + MAX_AGENTS + 1
"""Bodies: obstacles, agents and the floor."""
CANDIDATES = 32
"""Places for a body that are tested at the same time."""
RAYS = 30
Frame = wl.vec(12)  # 48 bytes, which a GPU moves in three pieces

EXTENT = 18.0  # m, half the side of the arena
WALL_HALF_WIDTH = 0.2  # m
WALL_HEIGHT = 2.5  # m

# Owners of a body: no team, the team that has locked it; walls, floor and agents cannot be owned.
FREE, HIDERS, SEEKERS, UNOWNABLE = range(4)

AGENT_FEATURES = 5
BOX_FEATURES = 9
RAMP_FEATURES = 7
SELF_FEATURES = 10
FULL_CIRCLE = [2.0 * pi * ray / RAYS for ray in range(RAYS)]


class Arena(physics.World):
    """The world: configuration, the level, and statistics of the episode."""

    heavy_load: wl.Config = 1.0e30  # off: agents of 1 kg push walls with up to 500 N
    max_depth: wl.Config = 1.0e30  # off: bodies may start within each other
    joint_frequency: wl.Config = 30.0  # Hz, of the joints by which agents hold bodies
    hiders: wl.Config = 3  # agents of each team, 0 to 3
    seekers: wl.Config = 2
    min_boxes: wl.Config = 3
    max_boxes: wl.Config = 8  # up to 9
    min_elongated: wl.Config = 3  # boxes that are elongated
    ramps: wl.Config = 2  # up to 2
    packed: wl.Config = False  # whether bodies start side by side, see hideseek.packing
    pile_gap: wl.Config = 0.2  # m, between packed bodies
    preparation: wl.Config = 96  # steps without rewards, in which seekers stand still
    move_force: wl.Config = 96.0  # N per choice
    turn_torque: wl.Config = 32.0  # N m per choice
    reach: wl.Config = 2.5  # m, of lock and grab
    step_height: wl.Config = 0.1  # m, of edges that agents pass, see rules.adjust_contacts
    hidden_reward: wl.Config = 1.0  # of hiders where none is seen; otherwise its negative
    outside_penalty: wl.Config = 10.0
    cone_cosine: wl.Config = cos(0.375 * pi)  # of half the field of view, 135 degrees
    lidar_range: wl.Config = 200.0  # m
    lidar_rays: wl.Config = np.array([(cos(angle), sin(angle)) for angle in FULL_CIRCLE], np.float32)

    num_doors: int
    num_walls: int
    num_boxes: int
    num_agents: int
    first_agent: int  # rows of Solid: boxes, ramps, agents, the floor, walls
    forced_placements: int  # bodies without a place that is free of other bodies

    clock: int  # steps of the episode
    spotted: bool  # whether a seeker sees a hider

    boxes_moved_before: wl.Info(float, metric=True)  # m, of all boxes, before and after the preparation
    boxes_moved_after: wl.Info(float, metric=True)
    ramps_moved_before: wl.Info(float, metric=True)
    ramps_moved_after: wl.Info(float, metric=True)
    hider_locks: wl.Info(int, metric=True)
    seeker_locks: wl.Info(int, metric=True)
    spotted_steps: wl.Info(int)  # steps after the preparation in which a hider was seen
    spotted_fraction: wl.Info(float, metric=True)  # of the steps after the preparation
    hider_entries: wl.Info(int, metric=True)  # passages through doors of inner walls
    seeker_entries: wl.Info(int, metric=True)


class Level(wl.Entity):
    """The level of a world: its walls and doors, and where bodies start. An entity, whose systems have a warp."""

    walls: wl.Array(wl.vec4, 2, MAX_PARALLEL)  # in the unit square, horizontal and vertical: y or x, both ends, unused
    counts: wl.vec2i  # walls of each orientation
    doors: wl.Array(wl.vec4, MAX_DOORS)  # ends of the gap: x, y, x, y, m
    num_doors: int
    obstacles: wl.Array(wl.vec4, MAX_OBSTACLES)  # bounding rectangles at the start: x, y, x, y; walls first
    num_walls: int  # among the obstacles
    num_boxes: int
    forced_placements: int
    candidates: wl.Transient(wl.Array(wl.vec4, CANDIDATES))  # places for a body: x, y, yaw, unused
    chosen: int  # the first choice that suits


class Solid(physics.Body):
    """A body: box, ramp, agent, floor or wall."""

    owner: int = UNOWNABLE
    travelled: float  # m, horizontally in the last step
    place: wl.vec2  # m, where it was measured


SOLID = physics.systems(Arena, Solid, shapes=(physics.PLANE, physics.BOX, physics.WEDGE))


class Agent(wl.Entity):
    """A hider or a seeker. Its body is a :class:`Solid`."""

    number: int  # among the agents of the world, hiders first
    hider: bool
    holds: bool  # whether it has grabbed a body
    joint: wl.Ref(SOLID.Joint)  # to that body
    place: wl.vec2  # m, after the last step
    ahead: int = -1  # row of the body within reach, -1 for none
    ahead_distance: float  # m
    in_cone: int  # 1 << other for bodies ahead, and for those of them that are hidden, while the agent looks
    hidden: int
    visible: wl.Array(float, TARGETS)  # 1 for what it sees: other agents, boxes, ramps
    ways: wl.Transient(wl.Array(Frame, TARGETS))  # rays to bodies in the cone, see sight.look_past_obstacles
    frames: wl.Transient(wl.Array(Frame, MAX_MOVING))  # of bodies for rays of the lidar, see sight.body_frame
    places: wl.Transient(wl.Array(wl.vec4, MAX_MOVING))  # where these rays may meet bodies, see sight.lidar_place
    sides: wl.Transient(wl.Array(wl.vec2, 4, MAX_WALLS))  # of walls for these rays, see sight.scan_by_ray
    choose: wl.Action(wl.MultiDiscrete(11, 11, 11, 2, 2))  # x, y, turn (5 for none), grab, lock
    myself: wl.Observation(SELF_FEATURES)
    others: wl.Observation(OTHERS, AGENT_FEATURES, entities=True, mask="others_visible")
    boxes: wl.Observation(MAX_BOXES, BOX_FEATURES, entities=True, mask="boxes_visible")
    ramps: wl.Observation(MAX_RAMPS, RAMP_FEATURES, entities=True, mask="ramps_visible")
    others_visible: wl.Observation(OTHERS)
    boxes_visible: wl.Observation(MAX_BOXES)
    ramps_visible: wl.Observation(MAX_RAMPS)
    lidar: wl.Observation(RAYS)  # m, 0 for none
    all_positions: wl.Observation(MAX_AGENTS + MAX_BOXES + MAX_RAMPS, 2, critic=True)
    reward: wl.Reward
    agent_type: wl.Info(int)  # 0 seeker, 1 hider
    preparation_left: wl.Info(int)  # steps


class Hider(Agent):
    pass


class Seeker(Agent):
    pass
