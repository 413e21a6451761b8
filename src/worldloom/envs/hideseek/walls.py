"""Walls of a level: connections between parallel walls, and doors, in the unit square.

A wall is horizontal (orientation 0, at a height y from x = low to high) or vertical (orientation 1).
"""

import worldloom as wl
from worldloom.envs.hideseek.entities import EXTENT, WALL_HALF_WIDTH, Arena

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


@wl.system
def build_walls(world: Arena):
    for side in range(4):
        world.wall_lines[side % 2, side // 2] = float(side // 2)
        world.wall_lows[side % 2, side // 2] = 0.0
        world.wall_highs[side % 2, side // 2] = 1.0
    world.wall_counts[0] = 2
    world.wall_counts[1] = 2
    world.num_doors = 0
    connections = 1 + world.integer(5)
    doors = 4 + world.integer(3)
    while connections + doors > 0:
        coin = world.integer(2)
        cut_orientation, cut = 0, -1
        width = DOOR
        if connections > 0 and (doors == 0 or coin == 0):
            connections -= 1
            width = CONNECTION_DOOR
            orientation, first, second = 0, 0, -1
            for attempt in range(TRIES):
                turn = world.integer(2)
                count = world.wall_counts[turn]
                candidate = world.integer(count)
                start = world.integer(max(count - 1, 1))
                if second < 0:
                    orientation, first = turn, candidate
                    line = world.wall_lines[turn, first]
                    for i in range(count - 1):
                        other = (first + 1 + (start + i) % (count - 1)) % count
                        low = max(world.wall_lows[turn, first], world.wall_lows[turn, other])
                        high = min(world.wall_highs[turn, first], world.wall_highs[turn, other])
                        shortest = min(
                            world.wall_highs[turn, first] - world.wall_lows[turn, first],
                            world.wall_highs[turn, other] - world.wall_lows[turn, other],
                        )
                        if second < 0 and low < high and shortest >= MIN_LENGTHS[turn]:
                            beyond = world.wall_lines[turn, other]
                            clear = True
                            for k in range(count):
                                between = world.wall_lines[turn, k]
                                if (
                                    between > min(line, beyond)
                                    and between < max(line, beyond)
                                    and max(world.wall_lows[turn, k], low - MARGIN)
                                    < min(world.wall_highs[turn, k], high + MARGIN)
                                ):
                                    clear = False
                            if clear:
                                second = other
            if second >= 0:
                low = max(world.wall_lows[orientation, first], world.wall_lows[orientation, second])
                high = min(world.wall_highs[orientation, first], world.wall_highs[orientation, second])
                place = low + world.random(0.4, 0.6) * (high - low)
                # The new wall, then the second halves of both parents.
                cut_orientation = 1 - orientation
                cut = world.wall_counts[cut_orientation]
                from_line, to_line = world.wall_lines[orientation, first], world.wall_lines[orientation, second]
                world.wall_lines[cut_orientation, cut] = place
                world.wall_lows[cut_orientation, cut] = min(from_line, to_line)
                world.wall_highs[cut_orientation, cut] = max(from_line, to_line)
                world.wall_counts[cut_orientation] = cut + 1
                for half in range(2):
                    parent = first if half == 0 else second
                    piece = world.wall_counts[orientation]
                    world.wall_lines[orientation, piece] = world.wall_lines[orientation, parent]
                    world.wall_lows[orientation, piece] = place
                    world.wall_highs[orientation, piece] = world.wall_highs[orientation, parent]
                    world.wall_highs[orientation, parent] = place
                    world.wall_counts[orientation] = piece + 1
        else:
            doors -= 1
            chosen = world.integer(world.wall_counts[0] + world.wall_counts[1])
            if chosen >= world.wall_counts[0]:
                cut_orientation = 1
                chosen -= world.wall_counts[0]
            if world.wall_highs[cut_orientation, chosen] - world.wall_lows[cut_orientation, chosen] > MIN_DOOR_WALL:
                cut = chosen
        ratio = world.random(0.3, 0.7)
        if cut >= 0:
            low = world.wall_lows[cut_orientation, cut]
            high = world.wall_highs[cut_orientation, cut]
            centre = low + width + ratio * (high - low - 2.0 * width)
            left, right = max(centre - 0.5 * width, low), min(centre + 0.5 * width, high)
            line = world.wall_lines[cut_orientation, cut]
            world.wall_highs[cut_orientation, cut] = left
            piece = world.wall_counts[cut_orientation]
            world.wall_lines[cut_orientation, piece] = line
            world.wall_lows[cut_orientation, piece] = right
            world.wall_highs[cut_orientation, piece] = high
            world.wall_counts[cut_orientation] = piece + 1
            world.doors[world.num_doors] = bounds(cut_orientation, line, left, right, 0.0)
            world.num_doors += 1


@wl.system
def raise_walls(world: Arena):
    """Rectangles of all walls in the arena; walls without length are left out."""
    world.num_walls = 0
    for orientation in range(2):
        for k in range(world.wall_counts[orientation]):
            low, high = world.wall_lows[orientation, k], world.wall_highs[orientation, k]
            if low < high:
                line = world.wall_lines[orientation, k]
                world.obstacles[world.num_walls] = bounds(orientation, line, low, high, WALL_HALF_WIDTH)
                world.num_walls += 1
