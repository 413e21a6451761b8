"""Components and entities of an Atari world: the console, its players and the world's configuration.

Names and types of components are part of a world's fingerprint.
"""

from dataclasses import dataclass
from math import pi

import numpy as np

import worldloom as wl
from worldloom.atari.env.settings import Settings
from worldloom.atari.frames.observe import FrameSelection
from worldloom.atari.native import WIDTH
from worldloom.core.model.fields import Check
from worldloom.core.model.observation_layout import ChannelOrder

INT32_MAX = 2**31 - 1


@dataclass(frozen=True)
class GameConstants:
    """Constants of a world of consoles.

    Attributes:
        record: Bytes of a console's state.
        lines: Scanlines of the tallest picture.
        seen: Shape of a screen observation.
        channels: Its channel axis.
        buttons: int32 (games, actions): console action of each agent action.
        fires: int32 (games,): whether the fire button is pressed before an episode begins.
        waits: int32 (starts,): frames before the first step that count as frames of the episode.
        noops: Number of different no-op counts.
        check: Validity check of restored states.
    """

    record: int
    lines: int
    seen: tuple[int, ...]
    channels: ChannelOrder
    buttons: np.ndarray
    fires: np.ndarray
    waits: np.ndarray
    noops: int
    check: Check


def player_components(facts: GameConstants, settings: Settings) -> type[wl.Components]:
    """The action, the observation and the reward of a player."""
    continuous, table = settings.continuous, facts.buttons

    class Player(wl.Components):
        stick: wl.Action(wl.Box((0.0, -pi, 0.0), (1.0, pi, 1.0), (3,)) if continuous else wl.Discrete(table.shape[1]))
        if settings.obs_type == "ram":
            ram: wl.Observation(128, dtype=wl.uint8, low=0, high=255)
        else:
            screen: wl.Persistent(wl.Observation(*facts.seen, dtype=wl.uint8, low=0, high=255, channels=facts.channels))
        reward: wl.Reward

    return Player


def machine_components(facts: GameConstants, settings: Settings) -> type[wl.Components]:
    """The state of a console and of its episode."""
    games, starts, most = len(facts.buttons), len(facts.waits), settings.skips[1]
    continuous, discounts = settings.continuous, settings.zero_discount_on_life_loss
    hands = max(2, settings.players)

    class Machine(wl.Components):
        machine: wl.Checked(wl.Persistent(wl.Array(wl.uint8, facts.record)), facts.check)
        pictures: wl.Persistent(wl.Array(wl.uint8, 2, facts.lines, WIDTH))  # colours; frames alternate between the two
        newest: wl.Between(wl.Persistent(int), 0, 1)  # index of the picture of the last frame
        show: wl.Between(
            int, int(FrameSelection.SAME), int(FrameSelection.NOTHING_NEW)
        )  # FrameSelection of the observation
        pressed: wl.Array(wl.uint8, most, hands)  # inputs of each frame of a step
        held: wl.Between(wl.Persistent(int), 0, 255)  # input of the first player in the last frame
        held_by_others: wl.Between(wl.Persistent(wl.Array(int, 3)), 0, 255)
        if settings.players > 1:
            shares: wl.Array(int, 3)  # points of the other players in the step
        if continuous:
            force: wl.Array(int, most)  # paddle step of each frame of a step
            held_force: wl.Persistent(int)
        span: wl.Between(int, 0, most)  # frames of the step
        ran: wl.Between(int, 0, INT32_MAX)  # emulated frames of the step
        game: wl.Between(int, 0, games - 1)
        start: wl.Between(int, 0, starts - 1)  # start of the episode: game, no-ops, fire button
        record: wl.Between(int, -1, starts - 1)  # stored state to restore; -1 for none
        program: wl.Between(int, -1, 2 * starts - 1)  # start program to run; -1 for none
        fresh: bool  # whether a new game begins
        over: wl.Persistent(bool)
        going_on: wl.Persistent(bool)  # whether the next episode continues the same game
        elapsed: wl.Between(wl.Persistent(int), 0, INT32_MAX)  # steps of the game so far
        played: wl.Between(wl.Persistent(int), 0, INT32_MAX)  # frames of those steps
        before: int  # lives before the step
        points: wl.Info(int)  # points of the step, never clipped
        lives: wl.Persistent(wl.Info(int))
        frames: wl.Between(wl.Persistent(wl.Info(int)), 0, INT32_MAX)  # of the game, including those before step 1
        discount: wl.Info(float) if discounts else float = 1.0

    return Machine


def world_class(facts: GameConstants, settings: Settings) -> type[wl.World]:
    """The world with the configuration that its systems read."""
    table, fired, frames_before = facts.buttons, facts.fires, facts.waits
    clip, limit = settings.reward_clip, settings.max_num_frames_per_episode
    sticky = float(settings.repeat_action_probability)

    class Cabinet(wl.World):
        buttons: wl.Config = table
        fires: wl.Config = fired
        waits: wl.Config = frames_before
        repeat_action_probability: wl.Config = sticky
        reward_clip: wl.Config = clip
        max_num_frames_per_episode: wl.Config = limit

    return Cabinet


def console_and_players(
    facts: GameConstants, settings: Settings
) -> tuple[type[wl.Entity], tuple[type[wl.Entity], ...]]:
    """The entity of the console, and those of the players: the console itself in single-player games."""
    Player, Machine = player_components(facts, settings), machine_components(facts, settings)  # noqa: N806

    if settings.players == 1:

        class Console(wl.Entity, Machine, Player):
            pass

        return Console, (Console,)

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

    return Console, (First, Second, Third, Fourth)[: settings.players]
