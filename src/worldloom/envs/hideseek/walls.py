"""Walls of a level: connections between parallel walls, and doors, in the unit square.

A wall is horizontal (orientation 0, at a height y from x = low to high) or vertical (orientation 1).
"""

import worldloom as wl
from worldloom.envs.hideseek.bodies import overlap
from worldloom.envs.hideseek.entities import EXTENT, MAX_PARALLEL, WALL_HALF_WIDTH, Arena, Level
from worldloom.envs.hideseek.packing import PILE

MIN_LENGTHS = wl.vec2(0.3, 0.5)
"""Shortest walls of each orientation that are connected."""
MARGIN = 0.1
"""By which the overlap of two walls is extended in the search for a third between them."""
TRIES = 6
CONNECTION_DOOR = 0.1
DOOR = 0.2
MIN_DOOR_WALL = 0.6


@wl.function
def metres(place: float) -> float:
    """A coordinate of the unit square in the arena."""
    return (2.0 * place - 1.0) * EXTENT


@wl.function
def bounds(orientation: int, line: float, low: float, high: float, margin: float) -> wl.vec4:
    """The rectangle about a wall or a gap in the arena, in metres: lower x and y, upper x and y."""
    if orientation == 0:
        return wl.vec4(metres(low), metres(line) - margin, metres(high), metres(line) + margin)
    return wl.vec4(metres(line) - margin, metres(low), metres(line) + margin, metres(high))


@wl.function
def wall_count(counts: wl.vec2i, orientation: int) -> int:
    """The walls of an orientation."""
    return counts[0] if orientation == 0 else counts[1]


@wl.function
def wall_between(world: Arena, level: Level, orientation: int, first: wl.vec4, second: wl.vec4):
    """Whether a third parallel wall lies between two walls, near what overlaps of them."""
    lower, upper = min(first[0], second[0]), max(first[0], second[0])
    low, high = max(first[1], second[1]) - MARGIN, min(first[2], second[2]) + MARGIN
    count = wall_count(level.counts, orientation)
    found = False
    for k in range(MAX_PARALLEL):
        wall = level.walls[wl.clamp(orientation, 0, 1), k]
        between = wall[0] > lower and wall[0] < upper and max(wall[1], low) < min(wall[2], high)
        found |= between and k < count
    return found


@wl.function
def opposite_number(first: int, choice: int, others: int) -> int:
    """The number of a wall by its place after the first one in cyclic order; ``choice`` is below twice ``others``."""
    number = first + 1 + (choice if choice < others else choice - others)
    return number if number <= others else number - others - 1


@wl.function
def find_opposite(world: Arena, level: Level, orientation: int, first: int, start: int):
    """A wall that can be connected with the first one, in cyclic order from ``start``; -1 for none."""
    others = wall_count(level.counts, orientation) - 1
    wall = level.walls[wl.clamp(orientation, 0, 1), first]
    level.chosen = MAX_PARALLEL
    for i in wl.share(MAX_PARALLEL - 1):
        if i < others:
            other = level.walls[wl.clamp(orientation, 0, 1), opposite_number(first, start + i, others)]
            shortest = min(wall[2] - wall[1], other[2] - other[1])
            if max(wall[1], other[1]) < min(wall[2], other[2]) and shortest >= MIN_LENGTHS[orientation]:
                blocked = wall_between(world, level, orientation, wall, other)
                if not blocked:
                    level.chosen = min(level.chosen, i)
    return opposite_number(first, start + level.chosen, others) if level.chosen < MAX_PARALLEL else -1


@wl.function
def add_wall(world: Arena, level: Level, orientation: int, line: float, low: float, high: float):
    """Append a wall; its number among those of its orientation."""
    added = wall_count(level.counts, orientation)
    level.walls[wl.clamp(orientation, 0, 1), added] = wl.vec4(line, low, high, 0.0)
    level.counts += wl.vec2i(1 - orientation, orientation)
    return added


@wl.function
def split_wall(world: Arena, level: Level, orientation: int, number: int, left: float, right: float):
    """Leave a wall up to ``left``, and add one from ``right`` to its end."""
    wall = level.walls[wl.clamp(orientation, 0, 1), number]
    level.walls[wl.clamp(orientation, 0, 1), number] = wl.vec4(wall[0], wall[1], left, 0.0)
    _added = add_wall(world, level, orientation, wall[0], right, wall[2])


@wl.function
def cut_door(world: Arena, level: Level, orientation: int, number: int, width: float):
    """Cut a gap into a wall, at 30 to 70 % of its length without a door's width at both ends."""
    wall = level.walls[wl.clamp(orientation, 0, 1), number]
    low, high = wall[1], wall[2]
    ratio = world.random(0.3, 0.7)
    centre = low + width + ratio * (high - low - 2.0 * width)
    left, right = max(centre - 0.5 * width, low), min(centre + 0.5 * width, high)
    level.doors[level.num_doors] = bounds(orientation, wall[0], left, right, 0.0)
    level.num_doors += 1
    split_wall(world, level, orientation, number, left, right)


@wl.function
def connect_walls(world: Arena, level: Level):
    """Connect two parallel walls by a perpendicular wall: its orientation and number, -1 where six tries fail."""
    orientation, first, second = 0, 0, -1
    added = -1
    tries = 0
    while second < 0 and tries < TRIES:
        tries += 1
        orientation = world.integer(2)
        count = wall_count(level.counts, orientation)
        first = world.integer(count)
        start = world.integer(max(count - 1, 1))
        second = find_opposite(world, level, orientation, first, start)
    if second >= 0:
        wall, other = level.walls[orientation, first], level.walls[orientation, second]
        low, high = max(wall[1], other[1]), min(wall[2], other[2])
        ratio = world.random(0.4, 0.6)
        place = low + ratio * (high - low)
        for parent in range(2):
            split_wall(world, level, orientation, first if parent == 0 else second, place, place)
        added = add_wall(world, level, 1 - orientation, place, min(wall[0], other[0]), max(wall[0], other[0]))
    return 1 - orientation, added


@wl.function
def choose_wall(world: Arena, level: Level):
    """A random wall to cut a door into: its orientation and number, -1 where it is too short."""
    number = world.integer(level.counts[0] + level.counts[1])
    orientation = 0
    if number >= level.counts[0]:
        orientation = 1
        number -= level.counts[0]
    wall = level.walls[orientation, number]
    if wall[2] - wall[1] <= MIN_DOOR_WALL:
        number = -1
    return orientation, number


@wl.function
def build_walls(world: Arena, level: Level):
    """The four sides, then connections and doors in random order."""
    level.counts = wl.vec2i(0, 0)
    level.num_doors = 0
    for side in range(4):
        _added = add_wall(world, level, side % 2, float(side // 2), 0.0, 1.0)
    connections = 1 + world.integer(5)
    doors = 4 + world.integer(3)
    while connections + doors > 0:
        coin = world.integer(2)
        orientation, number = 0, -1
        width = DOOR
        if connections > 0 and (doors == 0 or coin == 0):
            connections -= 1
            width = CONNECTION_DOOR
            orientation, number = connect_walls(world, level)
        else:
            doors -= 1
            orientation, number = choose_wall(world, level)
        if number >= 0:
            cut_door(world, level, orientation, number, width)


@wl.function
def raise_walls(world: Arena, level: Level):
    """Rectangles of all walls in the arena; those without length are left out, and those where bodies are packed."""
    level.num_walls = 0
    for orientation in range(2):
        for k in range(wall_count(level.counts, orientation)):
            wall = level.walls[orientation, k]
            if wall[1] < wall[2]:
                rectangle = bounds(orientation, wall[0], wall[1], wall[2], WALL_HALF_WIDTH)
                if not (world.packed and overlap(rectangle, PILE)):
                    level.obstacles[level.num_walls] = rectangle
                    level.num_walls += 1
