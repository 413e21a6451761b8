"""Tag on a plane: taggers chase runners over a square, and everyone steers by acceleration and turn."""

from math import inf, pi

import numpy as np

import worldloom as wl
from worldloom import clamp, cos, length, length_sq, sin
from worldloom.core.base.errors import InputError
from worldloom.core.model.canvas import Image
from worldloom.envs.tag.continuous_observations import (
    FEATURES,
    MANY,
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
    max_acceleration: wl.Config = 1.0  # what the highest choice adds to the acceleration
    min_acceleration: wl.Config = -1.0  # what the lowest adds
    max_turn: wl.Config = pi / 2.0  # rad, what the highest choice adds to the direction
    min_turn: wl.Config = -pi / 2.0
    max_speed: wl.Config = 1.0  # per step, at a skill of 1
    skill_level_tagger: wl.Config = 1.0  # highest speed of taggers, in parts of max_speed
    skill_level_runner: wl.Config = 1.0
    edge_hit_penalty: wl.Config = 0.0  # this and those below are added to rewards as they are: penalties are negative
    tag_reward_for_tagger: wl.Config = 1.0  # for every runner that it tags
    tag_penalty_for_runner: wl.Config = -1.0
    step_penalty_for_tagger: wl.Config = 0.0
    step_reward_for_runner: wl.Config = 0.0  # at every step in the game
    end_of_game_reward_for_runner: wl.Config = 1.0  # at the time limit, in the game
    tagging_distance: wl.Config = 0.01  # in parts of the side
    runner_exits_game_after_tagged: wl.Config = True
    fixed_start: wl.Config = False  # whether all episodes of all worlds start alike
    start_seed: wl.Config = 0  # which start that is
    runners_left: int  # in the game
    clock: int  # steps of the episode, this one included: looking need not wait until the engine has counted it


LIMITS = {
    name: (0.0, inf)
    for name in ("max_speed", "skill_level_tagger", "skill_level_runner", "tagging_distance", "max_steps")
}
LIMITS["grid_length"] = (1.0e-6, 1.0e6)


@wl.function
def level(choice: int, levels: int, low: float, high: float) -> float:
    """What a choice stands for: 0 for nothing, 1 to ``levels`` for equal steps from ``low`` to ``high``."""
    if choice == 0:
        return 0.0
    return low + (high - low) * float(choice - 1) / float(max(levels - 1, 1))


@wl.function
def drawn(seed: int, number: int) -> float:
    """A number from 0 to 1 that looks random, and is the same in every world and episode."""
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
    **settings: float,
) -> wl.Definition:
    """Register continuous Tag as ``id`` and return its definition.

    Args:
        id: Its name.
        taggers: How many chase.
        runners: How many are chased.
        neighbours: How many of the nearest agents in the game everyone sees, up to 63; 0 for all agents.
        acceleration_levels: Choices of acceleration beside none.
        turn_levels: Choices of turn beside none.
        episode_length: Steps after which an episode is truncated, 0 for none; the configuration ``max_steps``.
        settings: First values of the configuration of :class:`Field`, such as ``grid_length=20.0``.
    """
    _check_arguments(taggers, runners, neighbours, acceleration_levels, turn_levels, episode_length)
    others = neighbours or taggers + runners - 1
    Game = _configured_field(settings)

    class Player(wl.Entity):
        position: wl.vec2
        speed: float  # per step
        direction: float  # rad, 0 to 2 pi
        acceleration: float  # what a step adds to the speed
        in_game: bool = True
        nearest: wl.Array(
            int, neighbours + 1
        )  # the numbers of the agents it sees, if not all: taggers first, -1 for none
        steer: wl.Action(wl.MultiDiscrete(acceleration_levels + 1, turn_levels + 1))
        sight: wl.Observation(FEATURES * others + 1)
        reward: wl.Reward

    class Tagger(Player):
        tags: int  # runners tagged in this step

    class Runner(Player):
        chaser: int  # the nearest tagger
        gap: float  # how far it is

    @wl.system
    def gather(world: Game):
        world.runners_left = world.count(Runner)

    @wl.system
    def tick(world: Game):
        world.clock = world.step + 1

    def moving(kind: type[Player], first: int, is_tagger: bool):
        """How entities of a kind start and move; ``first`` is the number of the first of them among all agents."""

        @wl.system
        def start(player: kind, world: Game):
            x, y, quarter = world.random(), world.random(), world.integer(4)
            if world.fixed_start:
                number = 3 * (first + player.id)
                x, y = drawn(world.start_seed, number), drawn(world.start_seed, number + 1)
                quarter = int(4.0 * drawn(world.start_seed, number + 2))
            player.position = world.grid_length * wl.vec2(x, y)
            player.direction = 0.25 * TURN * float(quarter)

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

        return start, move

    @wl.system
    def put_down(tagger: Tagger):
        tagger.tags = 0

    @wl.system
    def meet(runner: Runner, world: Game):
        nearest = 1.0e30
        for tagger in world.all(Tagger):
            apart = length_sq(tagger.position - runner.position)
            if apart < nearest:
                nearest = apart
                runner.gap = length(tagger.position - runner.position)
                runner.chaser = tagger.id

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

    counts, firsts = {Tagger: taggers, Runner: runners}, {Tagger: 0, Runner: taggers}
    start, move = zip(*[moving(kind, firsts[kind], kind is Tagger) for kind in counts], strict=True)
    shape, agents = (taggers, runners), taggers + runners
    show = sign_system(tuple(counts), shape, Game)
    if neighbours:
        introduce = []
        observe = [nearest_system(kind, firsts[kind], Game, neighbours) for kind in counts]
        observe += [observe_nearest_system(kind, firsts[kind], shape, Game, neighbours) for kind in counts]
    else:
        introduce = [type_system(kind, kind is Tagger, shape) for kind in counts]
        observe = [observe_all_system(kind, firsts[kind], agents - 1, Game) for kind in counts]
    return wl.register(
        id,
        world=Game,
        entities={**counts, Sign: agents},
        reset=[gather, *start, show, *introduce],
        step=[tick, put_down, *move, show, meet_nearest if taggers >= MANY else meet, tag, pay],
        observe=observe,
        max_steps=episode_length,
        render=draw,
        limits=LIMITS,
    )


def _check_arguments(
    taggers: int, runners: int, neighbours: int, acceleration_levels: int, turn_levels: int, episode_length: int
) -> None:
    given_by_name = {
        "taggers": taggers,
        "runners": runners,
        "neighbours": neighbours,
        "acceleration_levels": acceleration_levels,
        "turn_levels": turn_levels,
        "episode_length": episode_length,
    }
    for name, given in given_by_name.items():
        least = 0 if name in ("neighbours", "episode_length") else 1
        if isinstance(given, bool) or not isinstance(given, int) or given < least:
            raise InputError(f"{name} of continuous Tag is a whole number of {least} or more, not {given!r}")
    if neighbours > MAX_NEIGHBOURS:
        raise InputError(
            f"agents of continuous Tag see at most {MAX_NEIGHBOURS} neighbours, not {neighbours}: give fewer, or 0 for all agents"
        )


def _configured_field(settings: dict[str, float]) -> type[Field]:
    """The world with other first values of its configuration."""
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
            raise InputError(
                f"{name} of continuous Tag is a {'truth value' if kind is bool else 'whole number' if kind is int else 'number'}, not {value!r}"
            )
        values[name] = kind(value)
    return type(
        "Field", (Field,), {"__annotations__": dict.fromkeys(values, wl.Config), "__module__": __name__, **values}
    )


def draw(sim: wl.Simulation, world: int) -> Image:
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
continuous_tag("TagContinuous-v0")
continuous_tag(
    "TagContinuousTraining-v0",
    taggers=10, runners=100, neighbours=10, acceleration_levels=20, turn_levels=20, max_turn=2.356, min_turn=-2.356, **PUBLISHED_FIELD, **PUBLISHED_REWARDS,
)  # fmt: skip
continuous_tag(
    "TagContinuousDemo-v0",
    taggers=5,
    runners=100,
    neighbours=10,
    max_turn=2.35,
    min_turn=-2.35,
    **PUBLISHED_FIELD,
    **PUBLISHED_REWARDS,
)
