"""The rules around a console: what is pressed, how an episode begins, what it is worth and when it ends.

Everything that takes a console's kernels lies between these systems: :mod:`worldloom.atari.env.launches`.
"""

from dataclasses import dataclass
from math import pi

import numpy as np

import worldloom as wl
from worldloom import cos, sin
from worldloom.atari.emulator.console import PADDLE_STEP, RAM, WIDTH
from worldloom.atari.env.settings import Settings
from worldloom.atari.env.start_states import FIRE, NOOP
from worldloom.atari.frames.observe import FrameSelection as Shown
from worldloom.core.frontend.system import System
from worldloom.core.model.fields import Check

BY_DIRECTION = (9, 5, 8, 4, 0, 3, 7, 2, 6, 17, 13, 16, 12, 1, 11, 15, 10, 14)
"""Actions by direction, from below left to above right, and again with the button."""

INT32_MAX = 2**31 - 1
"""The greatest number of an int."""

SAME, FIRST_PICTURE, SECOND_PICTURE, BRIGHTER, NOTHING_NEW = map(int, Shown)


@dataclass(frozen=True)
class GameConstants:
    """What a world of consoles is made of, as numbers.

    Attributes:
        record: Bytes of a console's state.
        lines: Lines of the tallest picture.
        seen: The shape of what an agent sees.
        buttons: int32 (games, choices): what each choice presses.
        fires: int32 (games,): whether the button is pressed before an episode begins.
        waits: int32 (starts,): the frames before an episode begins that are counted.
        noops: How many numbers of no-ops there are to choose from.
        check: What tells valid states of consoles from others.
    """

    record: int
    lines: int
    seen: tuple[int, ...]
    buttons: np.ndarray
    fires: np.ndarray
    waits: np.ndarray
    noops: int
    check: Check


@dataclass(frozen=True)
class WorldParts:
    """The classes of a world, and its systems.

    Attributes:
        world, console: The classes of the world and of what holds the console's state.
        players: Those with a stick: the console itself where there is one player.
        choose: An episode begins: what with.
        begin_again: After the no-ops of a game that goes on.
        settle_in: The episode has begun.
        press: A step begins: what is pressed in its frames.
        judge: The frames of a step are over.
        read_memory: What agents see who see memory.
    """

    world: type[wl.World]
    console: type[wl.Entity]
    players: tuple[type[wl.Entity], ...]
    choose: tuple[System, ...]
    begin_again: tuple[System, ...]
    settle_in: tuple[System, ...]
    press: tuple[System, ...]
    judge: tuple[System, ...]
    read_memory: tuple[System, ...]


def build_world_parts(facts: GameConstants, settings: Settings) -> WorldParts:
    """The world around consoles of these facts."""
    games, starts, noops = len(facts.buttons), len(facts.waits), facts.noops
    least, most = settings.skips
    table, fired, frames_before = facts.buttons, facts.fires, facts.waits
    clip, sticky, limit = (
        settings.reward_clip,
        float(settings.repeat_action_probability),
        settings.max_num_frames_per_episode,
    )
    exact, discounts, told_only, pooled = (
        settings.exact_start,
        settings.zero_discount_on_life_loss,
        settings.life_loss_info,
        settings.max_pool,
    )
    always, hidden = settings.like == "gymnasium", settings.like == "vector"
    lifelike, one_life = settings.episodic_life and not hidden, settings.episodic_life and hidden
    fire_last, continuous = settings.like != "vector", settings.continuous
    hands = max(2, settings.players)

    class Player(wl.Components):
        stick: wl.Action(wl.Box((0.0, -pi, 0.0), (1.0, pi, 1.0), (3,)) if continuous else wl.Discrete(table.shape[1]))
        if settings.obs_type == "ram":
            ram: wl.Observation(128, dtype=wl.uint8, low=0, high=255)
        else:
            screen: wl.Persistent(wl.Observation(*facts.seen, dtype=wl.uint8, low=0, high=255))
        reward: wl.Reward

    class Machine(wl.Components):
        machine: wl.Checked(wl.Persistent(wl.Array(wl.uint8, facts.record)), facts.check)
        pictures: wl.Persistent(
            wl.Array(wl.uint8, 2, facts.lines, WIDTH)
        )  # colours; frames go to the two pictures in turns
        newest: wl.Between(wl.Persistent(int), 0, 1)  # the picture that the last frame went to
        show: wl.Between(int, SAME, NOTHING_NEW)  # what an observation shows of the pictures
        pressed: wl.Array(wl.uint8, most, hands)  # what the players do in each frame of a step
        held: wl.Between(wl.Persistent(int), 0, 255)  # what the first did in the last frame
        held_by_others: wl.Between(wl.Persistent(wl.Array(int, 3)), 0, 255)
        if settings.players > 1:
            shares: wl.Array(int, 3)  # the points of the others in the step
        if continuous:
            force: wl.Array(int, most)  # how far paddles are turned in each frame of a step
            held_force: wl.Persistent(int)
        span: wl.Between(int, 0, most)  # frames of the step
        ran: wl.Between(int, 0, INT32_MAX)  # frames of the step that were emulated
        game: wl.Between(int, 0, games - 1)
        start: wl.Between(
            int, 0, starts - 1
        )  # the no-ops that an episode begins with, and whether the button is pressed
        record: wl.Between(int, -1, starts - 1)  # the kept state that it begins with; -1 for none
        program: wl.Between(int, -1, 2 * starts - 1)  # what is pressed before it begins; -1 for nothing
        fresh: bool  # whether a game begins
        over: wl.Persistent(bool)
        going_on: wl.Persistent(bool)  # whether the next episode is another life of the same game
        elapsed: wl.Between(wl.Persistent(int), 0, INT32_MAX)  # steps of the game
        played: wl.Between(wl.Persistent(int), 0, INT32_MAX)  # frames of these steps
        before: int  # lives before the step
        points: wl.Info(int)  # of the step, never clipped
        lives: wl.Persistent(wl.Info(int))
        frames: wl.Between(
            wl.Persistent(wl.Info(int)), 0, INT32_MAX
        )  # of the game, those before its first step included
        discount: wl.Info(float) if discounts else float = 1.0

    class Cabinet(wl.World):
        buttons: wl.Config = table
        fires: wl.Config = fired
        waits: wl.Config = frames_before
        repeat_action_probability: wl.Config = sticky
        reward_clip: wl.Config = clip
        max_num_frames_per_episode: wl.Config = limit

    if settings.players == 1:

        class Console(wl.Entity, Machine, Player):
            pass

        players = (Console,)
    else:

        class Console(wl.Entity, Machine):
            pass

        class First(wl.Entity, Player):
            pass

        class Second(wl.Entity, Player):
            pass

        class Third(wl.Entity, Player):
            pass

        class Fourth(wl.Entity, Player):
            pass

        players = (First, Second, Third, Fourth)[: settings.players]

    @wl.system
    def choose(console: Console, world: Cabinet):
        console.game = world.id % games
        goes_on = console.going_on and world.episode > 0
        pressed = world.fires[console.game] > 0 and world.random() >= world.repeat_action_probability
        console.start = (console.game * noops + world.integer(noops)) * 2 + int(pressed)
        console.record = -1 if goes_on else console.game if exact else console.start
        console.program = console.start if exact else -1
        if goes_on:
            console.program = -1 if told_only else starts + console.start
        if not (told_only and goes_on):  # where nothing is pressed in between
            console.held = FIRE if pressed and fire_last else NOOP
            for other in range(3):
                console.held_by_others[other] = NOOP
        console.fresh = not goes_on
        console.going_on = False
        if not goes_on:
            console.elapsed = 0
            console.played = 0
            console.frames = 0

    @wl.system
    def begin_again(console: Console):
        """A game that ended among the no-ops is begun anew, with those that are left."""
        console.record = -1
        if console.over and console.program >= starts:
            console.start = max(console.start - 2 * console.ran, console.game * noops * 2 + console.start % 2)
            console.record = console.start
            console.fresh = True
            console.elapsed = 0
            console.played = 0
            console.frames = 0

    @wl.system
    def settle_in(console: Console, world: Cabinet):
        if told_only and not console.fresh:
            console.show = NOTHING_NEW
        else:
            console.show = FIRST_PICTURE + console.newest
            console.frames += world.waits[console.start]
            if always and console.fresh:  # ALE's own limit counts all frames
                console.played = console.frames

    @wl.system
    def begin_step(console: Console, world: Cabinet):
        console.fresh = False
        console.before = console.lives
        console.span = most if least == most else world.integer(least, most + 1)
        if world.max_num_frames_per_episode > 0:
            console.span = max(min(console.span, world.max_num_frames_per_episode - console.played), 1)

    @wl.system
    def judge(console: Console, world: Cabinet):
        console.frames += console.ran
        console.played += console.ran
        console.elapsed += 1
        lost = console.lives < console.before
        late = world.max_steps > 0 and console.elapsed >= world.max_steps
        cut = world.max_num_frames_per_episode > 0 and console.played >= world.max_num_frames_per_episode
        console.discount = 0.0 if console.over or (discounts and lost) else 1.0
        if late or (cut and not console.over):
            world.truncate()
        ended = console.over or (one_life and lost)
        if ended:
            world.terminate()
        elif lost and (told_only or (lifelike and console.lives > 0)):
            world.terminate()
            console.going_on = not (late or cut)
        newest = FIRST_PICTURE + console.newest
        if hidden:
            console.show = shown_before_the_end(console.ran, most, newest, pooled, ended or cut)
        else:
            console.show = shown(console.ran, console.span, newest, pooled, always)

    if settings.players == 1:
        press = (
            _push(Console, Cabinet, settings.continuous_action_threshold) if continuous else _press(Console, Cabinet),
        )
        pay = (_pay(Console, Cabinet),)
    else:
        others = tuple(enumerate(players[1:]))
        press = (
            _press_first(Console, Cabinet, players[0]),
            *(_press_other(Console, Cabinet, kind, place) for place, kind in others),
        )
        pay = (
            _pay_first(players[0], Console, Cabinet),
            *(_pay_other(kind, Console, Cabinet, place) for place, kind in others),
        )
    look = tuple(_read_memory(kind, Console) for kind in players) if settings.obs_type == "ram" else ()
    return WorldParts(
        Cabinet, Console, players, (choose,), (begin_again,), (settle_in,), (begin_step, *press), (judge, *pay), look
    )


def _press(console_kind, cabinet) -> System:
    """What is held in each frame of a step: what the player chose, or what was held before."""

    @wl.system
    def press(console: console_kind, world: cabinet):
        for frame in range(console.span):
            if world.repeat_action_probability <= 0.0 or world.random() >= world.repeat_action_probability:
                console.held = world.buttons[console.game, console.stick]
            console.pressed[frame, 0] = wl.uint8(console.held)

    return press


def _push(console_kind, cabinet, threshold: float) -> System:
    """Likewise for a stick that is pushed more or less far, in any direction."""
    buttons = wl.vec(18, int)(*BY_DIRECTION)

    @wl.system
    def push(console: console_kind, world: cabinet):
        x, y = console.stick[0] * cos(console.stick[1]), console.stick[0] * sin(console.stick[1])
        column = int(x > threshold) - int(x < -threshold) + 1
        row = int(y > threshold) - int(y < -threshold) + 1
        direction = (3 * row + column) + 9 * int(console.stick[2] > threshold)
        for frame in range(console.span):
            if world.repeat_action_probability <= 0.0 or world.random() >= world.repeat_action_probability:
                console.held = world.buttons[console.game, buttons[direction]]
                console.held_force = int(float(PADDLE_STEP) * console.stick[0])
            console.pressed[frame, 0] = wl.uint8(console.held)
            console.force[frame] = console.held_force

    return push


def _press_first(console_kind, cabinet, first) -> System:
    """Likewise for the first of several players."""

    @wl.system
    def press_first(console: console_kind, world: cabinet):
        for frame in range(console.span):
            if world.repeat_action_probability <= 0.0 or world.random() >= world.repeat_action_probability:
                console.held = world.buttons[console.game, world.at(first, 0).stick]
            console.pressed[frame, 0] = wl.uint8(console.held)

    return press_first


def _press_other(console_kind, cabinet, player_kind, place: int) -> System:
    """Likewise for another one; ``place`` is 0 for the second player."""

    @wl.system
    def press_other(console: console_kind, world: cabinet):
        for frame in range(console.span):
            if world.repeat_action_probability <= 0.0 or world.random() >= world.repeat_action_probability:
                console.held_by_others[place] = world.buttons[console.game, world.at(player_kind, 0).stick]
            console.pressed[frame, place + 1] = wl.uint8(console.held_by_others[place])

    return press_other


def _pay(console_kind, cabinet) -> System:
    """The reward of the one player."""

    @wl.system
    def pay(console: console_kind, world: cabinet):
        console.reward = sign_of(console.points) if world.reward_clip else float(console.points)

    return pay


def _pay_first(player_kind, console_kind, cabinet) -> System:
    """The reward of the first of several players."""

    @wl.system
    def pay_first(player: player_kind, world: cabinet):
        points = world.at(console_kind, 0).points
        player.reward = sign_of(points) if world.reward_clip else float(points)

    return pay_first


def _pay_other(player_kind, console_kind, cabinet, place: int) -> System:
    """The reward of another one; ``place`` is 0 for the second player."""

    @wl.system
    def pay_other(player: player_kind, world: cabinet):
        points = world.at(console_kind, 0).shares[place]
        player.reward = sign_of(points) if world.reward_clip else float(points)

    return pay_other


def _read_memory(player_kind, console_kind) -> System:
    """The observation of the console's memory."""

    @wl.system(threads=32)
    def read_memory(player: player_kind, world: wl.World):
        for place in wl.share(128):
            player.ram[place] = world.at(console_kind, 0).machine[RAM + place]

    return read_memory


@wl.function
def shown(ran: int, span: int, newest: int, pooled: bool, always: bool) -> int:
    """What an observation shows after ``ran`` of ``span`` frames: the brighter of the last two, or the last; where the game ended too early for
    that, what was seen before, or ``always`` the last frame.
    """
    if ran == span and span > 1 and pooled:
        return BRIGHTER
    if ran == span or (ran == span - 1 and ran > 0) or (always and ran > 0):
        return newest
    return SAME


@wl.function
def shown_before_the_end(ran: int, most: int, newest: int, pooled: bool, ended: bool) -> int:
    """Likewise where the frame in which a game ends is not shown any more."""
    if not ended:
        return BRIGHTER if pooled and most > 1 else newest
    if ran == most and most > 1 and pooled:
        return FIRST_PICTURE + SECOND_PICTURE - newest
    return SAME


@wl.function
def sign_of(points: int) -> float:
    return 1.0 if points > 0 else -1.0 if points < 0 else 0.0
