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
    CANDIDATES,
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
    Level,
    Seeker,
    Solid,
)
from worldloom.envs.hideseek.packing import PILE, advance, row_corner
from worldloom.envs.hideseek.walls import build_walls, raise_walls
from worldloom.physics.mass import bounding_radius

MAX_REJECTIONS = 20
"""After which a body may overlap others, but no wall."""
MAX_REJECTIONS_OF_WALLS = 352
"""After which a body may overlap walls too; a place without a wall is found long before."""


@wl.function
def body_kind(number: int, elongated: int, boxes: int, first_agent: int) -> int:
    """The kind of a body that moves, by its row."""
    if number >= first_agent:
        return AGENT
    if number >= boxes:
        return RAMP
    return CUBE if number >= elongated else ELONGATED


@wl.function
def is_blocked(world: Arena, level: Level, rectangle: wl.vec4, obstacles: int):
    """Whether a rectangle overlaps one of the first obstacles."""
    blocked = False
    for k in range(wl.clamp(obstacles, 0, MAX_OBSTACLES)):
        overlaps = overlap(rectangle, level.obstacles[k])  # loaded in any case, so that loads do not wait for tests
        blocked |= overlaps
    return blocked


@wl.system(threads=32, separate=True)
def build_level(level: Level, world: Arena):
    """Walls, then bodies at free places. A warp of a GPU tests walls that may be connected, and places of a body."""
    build_walls(world, level)
    raise_walls(world, level)
    level.num_boxes = min(world.integer(world.min_boxes, world.max_boxes + 1), MAX_BOXES)
    elongated = min(world.integer(world.min_elongated, level.num_boxes), level.num_boxes)
    first_agent = level.num_boxes + wl.clamp(world.ramps, 0, MAX_RAMPS)
    agents = wl.clamp(world.hiders, 0, MAX_TEAM) + wl.clamp(world.seekers, 0, MAX_TEAM)
    level.forced_placements = 0
    obstacles = level.num_walls
    corner = wl.vec3(PILE[0], PILE[1], 0.0)
    for number in range(first_agent + agents):
        kind = body_kind(number, elongated, level.num_boxes, first_agent)
        half = half_size(kind)
        x, y, yaw = 0.0, 0.0, 0.0
        if world.packed:
            corner = row_corner(corner, half, world.pile_gap)
            x, y = corner.x + half.x, corner.y + half.y
            if kind == RAMP:
                y -= RAMP_MIDDLE
            if kind == AGENT:
                yaw = 0.5 * pi * float(world.integer(4))
            corner = advance(corner, half, world.pile_gap)
        else:
            level.chosen = CANDIDATES
            rejections = -CANDIDATES
            while level.chosen == CANDIDATES and rejections < MAX_REJECTIONS_OF_WALLS:
                rejections += CANDIDATES
                for i in wl.share(CANDIDATES):  # places that are tested at the same time, of which the first is taken
                    at_x, at_y = world.random(-EXTENT, EXTENT), world.random(-EXTENT, EXTENT)
                    turned = world.random(0.0, pi)
                    rectangle = footprint(kind, at_x, at_y, turned)
                    tested = obstacles if rejections + i < MAX_REJECTIONS else level.num_walls
                    blocked = is_blocked(world, level, rectangle, tested)
                    level.candidates[i] = wl.vec4(at_x, at_y, turned, 0.0)
                    if not blocked:
                        level.chosen = min(level.chosen, i)
            found = level.candidates[wl.clamp(level.chosen, 0, CANDIDATES - 1)]
            x, y, yaw = found[0], found[1], found[2]
            if rejections + level.chosen >= MAX_REJECTIONS:
                level.forced_placements += 1
        if kind != AGENT:
            level.obstacles[wl.clamp(obstacles, 0, MAX_OBSTACLES - 1)] = footprint(kind, x, y, yaw)
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
    for k in range(level.num_walls):
        wall = level.obstacles[k]
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
    """Note the numbers of the level, and spawn agents at their bodies."""
    level = world.at(Level, 0)
    world.num_walls, world.num_doors = level.num_walls, level.num_doors
    world.num_boxes, world.forced_placements = level.num_boxes, level.forced_placements
    world.first_agent = world.num_boxes + wl.clamp(world.ramps, 0, MAX_RAMPS)
    world.num_agents = wl.clamp(world.hiders, 0, MAX_TEAM) + wl.clamp(world.seekers, 0, MAX_TEAM)
    world.clock = 0
    for number in range(world.num_agents):
        position = world.at(Solid, world.first_agent + number).position
        place = wl.vec2(position.x, position.y)
        if number < world.hiders:
            world.spawn(Hider, number=number, hider=True, place=place)
        else:
            world.spawn(Seeker, number=number, place=place)
