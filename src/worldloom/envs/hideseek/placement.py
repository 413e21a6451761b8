"""Bodies of a level: boxes, ramps and agents at free places or packed, the floor and the walls."""

from math import pi

import worldloom as wl
from worldloom import physics
from worldloom.envs.hideseek.bodies import (
    AGENT,
    AGENT_MASS,
    BOX_MASS,
    CUBE,
    ELONGATED,
    FLOOR,
    FRICTIONS,
    RAMP,
    RAMP_MIDDLE,
    WALL,
    body_shape,
    footprint,
    half_size,
    overlap,
    start_height,
    yaw_rotation,
)
from worldloom.envs.hideseek.entities import (
    EXTENT,
    FREE,
    MAX_BOXES,
    MAX_OBSTACLES,
    MAX_RAMPS,
    MAX_TEAM,
    UNOWNABLE,
    WALL_HEIGHT,
    Arena,
    Hider,
    Seeker,
    Solid,
)
from worldloom.envs.hideseek.packing import PILE, advance, row_corner
from worldloom.physics.mass import bounding_radius

MAX_REJECTIONS = 20
"""After which a body may overlap others, but no wall."""
MAX_TRIES = 400
"""Places that are drawn for a body; a place without a wall is found long before."""


@wl.system(separate=True)
def place_bodies(world: Arena):
    world.num_boxes = min(world.integer(world.min_boxes, world.max_boxes + 1), MAX_BOXES)
    elongated = min(world.integer(world.min_elongated, world.num_boxes), world.num_boxes)
    world.first_agent = world.num_boxes + wl.clamp(world.ramps, 0, MAX_RAMPS)
    world.num_agents = wl.clamp(world.hiders, 0, MAX_TEAM) + wl.clamp(world.seekers, 0, MAX_TEAM)
    world.forced_placements = 0
    world.clock = 0
    obstacles = world.num_walls
    corner = wl.vec3(PILE[0], PILE[1], 0.0)
    for number in range(world.first_agent + world.num_agents):
        kind = ELONGATED
        if number >= world.first_agent:
            kind = AGENT
        elif number >= world.num_boxes:
            kind = RAMP
        elif number >= elongated:
            kind = CUBE
        half = half_size(kind)
        x, y, yaw = 0.0, 0.0, 0.0
        tries = 0
        blocked = True
        if world.packed:
            corner = row_corner(corner, half, world.pile_gap)
            x, y = corner.x + half.x, corner.y + half.y
            if kind == RAMP:
                y -= RAMP_MIDDLE
            if kind == AGENT:
                yaw = 0.5 * pi * float(world.integer(4))
            corner = advance(corner, half, world.pile_gap)
            blocked = False
        while blocked and tries < MAX_TRIES:
            tries += 1
            x, y = world.random(-EXTENT, EXTENT), world.random(-EXTENT, EXTENT)
            yaw = world.random(0.0, pi)
            rectangle = footprint(kind, x, y, yaw)
            blocked = False
            for k in range(obstacles if tries <= MAX_REJECTIONS else world.num_walls):
                if overlap(rectangle, world.obstacles[k]):
                    blocked = True
                    break
        if tries > MAX_REJECTIONS:
            world.forced_placements += 1
        if kind != AGENT:
            world.obstacles[wl.clamp(obstacles, 0, MAX_OBSTACLES - 1)] = footprint(kind, x, y, yaw)
            obstacles += 1
        world.spawn(
            Solid,
            shape=body_shape(kind),
            size=half,
            position=wl.vec3(x, y, start_height(kind)),
            place=wl.vec2(x, y),
            rotation=yaw_rotation(yaw),
            radius=bounding_radius(body_shape(kind), half),
            mass=AGENT_MASS if kind == AGENT else BOX_MASS,
            angular_factor=wl.vec3(0.0, 0.0, 1.0) if kind == AGENT else wl.vec3(1.0, 1.0, 1.0),
            friction=FRICTIONS[kind],
            owner=UNOWNABLE if kind == AGENT else FREE,
        )
    world.spawn(Solid, shape=physics.PLANE, motion=physics.STATIC, friction=FRICTIONS[FLOOR])
    for k in range(world.num_walls):
        wall = world.obstacles[k]
        world.spawn(
            Solid,
            shape=physics.BOX,
            motion=physics.STATIC,
            size=0.5 * wl.vec3(wall[2] - wall[0], wall[3] - wall[1], WALL_HEIGHT),
            position=0.5 * wl.vec3(wall[0] + wall[2], wall[1] + wall[3], WALL_HEIGHT),
            friction=FRICTIONS[WALL],
        )


@wl.system
def enter_agents(world: Arena):
    for number in range(world.num_agents):
        position = world.at(Solid, world.first_agent + number).position
        place = wl.vec2(position.x, position.y)
        if number < world.hiders:
            world.spawn(Hider, number=number, hider=True, place=place)
        else:
            world.spawn(Seeker, number=number, place=place)
