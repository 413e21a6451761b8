"""Observations of Tag on a grid: the nearest opponent, or all players."""

import worldloom as wl
from worldloom.core.frontend.system import System

OFF = -1
"""Both coordinates of a runner that has left the game."""
NOBODY = 2**31 - 1
"""The squared distance where no opponent is in the game."""
FAR = 2**30
"""Added to the squared distance of runners tagged in this step, so that any other runner in the game comes first."""
CROWD = 64
"""A player checks up to this many opponents itself: two more systems cost a small world more than the loop."""

Six = wl.vec(6)


@wl.function
def away(dx: int, dy: int, tagged: bool) -> int:
    """The squared distance by which the nearest opponent is chosen."""
    return dx**2 + dy**2 + (FAR if tagged else 0)


@wl.function
def time_of(step: int, limit: int) -> float:
    """The elapsed fraction of the episode; 0 without a step limit."""
    return float(step) / float(limit) if limit > 0 else 0.0


@wl.function
def told(x: int, y: int, target_x: int, target_y: int, role: float, side: int, step: int, limit: int):
    """The observation of one player and its nearest opponent."""
    length = float(side)
    return Six(
        float(x) / length,
        float(y) / length,
        float(target_x) / length,
        float(target_y) / length,
        role,
        time_of(step, limit),
    )


def observe_nearest_systems(
    kind, opponent, grid, role: float, players: int, others: int
) -> tuple[list[System], System]:
    """Systems of the observation of the nearest opponent; ``role`` is 0 for a tagger and 1 for a runner.

    The more numerous kind does the work: opponents report distances to players that are outnumbered by a crowd.

    Returns:
        The systems that find the opponent after every move, if any, and the system that writes the observation.
    """
    if others <= CROWD or players >= others:
        return [], _look_system(kind, opponent, grid, role)
    return _report_systems(kind, opponent, grid, others), _look_at_found_system(kind, opponent, grid, role, others)


def _look_system(kind, opponent, grid, role: float) -> System:
    """Every player checks all opponents."""

    @wl.system
    def look(player: kind, world: grid):
        nearest, x, y = NOBODY, OFF, OFF
        for other in world.all(opponent):
            distance = away(other.x - player.x, other.y - player.y, other.tagged)
            if other.x != OFF and distance < nearest:
                nearest, x, y = distance, other.x, other.y
        player.sight = told(player.x, player.y, x, y, role, world.grid_length, world.clock, world.max_steps)

    return look


def _report_systems(kind, opponent, grid, others: int) -> list[System]:
    """Every opponent reports its distance to all players. Of equal distances the lowest id wins."""

    @wl.system
    def look_around(player: kind):
        player.nearest = wl.int64(NOBODY) * others

    @wl.system
    def come_near(other: opponent, world: grid):
        for player in world.all(kind):
            distance = away(other.x - player.x, other.y - player.y, other.tagged) if other.x != OFF else NOBODY
            player.nearest = min(player.nearest, wl.int64(distance) * others + other.id)

    return [look_around, come_near]


def _look_at_found_system(kind, opponent, grid, role: float, others: int) -> System:
    """Every player observes the opponent that :func:`_report_systems` found."""

    @wl.system
    def look_at_found(player: kind, world: grid):
        x, y = OFF, OFF
        if player.nearest // others < NOBODY:
            other = world.at(opponent, int(player.nearest % others))
            x, y = other.x, other.y
        player.sight = told(player.x, player.y, x, y, role, world.grid_length, world.clock, world.max_steps)

    return look_at_found


def board_system(board_kind, tagger_kind, runner_kind, grid, taggers: int, runners: int) -> System:
    """Writes the part that all observations of a world share once, in one contiguous array to copy from."""
    players = taggers + runners

    @wl.system(threads="auto")
    def set_up(board: board_kind, world: grid):
        for who in wl.share(taggers):
            board.seen[who] = float(world.at(tagger_kind, who).x) / float(world.grid_length)
            board.seen[players + who] = float(world.at(tagger_kind, who).y) / float(world.grid_length)
        for who in wl.share(runners):
            board.seen[taggers + who] = float(world.at(runner_kind, who).x) / float(world.grid_length)
            board.seen[players + taggers + who] = float(world.at(runner_kind, who).y) / float(world.grid_length)

    return set_up


def observe_all_systems(kind, first: int, board_kind, grid, taggers: int, runners: int) -> tuple[System, System]:
    """Systems of the full observation: all x, all y, all roles, the player's own index (one-hot), and the time.

    Args:
        kind: The kind of player.
        first: The index of the first player of this kind.
        board_kind: The kind with the shared part.
        grid: The world class.
        taggers: Taggers per world.
        runners: Runners per world.

    Returns:
        The system that writes the constant part at a reset, and the system that writes the rest at every step.
    """
    players = taggers + runners

    @wl.system
    def introduce(player: kind):
        for who in range(runners):
            player.sight[2 * players + taggers + who] = 1.0
        player.sight[3 * players + first + player.id] = 1.0

    @wl.system(threads="auto")
    def look(player: kind, world: grid):
        for place in wl.share(2 * players):
            player.sight[place] = world.at(board_kind, 0).seen[place]
        player.sight[4 * players] = time_of(world.clock, world.max_steps)

    return introduce, look
