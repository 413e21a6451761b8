"""TagContinuous: taggers chase runners over a square; agents choose acceleration and turn."""

from math import inf, pi
from typing import Any

import numpy as np

import worldloom as wl
from worldloom import clamp, cos, length, sin
from worldloom.core.base.errors import InputError
from worldloom.core.frontend.system import System
from worldloom.core.model.canvas import Image
from worldloom.envs.tag.continuous_observations import (
    FEATURES,
    MAX_NEIGHBOURS,
    TURN,
    Sign,
    nearest_system,
    observe_all_system,
    observe_nearest_system,
    sign_system,
    type_system,
)
from worldloom.envs.tag.rendering import render_board


class Field(wl.World):
    grid_length: wl.Config = 10.0  # side of the square
    max_acceleration: wl.Config = 1.0  # change of acceleration of the highest choice
    min_acceleration: wl.Config = -1.0  # of the lowest choice
    max_turn: wl.Config = pi / 2.0  # rad, change of direction of the highest choice
    min_turn: wl.Config = -pi / 2.0
    max_speed: wl.Config = 1.0  # per step, at a skill of 1
    skill_level_tagger: wl.Config = 1.0  # top speed of taggers as a fraction of max_speed
    skill_level_runner: wl.Config = 1.0
    edge_hit_penalty: wl.Config = 0.0  # this and the following are added to rewards: penalties are negative
    tag_reward_for_tagger: wl.Config = 1.0  # per tagged runner
    tag_penalty_for_runner: wl.Config = -1.0
    step_penalty_for_tagger: wl.Config = 0.0
    step_reward_for_runner: wl.Config = 0.0  # per step in the game
    end_of_game_reward_for_runner: wl.Config = 1.0  # at the step limit, in the game
    tagging_distance: wl.Config = 0.01  # as a fraction of the side
    runner_exits_game_after_tagged: wl.Config = True
    fixed_start: wl.Config = False  # whether all episodes of all worlds have the same start
    start_seed: wl.Config = 0  # seed of that start
    runners_left: int  # in the game
    clock: int  # steps of the episode including this one, so that observations need not wait for the engine's count


LIMITS = {
    name: (0.0, inf)
    for name in ("max_speed", "skill_level_tagger", "skill_level_runner", "tagging_distance", "max_steps")
}
LIMITS["grid_length"] = (1.0e-6, 1.0e6)
FORMER_HASHES = {
    "TagContinuous-v0": ("6e9f75c067ec76e2e0f17160514fb51d24f47954cd4fdb875c3fc6bdbb04f90e",),
    "TagContinuousDemo-v0": ("536f39711b77193ce90466962df2f11830ab92428872e72d15dbd15433fc232f",),
    "TagContinuousTraining-v0": ("64bc884cad7e65c804ba8a4897be54a7d11183b62ec91f4a18bfc5efd18904a7",),
}
"""Fingerprints of earlier versions with equal results, whose snapshots and replays still open."""


@wl.function
def level(choice: int, levels: int, low: float, high: float) -> float:
    """The value of a choice: 0 for choice 0, equal steps from ``low`` to ``high`` for choices 1 to ``levels``."""
    if choice == 0:
        return 0.0
    return low + (high - low) * float(choice - 1) / float(max(levels - 1, 1))


@wl.function
def drawn(seed: int, number: int) -> float:
    """A pseudorandom number from 0 to 1, the same in every world and episode."""
    bits = wl.uint32(seed) * wl.uint32(2654435769) + wl.uint32(number) + wl.uint32(1)
    for _ in range(2):
        bits = (bits ^ bits >> 16) * wl.uint32(2146121005)
        bits = (bits ^ bits >> 15) * wl.uint32(2221713035)
        bits = bits ^ bits >> 16
    return float(bits >> 8) / 16777216.0


def continuous_tag(
    id: str = "TagContinuousOf-v0",
    *,
    taggers: int = 1,
    runners: int = 10,
    neighbours: int = 0,
    acceleration_levels: int = 10,
    turn_levels: int = 10,
    episode_length: int = 100,
    replace: bool = False,
    **settings: float,
) -> wl.Definition:
    """Register continuous Tag as ``id`` and return its definition.

    Args:
        id: The id of the world.
        taggers: Taggers per world.
        runners: Runners per world.
        neighbours: How many of the nearest agents in the game an agent observes, up to 63; 0 for all agents.
        acceleration_levels: Choices of acceleration in addition to none.
        turn_levels: Choices of turn in addition to none.
        episode_length: Steps before truncation, 0 for no limit (the configuration ``max_steps``).
        replace: Whether to replace a world of this id that has other rules.
        settings: Defaults of the configuration of :class:`Field`, such as ``grid_length=20.0``.
    """
    _check_arguments(taggers, runners, neighbours, acceleration_levels, turn_levels, episode_length)
    Game = _configured_field(settings)
    others = neighbours or taggers + runners - 1
    Tagger, Runner = _make_kinds(neighbours, FEATURES * others + 1, acceleration_levels, turn_levels)
    gather, tick = _count_systems(Runner, Game)
    levels = (acceleration_levels, turn_levels)
    counts, firsts = {Tagger: taggers, Runner: runners}, {Tagger: 0, Runner: taggers}
    start = [_start_system(kind, Game, firsts[kind]) for kind in counts]
    move = [_move_system(kind, Game, kind is Tagger, *levels) for kind in counts]
    put_down, meet, tag, pay = _tag_systems(Tagger, Runner, Game)
    show = sign_system((Tagger, Runner), (taggers, runners), Game)
    introduce, observe = _observe_systems(counts, firsts, Game, neighbours)
    return wl.register(
        id,
        world=Game,
        entities={**counts, Sign: taggers + runners},
        reset=[gather, *start, show, *introduce],
        step=[tick, put_down, *move, show, meet, tag, pay],
        observe=observe,
        max_steps=episode_length,
        render=draw,
        former_hashes=FORMER_HASHES.get(id, ()),
        limits=LIMITS,
        replace=replace,
    )


def _make_kinds(neighbours: int, size: int, acceleration_levels: int, turn_levels: int) -> tuple[Any, Any]:
    """The classes of taggers and runners; ``size`` is the length of an observation."""

    class Player(wl.Entity):
        position: wl.vec2
        speed: float  # per step
        direction: float  # rad, 0 to 2 pi
        acceleration: float  # change of the speed per step
        in_game: bool = True
        nearest: wl.Array(int, neighbours + 1)  # numbers of the observed agents, if not all: taggers first, -1 for none
        steer: wl.Action(wl.MultiDiscrete(acceleration_levels + 1, turn_levels + 1))
        sight: wl.Observation(size)
        reward: wl.Reward

    class Tagger(Player):
        tags: int  # runners tagged in this step

    class Runner(Player):
        chaser: int  # id of the nearest tagger
        gap: float  # distance to it

    return Tagger, Runner


def _count_systems(Runner: Any, Game: type[Field]) -> tuple[System, System]:
    """Count the runners at a reset, and the steps of an episode."""

    @wl.system
    def gather(world: Game):
        world.runners_left = world.count(Runner)

    @wl.system
    def tick(world: Game):
        world.clock = world.step + 1

    return gather, tick


def _start_system(kind: Any, Game: type[Field], first: int) -> System:
    """Initial positions and directions of a kind; ``first`` is the number of its first entity among all agents."""

    @wl.system
    def start(player: kind, world: Game):
        x, y, quarter = world.random(), world.random(), world.integer(4)
        if world.fixed_start:
            number = 3 * (first + player.id)
            x, y = drawn(world.start_seed, number), drawn(world.start_seed, number + 1)
            quarter = int(4.0 * drawn(world.start_seed, number + 2))
        player.position = world.grid_length * wl.vec2(x, y)
        player.direction = 0.25 * TURN * float(quarter)

    return start


def _move_system(kind: Any, Game: type[Field], is_tagger: bool, acceleration_levels: int, turn_levels: int) -> System:
    """Motion of a kind, and the part of its reward that depends on it."""

    @wl.system
    def move(player: kind, world: Game):
        if not player.in_game:
            player.speed = 0.0
            player.direction = 0.0
            player.acceleration = 0.0
            return
        fastest = world.max_speed * (world.skill_level_tagger if is_tagger else world.skill_level_runner)
        player.acceleration += level(
            player.steer[0], acceleration_levels, world.min_acceleration, world.max_acceleration
        )
        player.direction = (
            player.direction + level(player.steer[1], turn_levels, world.min_turn, world.max_turn)
        ) % TURN
        player.speed = clamp(player.speed + player.acceleration, 0.0, fastest)
        if player.speed <= 0.0 or player.speed >= fastest:
            player.acceleration = 0.0
        ahead = player.position + player.speed * wl.vec2(cos(player.direction), sin(player.direction))
        player.position = wl.vec2(clamp(ahead.x, 0.0, world.grid_length), clamp(ahead.y, 0.0, world.grid_length))
        player.reward = world.step_penalty_for_tagger if is_tagger else world.step_reward_for_runner
        if player.position.x != ahead.x or player.position.y != ahead.y:
            player.reward += world.edge_hit_penalty

    return move


def _tag_systems(Tagger: Any, Runner: Any, Game: type[Field]) -> tuple[System, ...]:
    """Tags of a step: clear the counts, find the nearest tagger, tag, and reward taggers."""

    @wl.system
    def put_down(tagger: Tagger):
        tagger.tags = 0

    @wl.system
    def meet_nearest(runner: Runner, world: Game):
        for tagger in world.nearest(Tagger, runner.position, 1):
            runner.gap = length(tagger.position - runner.position)
            runner.chaser = tagger.id

    @wl.system
    def tag(runner: Runner, world: Game):
        if not runner.in_game:
            return
        if runner.gap < world.tagging_distance * world.grid_length:
            runner.reward += world.tag_penalty_for_runner
            world.at(Tagger, runner.chaser).tags += 1
            if world.runner_exits_game_after_tagged:
                runner.in_game = False
                world.runners_left -= 1
                runner.terminate()
        if runner.in_game and world.clock == world.max_steps:
            runner.reward += world.end_of_game_reward_for_runner

    @wl.system
    def pay(tagger: Tagger, world: Game):
        tagger.reward += float(tagger.tags) * world.tag_reward_for_tagger

    return put_down, meet_nearest, tag, pay


def _observe_systems(
    counts: dict[Any, int], firsts: dict[Any, int], Game: type[Field], neighbours: int
) -> tuple[list[System], list[System]]:
    """Systems of observations: those of a reset, and those of every step."""
    taggers, runners = counts.values()
    if not neighbours:
        introduce = [type_system(kind, first == 0, (taggers, runners)) for kind, first in firsts.items()]
        others = taggers + runners - 1
        return introduce, [observe_all_system(kind, first, others, Game) for kind, first in firsts.items()]
    choose = [nearest_system(kind, first, Game, neighbours) for kind, first in firsts.items()]
    look = [observe_nearest_system(kind, first, (taggers, runners), Game, neighbours) for kind, first in firsts.items()]
    return [], [*choose, *look]


def _check_arguments(
    taggers: int, runners: int, neighbours: int, acceleration_levels: int, turn_levels: int, episode_length: int
) -> None:
    counts = {
        "taggers": taggers,
        "runners": runners,
        "neighbours": neighbours,
        "acceleration_levels": acceleration_levels,
        "turn_levels": turn_levels,
        "episode_length": episode_length,
    }
    for name, count in counts.items():
        least = 0 if name in ("neighbours", "episode_length") else 1
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise InputError(f"{name} of continuous Tag is a whole number of {least} or more, not {count!r}")
    if neighbours > MAX_NEIGHBOURS:
        raise InputError(
            f"agents of continuous Tag see at most {MAX_NEIGHBOURS} neighbours, not {neighbours}: "
            "give fewer, or 0 for all agents"
        )


def _configured_field(settings: dict[str, float]) -> type[Field]:
    """The world class with other defaults of its configuration."""
    known = {name for name, annotation in Field.__annotations__.items() if annotation is wl.Config}
    wrong = next((name for name in settings if name not in known), None)
    if wrong is not None:
        raise InputError(f"continuous Tag has no setting '{wrong}'; it has {', '.join(sorted(known))}")
    values = {}
    for name, value in settings.items():
        kind = type(getattr(Field, name))
        if (
            isinstance(value, bool) != (kind is bool)
            or not isinstance(value, (int, float))
            or (kind is int and value != int(value))
        ):
            expected = "truth value" if kind is bool else "whole number" if kind is int else "number"
            raise InputError(f"{name} of continuous Tag is a {expected}, not {value!r}")
        values[name] = kind(value)
    return type(
        "Field", (Field,), {"__annotations__": dict.fromkeys(values, wl.Config), "__module__": __name__, **values}
    )


def draw(sim: wl.Simulation, world: int) -> Image:
    """A picture of one world."""
    tagger, runner = sim["Tagger"], sim["Runner"]
    sides = np.atleast_1d(sim.world.grid_length.numpy())
    return render_board(
        tagger.position.numpy()[world],
        runner.position.numpy()[world],
        float(sides[world % len(sides)]),
        out=~runner.in_game.numpy()[world],
        tagger_headings=tagger.direction.numpy()[world],
        runner_headings=runner.direction.numpy()[world],
        text=f"step {int(sim.world.step.numpy()[world])}",
    )


PUBLISHED_FIELD = {
    "grid_length": 20.0,
    "episode_length": 500,
    "max_acceleration": 0.1,
    "min_acceleration": -0.1,
    "tagging_distance": 0.02,
}
PUBLISHED_REWARDS = {"tag_reward_for_tagger": 10.0, "tag_penalty_for_runner": -10.0}
TAG_CONTINUOUS = continuous_tag("TagContinuous-v0")
TAG_CONTINUOUS_TRAINING = continuous_tag(
    "TagContinuousTraining-v0",
    taggers=10,
    runners=100,
    neighbours=10,
    acceleration_levels=20,
    turn_levels=20,
    max_turn=2.356,
    min_turn=-2.356,
    **PUBLISHED_FIELD,
    **PUBLISHED_REWARDS,
)
TAG_CONTINUOUS_DEMO = continuous_tag(
    "TagContinuousDemo-v0",
    taggers=5,
    runners=100,
    neighbours=10,
    max_turn=2.35,
    min_turn=-2.35,
    **PUBLISHED_FIELD,
    **PUBLISHED_REWARDS,
)
