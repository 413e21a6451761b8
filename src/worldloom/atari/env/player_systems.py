"""Systems of the players: inputs from actions, rewards from points, and RAM observations.

The text of systems is part of a world's fingerprint: renaming anything in them makes earlier snapshots unreadable.
"""

import worldloom as wl
from worldloom import cos, sin
from worldloom.atari.emulator.inputs import PADDLE_STEP
from worldloom.atari.emulator.rom_bank import RAM
from worldloom.atari.env.settings import Settings
from worldloom.core.frontend.system import System

BY_DIRECTION = (9, 5, 8, 4, 0, 3, 7, 2, 6, 17, 13, 16, 12, 1, 11, 15, 10, 14)
"""Actions by direction, from down-left to up-right, and again with the fire button."""


def press_systems(console_kind, cabinet, players, settings: Settings) -> tuple[System, ...]:
    """The systems that turn the players' actions into the inputs of each frame."""
    if settings.continuous:
        return (push_system(console_kind, cabinet, settings.continuous_action_threshold),)
    if settings.players == 1:
        return (press_system(console_kind, cabinet),)
    others = enumerate(players[1:])
    return (
        press_first_system(console_kind, cabinet, players[0]),
        *(press_other_system(console_kind, cabinet, kind, place) for place, kind in others),
    )


def pay_systems(console_kind, cabinet, players) -> tuple[System, ...]:
    """The systems that write the rewards of the players."""
    if len(players) == 1:
        return (pay_system(console_kind, cabinet),)
    others = enumerate(players[1:])
    return (
        pay_first_system(players[0], console_kind, cabinet),
        *(pay_other_system(kind, console_kind, cabinet, place) for place, kind in others),
    )


def press_system(console_kind, cabinet) -> System:
    """Inputs of each frame of a step: the chosen action, or with sticky actions the previous one."""

    @wl.system
    def press(console: console_kind, world: cabinet):
        for frame in range(console.span):
            if world.repeat_action_probability <= 0.0 or world.random() >= world.repeat_action_probability:
                console.held = world.buttons[console.game, console.stick]
            console.pressed[frame, 0] = wl.uint8(console.held)

    return press


def push_system(console_kind, cabinet, threshold: float) -> System:
    """The same for continuous actions: radius, angle and fire of the stick."""
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


def press_first_system(console_kind, cabinet, first) -> System:
    """The same for the first of several players."""

    @wl.system
    def press_first(console: console_kind, world: cabinet):
        for frame in range(console.span):
            if world.repeat_action_probability <= 0.0 or world.random() >= world.repeat_action_probability:
                console.held = world.buttons[console.game, world.at(first, 0).stick]
            console.pressed[frame, 0] = wl.uint8(console.held)

    return press_first


def press_other_system(console_kind, cabinet, player_kind, place: int) -> System:
    """The same for another player; ``place`` is 0 for the second."""

    @wl.system
    def press_other(console: console_kind, world: cabinet):
        for frame in range(console.span):
            if world.repeat_action_probability <= 0.0 or world.random() >= world.repeat_action_probability:
                console.held_by_others[place] = world.buttons[console.game, world.at(player_kind, 0).stick]
            console.pressed[frame, place + 1] = wl.uint8(console.held_by_others[place])

    return press_other


def pay_system(console_kind, cabinet) -> System:
    """Reward of a single player."""

    @wl.system
    def pay(console: console_kind, world: cabinet):
        console.reward = sign_of(console.points) if world.reward_clip else float(console.points)

    return pay


def pay_first_system(player_kind, console_kind, cabinet) -> System:
    """Reward of the first of several players."""

    @wl.system
    def pay_first(player: player_kind, world: cabinet):
        points = world.at(console_kind, 0).points
        player.reward = sign_of(points) if world.reward_clip else float(points)

    return pay_first


def pay_other_system(player_kind, console_kind, cabinet, place: int) -> System:
    """Reward of another player; ``place`` is 0 for the second."""

    @wl.system
    def pay_other(player: player_kind, world: cabinet):
        points = world.at(console_kind, 0).shares[place]
        player.reward = sign_of(points) if world.reward_clip else float(points)

    return pay_other


def read_memory_system(player_kind, console_kind) -> System:
    """Observation of the console's RAM."""

    @wl.system(threads=32)
    def read_memory(player: player_kind, world: wl.World):
        for place in wl.share(128):
            player.ram[place] = world.at(console_kind, 0).machine[RAM + place]

    return read_memory


@wl.function
def sign_of(points: int) -> float:
    return 1.0 if points > 0 else -1.0 if points < 0 else 0.0
