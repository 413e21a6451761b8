"""Entities of Escape Room, the configuration of a level, and the rows of its bodies."""

import math

import numpy as np

import worldloom as wl
from worldloom import physics

NUM_AGENTS = 2
NUM_ROOMS = 3
NUM_BUTTONS = 2
"""Buttons of a room; a room with a single button does not use its second one."""
MAX_CUBES = 3
"""Cubes of a room."""

# Types of what an agent observes.
NONE, BUTTON, CUBE, WALL, AGENT, DOOR = range(6)
NUM_TYPES = 6

# Kinds of rooms.
SINGLE_BUTTON, DOUBLE_BUTTON, CUBE_BLOCKING, CUBE_BUTTONS = range(4)
NUM_ROOM_KINDS = 4
RANDOM_ROOM = -1

# Rows of the table of bodies.
FLOOR_ROW = 0
FIRST_AGENT = 1
FIRST_BORDER = FIRST_AGENT + NUM_AGENTS
"""The wall behind the agents, then the right and the left wall."""
NUM_BORDERS = 3
FIRST_END_WALL = FIRST_BORDER + NUM_BORDERS
"""Of every room the wall to the left of its door, the wall to the right, and the door."""
FIRST_CUBE = FIRST_END_WALL + 3 * NUM_ROOMS
NUM_BODIES = FIRST_CUBE + MAX_CUBES * NUM_ROOMS
NUM_UPRIGHT = FIRST_CUBE - FIRST_BORDER
"""Boxes with world axes: borders, end walls and doors."""
NUM_TURNED = NUM_AGENTS + MAX_CUBES * NUM_ROOMS
"""Boxes that can turn: agents and cubes."""

# Places of an observation.
SELF = 0
PARTNER = 8
ROOM_ENTITIES = 11
MAX_ROOM_ENTITIES = 6
ROOM_DOOR = 29
LIDAR_DEPTH = 32
LIDAR_RAYS = 30
LIDAR_TYPE = 62
STEPS_LEFT = 92
AGENT_ID = 93
NUM_OBSERVED = 94

Frame = wl.vec(12)  # 48 bytes, which a GPU moves in three pieces
FULL_CIRCLE = [2.0 * math.pi * ray / LIDAR_RAYS for ray in range(LIDAR_RAYS)]


class Level(physics.World):
    """Configuration; lengths in m, and y is the direction of progress."""

    dt: wl.Config = 0.04  # s
    contact_frequency: wl.Config = 25.0  # Hz, the highest with four substeps
    joint_frequency: wl.Config = 25.0  # Hz, of the joints by which agents hold cubes
    heavy_load: wl.Config = 1.0e30  # off: agents of 1 kg push walls with up to 1,000 N
    max_depth: wl.Config = 1.0e30  # off: with that force they press into others
    first_room: wl.Config = DOUBLE_BUTTON  # kind of the room; RANDOM_ROOM draws one for every episode
    second_room: wl.Config = CUBE_BLOCKING
    third_room: wl.Config = CUBE_BUTTONS
    room_length: wl.Config = 40.0 / 3.0
    width: wl.Config = 20.0  # of the rooms
    wall_thickness: wl.Config = 1.0
    border_height: wl.Config = 5.0
    end_wall_height: wl.Config = 4.375  # also of the door
    door_gap: wl.Config = 20.0 / 3.0  # width of the gap in the end wall
    door_fill: wl.Config = 0.8  # width of the door as a fraction of the gap
    door_margin: wl.Config = 0.75  # least distance of its centre from the borders, in widths of the gap
    door_speed: wl.Config = 30.0  # m/s
    door_depth: wl.Config = 4.5  # by which an open door is lowered
    button_width: wl.Config = 1.3
    button_height: wl.Config = 0.25
    cube_half: wl.Config = 1.5  # half of a side
    cube_mass: wl.Config = 1.0 / 0.075  # kg
    cube_friction: wl.Config = 0.75
    floor_friction: wl.Config = 0.5
    wall_friction: wl.Config = 0.5
    agent_half: wl.Config = 1.0  # half of the width and of the height
    agent_mass: wl.Config = 1.0  # kg
    agent_friction: wl.Config = 0.5
    spawn_depth: wl.Config = 2.0  # largest y of an agent at the start
    spawn_yaw: wl.Config = math.pi / 8.0  # rad, largest yaw at the start
    move_force: wl.Config = 1000.0  # N, of the largest amount
    turn_torque: wl.Config = 320.0  # N m, of the largest turn
    eye_height: wl.Config = 0.5  # of rays above the feet of an agent
    grab_reach: wl.Config = 2.0  # length of the ray of a grab
    lidar_range: wl.Config = 200.0
    lidar_rays: wl.Config = np.array([(math.cos(angle), math.sin(angle)) for angle in FULL_CIRCLE], np.float32)
    reward_per_distance: wl.Config = 0.05  # per m of progress
    slack_reward: wl.Config = -0.005  # of a step without progress
    partner_bonus: wl.Config = 1.25  # factor of a positive reward if the partner is as far
    partner_distance: wl.Config = 2.0  # largest difference of progress for the bonus
    progress_limit: wl.Config = 80.0  # largest y that counts as progress


class Body(physics.Body):
    """Floor, walls, doors, cubes and agents."""

    type: int  # what agents observe: NONE, CUBE, WALL, AGENT or DOOR


class Room(wl.Entity):
    """One of the rooms in a row, in the order of progress."""

    kind: int
    door_x: float  # centre of the door
    num_buttons: int
    num_cubes: int
    stays_open: bool  # whether the door stays open once it has opened
    is_open: bool


class Button(wl.Entity):
    """Buttons ``NUM_BUTTONS * r`` and following are those of room r."""

    position: wl.vec2
    is_pressed: bool


SOLID = physics.systems(Level, Body, shapes=(physics.PLANE, physics.BOX))


class Agent(wl.Entity):
    """A player; its body is row ``FIRST_AGENT + id`` of the table of bodies."""

    act: wl.Action(wl.MultiDiscrete(4, 8, 5, 2))  # amount of force, its direction, turn, grab or release
    max_y: float  # progress so far
    hold: wl.Ref(SOLID.Joint)  # to the body that it grabbed
    is_grabbing: bool
    # Boxes relative to the eye, for the rays of the lidar: rectangles (x, y to x, y) of boxes with world axes; spheres
    # about turned boxes (x and y of the eye from the centre, distance^2 - radius^2, radius^2); their frames (the
    # world's x axis, its y axis and the eye, each with a half extent).
    outlines: wl.Persistent(wl.Array(wl.vec4, NUM_UPRIGHT))
    spheres: wl.Persistent(wl.Array(wl.vec4, NUM_TURNED))
    frames: wl.Persistent(wl.Array(Frame, NUM_TURNED))
    sight: wl.Observation(NUM_OBSERVED)
    reward: wl.Reward
    rooms_passed: wl.Info(float, metric=True)  # rooms that both agents have left by their doors
    escaped: wl.Info(float, metric=True)  # 1 if both have left all rooms, else 0
