"""Episode rules: how an episode starts, how a step counts, and when the episode ends.

The launches of :mod:`worldloom.atari.env.launches` run between these systems. The text of systems is part of a world's
fingerprint: renaming anything in them makes earlier snapshots unreadable.
"""

from dataclasses import dataclass

import worldloom as wl
from worldloom.atari.env.boot import FIRE, NOOP
from worldloom.atari.env.console_entities import GameConstants, console_and_players, world_class
from worldloom.atari.env.player_systems import pay_systems, press_systems, read_memory_system
from worldloom.atari.env.settings import Settings
from worldloom.atari.frames.observe import FrameSelection
from worldloom.core.frontend.system import System

SAME, FIRST_PICTURE, SECOND_PICTURE, BRIGHTER, NOTHING_NEW = map(int, FrameSelection)


@dataclass(frozen=True)
class WorldParts:
    """The classes and systems of a world.

    Attributes:
        world, console: The world class, and the entity that holds the console's state.
        players: The entities with an action; the console itself in single-player games.
        choose: Start of an episode: selects its start state.
        begin_again: After the no-ops of a continued game.
        settle_in: End of the reset.
        press: Start of a step: inputs of its frames.
        judge: End of a step: rewards and ends of episodes.
        read_memory: RAM observations.
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
    """The classes and systems of a world with these constants and settings."""
    world = world_class(facts, settings)
    console, players = console_and_players(facts, settings)
    choose, begin_again, settle_in = _episode_start(facts, settings, console, world)
    begin_step, judge = _episode_step(settings, console, world)
    ram = settings.obs_type == "ram"
    return WorldParts(
        world,
        console,
        players,
        choose=(choose,),
        begin_again=(begin_again,),
        settle_in=(settle_in,),
        press=(begin_step, *press_systems(console, world, players, settings)),
        judge=(judge, *pay_systems(console, world, players)),
        read_memory=tuple(read_memory_system(kind, console) for kind in players) if ram else (),
    )


def _episode_start(facts: GameConstants, settings: Settings, console_kind, cabinet) -> tuple[System, System, System]:
    """The systems that start an episode."""
    games, starts, noops = len(facts.buttons), len(facts.waits), facts.noops
    exact, told_only = settings.exact_start, settings.life_loss_info
    always, fire_last = settings.like == "gymnasium", settings.like != "vector"

    @wl.system
    def choose(console: console_kind, world: cabinet):
        console.game = world.id % games
        goes_on = console.going_on and world.episode > 0
        pressed = world.fires[console.game] > 0 and world.random() >= world.repeat_action_probability
        console.start = (console.game * noops + world.integer(noops)) * 2 + int(pressed)
        console.record = -1 if goes_on else console.game if exact else console.start
        console.program = console.start if exact else -1
        if goes_on:
            console.program = -1 if told_only else starts + console.start
        if not (told_only and goes_on):  # otherwise no input lies between the two episodes
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
    def begin_again(console: console_kind):
        """Restart a game that ended during the no-ops, with the no-ops that are left."""
        console.record = -1
        if console.over and console.program >= starts:
            console.start = max(console.start - 2 * console.ran, console.game * noops * 2 + console.start % 2)
            console.record = console.start
            console.fresh = True
            console.elapsed = 0
            console.played = 0
            console.frames = 0

    @wl.system
    def settle_in(console: console_kind, world: cabinet):
        if told_only and not console.fresh:
            console.show = NOTHING_NEW
        else:
            console.show = FIRST_PICTURE + console.newest
            console.frames += world.waits[console.start]
            if always and console.fresh:  # ALE's limit counts all frames
                console.played = console.frames

    return choose, begin_again, settle_in


def _episode_step(settings: Settings, console_kind, cabinet) -> tuple[System, System]:
    """The systems that begin and end a step."""
    least, most = settings.skips
    discounts, told_only = settings.zero_discount_on_life_loss, settings.life_loss_info
    pooled, always, hidden = settings.max_pool, settings.like == "gymnasium", settings.like == "vector"
    lifelike, one_life = settings.episodic_life and not hidden, settings.episodic_life and hidden

    @wl.system
    def begin_step(console: console_kind, world: cabinet):
        console.fresh = False
        console.before = console.lives
        console.span = most if least == most else world.integer(least, most + 1)
        if world.max_num_frames_per_episode > 0:
            console.span = max(min(console.span, world.max_num_frames_per_episode - console.played), 1)

    @wl.system
    def judge(console: console_kind, world: cabinet):
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

    return begin_step, judge


@wl.function
def shown(ran: int, span: int, newest: int, pooled: bool, always: bool) -> int:
    """FrameSelection after ``ran`` of ``span`` frames: the maximum of the last two, or the last.

    If the game ended too early for that, the picture stays, or with ``always`` the last frame is shown.
    """
    if ran == span and span > 1 and pooled:
        return BRIGHTER
    if ran == span or (ran == span - 1 and ran > 0) or (always and ran > 0):
        return newest
    return SAME


@wl.function
def shown_before_the_end(ran: int, most: int, newest: int, pooled: bool, ended: bool) -> int:
    """The same where the frame in which a game ends is not shown."""
    if not ended:
        return BRIGHTER if pooled and most > 1 else newest
    if ran == most and most > 1 and pooled:
        return FIRST_PICTURE + SECOND_PICTURE - newest
    return SAME
