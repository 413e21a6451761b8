"""TagGrid: taggers chase runners over the cells of a square grid."""

import enum
from math import inf

import numpy as np

import worldloom as wl
from worldloom import clamp
from worldloom.core.frontend.system import System
from worldloom.envs.tag.rendering import Image, render_board

STAY, RIGHT, LEFT, UP, DOWN = range(5)
OFF = -1
"""Both coordinates of a runner that has left."""
MAX_GRID_LENGTH = 20_000
NOBODY = 2**31 - 1
FAR = 2**30
"""Added to the squared distance of a runner that was tagged in this step, so that it is looked at only where nobody else is in the game."""
FEW = 64
"""Opponents that one thread looks through; more of them are shared by several threads, unless the players are many themselves."""
MANY = 256
SOUGHT = 2
"""Players for whom each of many opponents says how near it is as soon as it has moved; more of them look for themselves."""
LONGEST_PLAIN = 64
"""Numbers that one thread writes at every step; more are written by a warp, whose lanes write neighbouring numbers."""


class Start(enum.IntEnum):
    """Where an episode begins."""

    RANDOM = 0  # everybody anywhere
    PUBLISHED = 1  # taggers in the middle, runners in the corner (0, 0)
    INNER = 2  # taggers anywhere but at the lower and upper edges, runners in the corner (0, 0)


Six = wl.vec(6)


def grid_tag(
    id: str = "TagGridOf-v0",
    *,
    taggers: int = 10,
    runners: int = 1,
    full_observation: bool = True,
    grid_length: int = 10,
    episode_length: int = 100,
    wall_hit_penalty: float = 0.1,
    tag_reward_for_tagger: float = 10.0,
    tag_penalty_for_runner: float = 2.0,
    step_cost_for_tagger: float = 0.01,
    start: Start = Start.RANDOM,
) -> wl.Definition:
    """Register Tag on a grid as ``id`` and return its definition.

    Only the numbers of players and the form of the observation are fixed; the rest is the first value of a configuration.

    Args:
        id: Its name.
        taggers: Taggers in a world.
        runners: Runners in a world.
        full_observation: Whether everybody sees everybody, 4 x players + 1 numbers, or only the nearest opponent, 6 numbers.
        grid_length: The largest coordinate of a cell; a side has ``grid_length + 1`` cells.
        episode_length: Steps after which an episode is truncated, 0 for none (the configuration ``max_steps``).
        wall_hit_penalty: What running into a wall costs.
        tag_reward_for_tagger: What every tagger gets for each runner that is tagged.
        tag_penalty_for_runner: What being tagged costs.
        step_cost_for_tagger: What a step in which nobody is tagged costs each tagger, and brings each runner.
        start: Where an episode begins.
    """
    for name, count, least in (
        ("taggers", taggers, 1),
        ("runners", runners, 1),
        ("grid_length", grid_length, 1),
        ("episode_length", episode_length, 0),
    ):
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise wl.InputError(f"Tag on a grid cannot have {name}={count!r}; give a whole number from {least}")
    if start not in list(Start):
        raise wl.InputError(
            f"Tag on a grid cannot begin with start={start!r}; give one of {', '.join(f'Start.{one.name}' for one in Start)}"
        )
    if grid_length > MAX_GRID_LENGTH:
        raise wl.InputError(
            f"Tag on a grid has coordinates up to {MAX_GRID_LENGTH:,}, not {grid_length:,}: squares of distances would not fit"
        )
    for name, value in (
        ("wall_hit_penalty", wall_hit_penalty),
        ("tag_reward_for_tagger", tag_reward_for_tagger),
        ("tag_penalty_for_runner", tag_penalty_for_runner),
        ("step_cost_for_tagger", step_cost_for_tagger),
    ):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise wl.InputError(f"{name} of Tag on a grid is a number, not {value!r}")
    players = taggers + runners
    length = 4 * players + 1 if full_observation else 6
    side, bump, prize, fine, cost, first = (
        grid_length,
        wall_hit_penalty,
        tag_reward_for_tagger,
        tag_penalty_for_runner,
        step_cost_for_tagger,
        int(start),
    )

    class Player(wl.Entity):
        x: int  # 0 to grid_length, or OFF
        y: int
        tagged: bool  # only ever a runner
        nearest: wl.int64  # which opponent is nearest, where several threads find it: squared distance x opponents + id
        move: wl.Action(wl.Discrete(5))  # 0 stay, 1 x + 1, 2 x - 1, 3 y + 1, 4 y - 1
        sight: wl.Observation(length)
        reward: wl.Reward

    class Tagger(Player):
        pass

    class Runner(Player):
        pass

    class Board(wl.Entity):
        seen: wl.Array(float, 2 * players)  # where everybody is, in parts of grid_length: all x, then all y

    class Grid(wl.World):
        grid_length: wl.Config = side
        wall_hit_penalty: wl.Config = float(bump)
        tag_reward_for_tagger: wl.Config = float(prize)
        tag_penalty_for_runner: wl.Config = float(fine)
        step_cost_for_tagger: wl.Config = float(cost)
        start: wl.Config = first
        caught: int  # runners tagged in this step
        clock: int  # steps of the episode, this one included: looking need not wait until the engine has counted it

    @wl.system
    def begin(world: Grid):
        world.caught = 0
        world.clock = world.step + 1

    @wl.system
    def leave(runner: Runner):
        if not runner.active:
            runner.x = OFF
            runner.y = OFF

    @wl.system
    def walk(player: Player, world: Grid):
        if player.x == OFF:
            return
        x = player.x + int(player.move == RIGHT) - int(player.move == LEFT)
        y = player.y + int(player.move == UP) - int(player.move == DOWN)
        player.x = clamp(x, 0, world.grid_length)
        player.y = clamp(y, 0, world.grid_length)
        if player.x != x or player.y != y:
            player.reward -= world.wall_hit_penalty

    @wl.system
    def judge(runner: Runner, world: Grid):
        if runner.tagged and runner.active:
            runner.reward -= world.tag_penalty_for_runner
            runner.terminate()
            world.caught += 1

    @wl.system
    def pay_taggers(tagger: Tagger, world: Grid):
        tagger.reward += (
            world.tag_reward_for_tagger * float(world.caught) if world.caught > 0 else -world.step_cost_for_tagger
        )

    @wl.system
    def pay_runners(runner: Runner, world: Grid):
        if runner.active and world.caught == 0:
            runner.reward += world.step_cost_for_tagger

    @wl.system
    def place_taggers(tagger: Tagger, world: Grid):
        tagger.x = world.grid_length // 2
        tagger.y = world.grid_length // 2
        if world.start == Start.RANDOM:
            tagger.x = world.integer(world.grid_length + 1)
            tagger.y = world.integer(world.grid_length + 1)
        elif world.start == Start.INNER:
            tagger.x = world.integer(1, world.grid_length)
            tagger.y = world.integer(1, world.grid_length)

    @wl.system
    def place_runners(runner: Runner, world: Grid):
        if world.start == Start.RANDOM:
            runner.x = world.integer(world.grid_length + 1)
            runner.y = world.integer(world.grid_length + 1)

    tag = _tag_by_taggers(Tagger, Runner, Grid) if runners <= taggers else _tag_by_runners(Tagger, Runner, Grid)
    introduce: list[System] = []
    seek: list[System] = []
    if full_observation:
        both = [
            _observe_all_systems(kind, first, Board, Grid, taggers, runners)
            for kind, first in ((Tagger, 0), (Runner, taggers))
        ]
        introduce, observe = (
            [one for one, _ in both],
            [_board_system(Board, Tagger, Runner, Grid, taggers, runners), *(look for _, look in both)],
        )
    else:
        seek_runner, look_at_runner = _observe_nearest_systems(Tagger, Runner, Grid, 0.0, taggers, runners)
        seek_tagger, look_at_tagger = _observe_nearest_systems(Runner, Tagger, Grid, 1.0, runners, taggers)
        seek, observe = [*seek_runner, *seek_tagger], [look_at_runner, look_at_tagger]

    def draw(sim: wl.Simulation, world: int) -> Image:
        lengths, limits = sim.world.grid_length.numpy(), sim.world.max_steps.numpy()
        cells = int(lengths[world % len(lengths)]) + 1
        places = [
            np.stack([sim[kind].x.numpy()[world], sim[kind].y.numpy()[world]], axis=1) + 0.5
            for kind in ("Tagger", "Runner")
        ]
        text = f"STEP {int(sim.world.step.numpy()[world])}/{int(limits[world % len(limits)])}"
        return render_board(*places, cells, out=~sim["Runner"].active.numpy()[world], text=text, cells=cells)

    return wl.register(
        id,
        world=Grid,
        entities={Tagger: taggers, Runner: runners} | ({Board: 1} if full_observation else {}),
        reset=[place_taggers, place_runners, *introduce, *seek],
        step=[begin, leave, walk, tag, *seek, judge, pay_taggers, pay_runners],
        observe=observe,
        max_steps=episode_length,
        render=draw,
        frames_per_second=10,
        limits={"grid_length": (1, MAX_GRID_LENGTH), "start": (min(Start), max(Start)), "max_steps": (0, inf)},
    )


def _tag_by_taggers(taggers, runners, grid) -> System:
    """Who is tagged, for few runners and many taggers: every tagger looks at the runners."""

    @wl.system
    def tag(tagger: taggers, world: grid):
        for runner in world.all(runners):
            runner.tagged |= runner.x == tagger.x and runner.y == tagger.y

    return tag


def _tag_by_runners(taggers, runners, grid) -> System:
    """Who is tagged, for few taggers and many runners: every runner looks at the taggers."""

    @wl.system
    def tag(runner: runners, world: grid):
        for tagger in world.all(taggers):
            runner.tagged |= runner.x == tagger.x and runner.y == tagger.y

    return tag


@wl.function
def away(dx: int, dy: int, tagged: bool) -> int:
    """The squared distance by which the nearest opponent is chosen."""
    return dx**2 + dy**2 + (FAR if tagged else 0)


@wl.function
def time_of(step: int, limit: int) -> float:
    """The part of the episode that is over; 0 where it has no end."""
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


def _observe_nearest_systems(
    kind, opponent, grid, role: float, players: int, others: int
) -> tuple[list[System], System]:
    """How the nearest opponent is observed; ``role`` is 0 for a tagger and 1 for a runner.

    Returns the systems that find it whenever somebody has moved, where the observation does not look for itself, and the one that writes the observation.
    """

    @wl.system
    def look(player: kind, world: grid):
        nearest, x, y = NOBODY, OFF, OFF
        for other in world.all(opponent):
            distance = away(other.x - player.x, other.y - player.y, other.tagged)
            if other.x != OFF and distance < nearest:
                nearest, x, y = distance, other.x, other.y
        player.sight = told(player.x, player.y, x, y, role, world.grid_length, world.clock, world.max_steps)

    @wl.system(threads=256 if others >= 512 else 32)
    def look_together(player: kind, world: grid):
        player.nearest = wl.int64(NOBODY) * others
        for place in wl.share(others):
            other = world.at(opponent, place)
            if other.x != OFF:
                distance = away(other.x - player.x, other.y - player.y, other.tagged)
                player.nearest = min(
                    player.nearest, wl.int64(distance) * others + place
                )  # the lowest id of those equally near
        x, y = OFF, OFF
        if player.nearest // others < NOBODY:
            other = world.at(opponent, int(player.nearest % others))
            x, y = other.x, other.y
        player.sight = told(player.x, player.y, x, y, role, world.grid_length, world.clock, world.max_steps)

    @wl.system
    def look_around(player: kind):
        player.nearest = wl.int64(NOBODY) * others

    @wl.system
    def come_near(other: opponent, world: grid):
        for player in world.all(kind):
            distance = away(other.x - player.x, other.y - player.y, other.tagged) if other.x != OFF else NOBODY
            player.nearest = min(
                player.nearest, wl.int64(distance) * others + other.id
            )  # the lowest id of those equally near

    @wl.system
    def look_at_found(player: kind, world: grid):
        x, y = OFF, OFF
        if player.nearest // others < NOBODY:
            other = world.at(opponent, int(player.nearest % others))
            x, y = other.x, other.y
        player.sight = told(player.x, player.y, x, y, role, world.grid_length, world.clock, world.max_steps)

    if others <= FEW or players >= MANY:
        return [], look
    return ([look_around, come_near], look_at_found) if players <= SOUGHT else ([], look_together)


def _board_system(board_kind, tagger_kind, runner_kind, grid, taggers: int, runners: int) -> System:
    """What is the same in all observations of a world is worked out once, and lies side by side, so that each is a copy of one piece."""
    players = taggers + runners
    wide = 2 * players > LONGEST_PLAIN
    turns = wl.share if wide else range

    @wl.system(threads=32 if wide else 1)
    def set_up(board: board_kind, world: grid):
        for who in turns(taggers):
            board.seen[who] = float(world.at(tagger_kind, who).x) / float(world.grid_length)
            board.seen[players + who] = float(world.at(tagger_kind, who).y) / float(world.grid_length)
        for who in turns(runners):
            board.seen[taggers + who] = float(world.at(runner_kind, who).x) / float(world.grid_length)
            board.seen[players + taggers + who] = float(world.at(runner_kind, who).y) / float(world.grid_length)

    return set_up


def _observe_all_systems(kind, first: int, board_kind, grid, taggers: int, runners: int) -> tuple[System, System]:
    """The observation of everybody: all x, all y, all roles, who one is, and the time; ``first`` is the place of the first of the kind.

    Returns the system that writes what stays the same all through an episode, and the one that writes the rest at every step.
    """
    players = taggers + runners
    wide = 2 * players > LONGEST_PLAIN
    turns = wl.share if wide else range

    @wl.system
    def introduce(player: kind):
        for who in range(runners):
            player.sight[2 * players + taggers + who] = 1.0
        player.sight[3 * players + first + player.id] = 1.0

    @wl.system(threads=32 if wide else 1)
    def look(player: kind, world: grid):
        for place in turns(2 * players):
            player.sight[place] = world.at(board_kind, 0).seen[place]
        player.sight[4 * players] = time_of(world.clock, world.max_steps)

    return introduce, look


grid_tag("TagGrid-v0")
grid_tag("TagGridTraining-v0", taggers=4, grid_length=100, tag_penalty_for_runner=5.0)
