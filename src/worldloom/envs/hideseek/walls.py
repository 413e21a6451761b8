"""Walls of a level: connections between parallel walls, and doors, in the unit square.

A wall is horizontal (orientation 0, at a height y from x = low to high) or vertical (orientation 1).
"""

import worldloom as wl
from worldloom.envs.hideseek.bodies import overlap
from worldloom.envs.hideseek.entities import EXTENT, WALL_HALF_WIDTH, Arena
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
def wall_between(world: Arena, orientation: int, first: int, second: int, low: float, high: float):
    """Whether a third parallel wall lies between two walls that overlap from ``low`` to ``high``."""
    line, beyond = world.wall_lines[orientation, first], world.wall_lines[orientation, second]
    found = False
    for k in range(world.wall_counts[orientation]):
        between = world.wall_lines[orientation, k]
        if between > min(line, beyond) and between < max(line, beyond):
            found |= max(world.wall_lows[orientation, k], low - MARGIN) < min(
                world.wall_highs[orientation, k], high + MARGIN
            )
    return found


@wl.function
def find_opposite(world: Arena, orientation: int, first: int, start: int):
    """A wall that can be connected with the first one, in cyclic order from ``start``; -1 for none."""
    count = world.wall_counts[orientation]
    first_low, first_high = world.wall_lows[orientation, first], world.wall_highs[orientation, first]
    found = -1
    for i in range(count - 1):
        other = (first + 1 + (start + i) % (count - 1)) % count
        other_low, other_high = world.wall_lows[orientation, other], world.wall_highs[orientation, other]
        shortest = min(first_high - first_low, other_high - other_low)
        low, high = max(first_low, other_low), min(first_high, other_high)
        if found < 0 and low < high and shortest >= MIN_LENGTHS[orientation]:
            blocked = wall_between(world, orientation, first, other, low, high)
            if not blocked:
                found = other
    return found


@wl.function
def add_wall(world: Arena, orientation: int, line: float, low: float, high: float):
    """Append a wall; its number among those of its orientation."""
    added = world.wall_counts[orientation]
    world.wall_lines[orientation, added] = line
    world.wall_lows[orientation, added] = low
    world.wall_highs[orientation, added] = high
    world.wall_counts[orientation] = added + 1
    return added


@wl.function
def split_wall(world: Arena, orientation: int, number: int, left: float, right: float):
    """Leave a wall up to ``left``, and add one from ``right`` to its end."""
    line, high = world.wall_lines[orientation, number], world.wall_highs[orientation, number]
    world.wall_highs[orientation, number] = left
    _added = add_wall(world, orientation, line, right, high)


@wl.function
def cut_door(world: Arena, orientation: int, number: int, width: float):
    """Cut a gap into a wall, at 30 to 70 % of its length without a door's width at both ends."""
    low, high = world.wall_lows[orientation, number], world.wall_highs[orientation, number]
    ratio = world.random(0.3, 0.7)
    centre = low + width + ratio * (high - low - 2.0 * width)
    left, right = max(centre - 0.5 * width, low), min(centre + 0.5 * width, high)
    world.doors[world.num_doors] = bounds(orientation, world.wall_lines[orientation, number], left, right, 0.0)
    world.num_doors += 1
    split_wall(world, orientation, number, left, right)


@wl.function
def connect_walls(world: Arena):
    """Connect two parallel walls by a perpendicular wall: its orientation and number, -1 where six tries fail."""
    orientation, first, second = 0, 0, -1
    added = -1
    tries = 0
    while second < 0 and tries < TRIES:
        tries += 1
        orientation = world.integer(2)
        count = world.wall_counts[orientation]
        first = world.integer(count)
        start = world.integer(max(count - 1, 1))
        second = find_opposite(world, orientation, first, start)
    if second >= 0:
        low = max(world.wall_lows[orientation, first], world.wall_lows[orientation, second])
        high = min(world.wall_highs[orientation, first], world.wall_highs[orientation, second])
        ratio = world.random(0.4, 0.6)
        place = low + ratio * (high - low)
        line, beyond = world.wall_lines[orientation, first], world.wall_lines[orientation, second]
        for parent in range(2):
            split_wall(world, orientation, first if parent == 0 else second, place, place)
        added = add_wall(world, 1 - orientation, place, min(line, beyond), max(line, beyond))
    return 1 - orientation, added


@wl.function
def choose_wall(world: Arena):
    """A random wall to cut a door into: its orientation and number, -1 where it is too short."""
    number = world.integer(world.wall_counts[0] + world.wall_counts[1])
    orientation = 0
    if number >= world.wall_counts[0]:
        orientation = 1
        number -= world.wall_counts[0]
    if world.wall_highs[orientation, number] - world.wall_lows[orientation, number] <= MIN_DOOR_WALL:
        number = -1
    return orientation, number


@wl.system(separate=True)
def build_walls(world: Arena):
    """The four sides, then connections and doors in random order."""
    for side in range(4):
        _added = add_wall(world, side % 2, float(side // 2), 0.0, 1.0)
    connections = 1 + world.integer(5)
    doors = 4 + world.integer(3)
    while connections + doors > 0:
        coin = world.integer(2)
        orientation, number = 0, -1
        width = DOOR
        if connections > 0 and (doors == 0 or coin == 0):
            connections -= 1
            width = CONNECTION_DOOR
            orientation, number = connect_walls(world)
        else:
            doors -= 1
            orientation, number = choose_wall(world)
        if number >= 0:
            cut_door(world, orientation, number, width)


@wl.system(separate=True)
def raise_walls(world: Arena):
    """Rectangles of all walls in the arena; those without length are left out, and those where bodies are packed."""
    world.num_walls = 0
    for orientation in range(2):
        for k in range(world.wall_counts[orientation]):
            low, high = world.wall_lows[orientation, k], world.wall_highs[orientation, k]
            if low < high:
                line = world.wall_lines[orientation, k]
                wall = bounds(orientation, line, low, high, WALL_HALF_WIDTH)
                if not (world.packed and overlap(wall, PILE)):
                    world.obstacles[world.num_walls] = wall
                    world.num_walls += 1
