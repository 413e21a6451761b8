"""TagGrid: taggers chase runners over the cells of a square grid."""

import enum
from math import inf
from typing import Any, NamedTuple

import numpy as np

import worldloom as wl
from worldloom import clamp
from worldloom.core.frontend.system import System
from worldloom.envs.tag.grid_observations import OFF, board_system, observe_all_systems, observe_nearest_systems
from worldloom.envs.tag.rendering import Image, render_board

STAY, RIGHT, LEFT, UP, DOWN = range(5)
MAX_GRID_LENGTH = 20_000
FORMER_HASHES = {
    "TagGrid-v0": ("29cfedea04ccdf7d3847f4d950e0f72882bc0ab63e0912ad0b8ba6813e527aea",),
    "TagGridTraining-v0": ("fd70d679c3202f33eccc6aec574e55ea53c5f07b5a5c481336309da824b59a41",),
}
"""Fingerprints of earlier versions with equal results, whose snapshots and replays still open."""


class Start(enum.IntEnum):
    """Initial positions of an episode."""

    RANDOM = 0  # all players anywhere
    PUBLISHED = 1  # taggers in the middle, runners in the corner (0, 0)
    INNER = 2  # taggers anywhere but at the edges, runners in the corner (0, 0)


class Kinds(NamedTuple):
    """The classes of one Tag world."""

    Player: Any
    Tagger: Any
    Runner: Any
    Board: Any
    Grid: Any


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
    replace: bool = False,
) -> wl.Definition:
    """Register Tag on a grid as ``id`` and return its definition.

    The numbers of players and the form of observations are fixed. All other arguments are defaults of configuration.

    Args:
        id: The id of the world.
        taggers: Taggers per world.
        runners: Runners per world.
        full_observation: Whether players observe all players, 4 x players + 1 numbers, or the nearest opponent, 6.
        grid_length: The largest coordinate of a cell; a side has ``grid_length + 1`` cells.
        episode_length: Steps before truncation, 0 for no limit (the configuration ``max_steps``).
        wall_hit_penalty: Penalty for a move into a wall.
        tag_reward_for_tagger: Reward of every tagger per tagged runner.
        tag_penalty_for_runner: Penalty of a tagged runner.
        step_cost_for_tagger: Cost of a step without a tag for every tagger, and reward of every runner.
        start: Initial positions.
        replace: Whether to replace a world of this id that has other rules.
    """
    _check_counts(taggers, runners, grid_length, episode_length, start)
    values = (wall_hit_penalty, tag_reward_for_tagger, tag_penalty_for_runner, step_cost_for_tagger)
    _check_values(*values)
    players = taggers + runners
    kinds = _make_kinds(players, full_observation, _grid_class(grid_length, *values, int(start)))
    if full_observation:
        introduce, observe = _observe_everyone(kinds, taggers, runners)
        seek: list[System] = []
    else:
        introduce, (seek, observe) = [], _observe_opponent(kinds, taggers, runners)
    begin, leave, walk = _movement_systems(kinds)
    return wl.register(
        id,
        world=kinds.Grid,
        entities={kinds.Tagger: taggers, kinds.Runner: runners} | ({kinds.Board: 1} if full_observation else {}),
        reset=[*_start_systems(kinds), *introduce, *seek],
        step=[begin, leave, walk, _tag_system(kinds, taggers, runners), *seek, *_reward_systems(kinds)],
        observe=observe,
        max_steps=episode_length,
        render=draw,
        frames_per_second=10,
        former_hashes=FORMER_HASHES.get(id, ()),
        limits={"grid_length": (1, MAX_GRID_LENGTH), "start": (min(Start), max(Start)), "max_steps": (0, inf)},
        replace=replace,
    )


def _check_counts(taggers: int, runners: int, grid_length: int, episode_length: int, start: Start) -> None:
    for name, count, least in (
        ("taggers", taggers, 1),
        ("runners", runners, 1),
        ("grid_length", grid_length, 1),
        ("episode_length", episode_length, 0),
    ):
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise wl.InputError(f"Tag on a grid cannot have {name}={count!r}; give a whole number from {least}")
    if start not in list(Start):
        known = ", ".join(f"Start.{one.name}" for one in Start)
        raise wl.InputError(f"Tag on a grid cannot begin with start={start!r}; give one of {known}")
    if grid_length > MAX_GRID_LENGTH:
        raise wl.InputError(
            f"Tag on a grid has coordinates up to {MAX_GRID_LENGTH:,}, not {grid_length:,}: "
            "squares of distances would not fit"
        )


def _check_values(wall_hit: float, tag_reward: float, tag_penalty: float, step_cost: float) -> None:
    for name, value in (
        ("wall_hit_penalty", wall_hit),
        ("tag_reward_for_tagger", tag_reward),
        ("tag_penalty_for_runner", tag_penalty),
        ("step_cost_for_tagger", step_cost),
    ):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise wl.InputError(f"{name} of Tag on a grid is a number, not {value!r}")


def _grid_class(side: int, bump: float, prize: float, fine: float, cost: float, first: int) -> type[wl.World]:
    class Grid(wl.World):
        grid_length: wl.Config = side
        wall_hit_penalty: wl.Config = float(bump)
        tag_reward_for_tagger: wl.Config = float(prize)
        tag_penalty_for_runner: wl.Config = float(fine)
        step_cost_for_tagger: wl.Config = float(cost)
        start: wl.Config = first
        caught: int  # runners tagged in this step
        clock: int  # steps of the episode including this one, so that observations need not wait for the engine's count

    return Grid


def _make_kinds(players: int, full_observation: bool, Grid: type[wl.World]) -> Kinds:
    length = 4 * players + 1 if full_observation else 6

    class Player(wl.Entity):
        x: int  # 0 to grid_length, or OFF
        y: int
        tagged: bool  # runners only
        nearest: wl.int64  # the nearest opponent, where opponents report: squared distance x opponents + id
        move: wl.Action(wl.Discrete(5))  # 0 stay, 1 x + 1, 2 x - 1, 3 y + 1, 4 y - 1
        sight: wl.Observation(length)
        reward: wl.Reward

    class Tagger(Player):
        pass

    class Runner(Player):
        pass

    class Board(wl.Entity):
        seen: wl.Array(float, 2 * players)  # positions of all players as fractions of grid_length: all x, then all y

    return Kinds(Player, Tagger, Runner, Board, Grid)


def _start_systems(kinds: Kinds) -> list[System]:
    """Place all players."""
    Tagger, Runner, Grid = kinds.Tagger, kinds.Runner, kinds.Grid

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

    return [place_taggers, place_runners]


def _movement_systems(kinds: Kinds) -> list[System]:
    """Begin a step, remove tagged runners from the board, and move players."""
    Player, Runner, Grid = kinds.Player, kinds.Runner, kinds.Grid

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

    return [begin, leave, walk]


def _tag_system(kinds: Kinds, taggers: int, runners: int) -> System:
    """Tag runners in the cells of taggers. The more numerous kind does the work."""
    make = _tag_by_taggers if runners <= taggers else _tag_by_runners
    return make(kinds.Tagger, kinds.Runner, kinds.Grid)


def _tag_by_taggers(taggers, runners, grid) -> System:
    """Every tagger checks all runners."""

    @wl.system
    def tag(tagger: taggers, world: grid):
        for runner in world.all(runners):
            runner.tagged |= runner.x == tagger.x and runner.y == tagger.y

    return tag


def _tag_by_runners(taggers, runners, grid) -> System:
    """Every runner checks all taggers."""

    @wl.system
    def tag(runner: runners, world: grid):
        for tagger in world.all(taggers):
            runner.tagged |= runner.x == tagger.x and runner.y == tagger.y

    return tag


def _reward_systems(kinds: Kinds) -> list[System]:
    """Rewards of a step, and the end of tagged runners' episodes."""
    Tagger, Runner, Grid = kinds.Tagger, kinds.Runner, kinds.Grid

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

    return [judge, pay_taggers, pay_runners]


def _observe_everyone(kinds: Kinds, taggers: int, runners: int) -> tuple[list[System], list[System]]:
    """Systems of the full observation: those of a reset, and those of every step."""
    pairs = [
        observe_all_systems(kind, first, kinds.Board, kinds.Grid, taggers, runners)
        for kind, first in ((kinds.Tagger, 0), (kinds.Runner, taggers))
    ]
    board = board_system(kinds.Board, kinds.Tagger, kinds.Runner, kinds.Grid, taggers, runners)
    return [introduce for introduce, _ in pairs], [board, *(look for _, look in pairs)]


def _observe_opponent(kinds: Kinds, taggers: int, runners: int) -> tuple[list[System], list[System]]:
    """Systems of the observation of the nearest opponent: those that find it, and those that write it."""
    Tagger, Runner, Grid = kinds.Tagger, kinds.Runner, kinds.Grid
    seek_runner, look_at_runner = observe_nearest_systems(Tagger, Runner, Grid, 0.0, taggers, runners)
    seek_tagger, look_at_tagger = observe_nearest_systems(Runner, Tagger, Grid, 1.0, runners, taggers)
    return [*seek_runner, *seek_tagger], [look_at_runner, look_at_tagger]


def draw(sim: wl.Simulation, world: int) -> Image:
    """A picture of one world."""
    lengths, limits = sim.world.grid_length.numpy(), sim.world.max_steps.numpy()
    cells = int(lengths[world % len(lengths)]) + 1
    positions = [
        np.stack([sim[kind].x.numpy()[world], sim[kind].y.numpy()[world]], axis=1) + 0.5
        for kind in ("Tagger", "Runner")
    ]
    text = f"STEP {int(sim.world.step.numpy()[world])}/{int(limits[world % len(limits)])}"
    return render_board(*positions, cells, out=~sim["Runner"].active.numpy()[world], text=text, cells=cells)


TAG_GRID = grid_tag("TagGrid-v0")
TAG_GRID_TRAINING = grid_tag("TagGridTraining-v0", taggers=4, grid_length=100, tag_penalty_for_runner=5.0)
