"""An Atari world: one console per world, its games, and what an agent sees of them and does in them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import worldloom as wl
from worldloom.atari import launches
from worldloom.atari.console import RAM
from worldloom.atari.lineup import Title, on_shelf, titles
from worldloom.atari.observe import MOST_LINES, WIDTH, Look, Show
from worldloom.atari.palettes import colours, greys
from worldloom.atari.settings import Like, Settings, settle, written
from worldloom.atari.starts import starts
from worldloom.core.system import System

WORLDS_PER_THREAD = 4
NOOP, FIRE = 0, 1
ENVPOOL_LINES = 210
"""EnvPool shows no more lines than these, of taller pictures the upper ones."""
SAME, FIRST_PICTURE, SECOND_PICTURE, BRIGHTER, NOTHING_NEW = map(int, Show)
"""Which pictures make the newest one of an observation: none, so that the one before is shown again, one of the two, the brighter pixels of both,
or that nothing is added to it."""


def atari(games: str | Sequence[str], *, like: Like = "envpool", **settings: Any) -> wl.Definition:
    """The definition of an Atari world, for :class:`worldloom.Simulation` and :func:`worldloom.make`.

    Args:
        games: A game as ``ms_pacman`` or ``MsPacman-v5``, or the path of a ROM; or several of them: world k then plays game k modulo
            their number, and all have the 18 actions.
        like: Whose defaults the settings have: EnvPool's, those of ale-py's vector environment, or Gymnasium's.
        settings: As :class:`worldloom.atari.settings.Settings` has them.
    """
    chosen = settle({**settings, "like": like})
    found = titles([games] if isinstance(games, str) else list(games), chosen)
    return define(found, chosen)


def define(found: tuple[Title, ...], settings: Settings) -> wl.Definition:
    """The world of these games, with these settings."""
    shelf, begins = on_shelf(found), starts(found, settings)
    choices = [title.choices(settings, len(found) > 1) for title in found]
    table = np.array(choices, np.int32)
    number, begin_count, noops = len(found), begins.count, begins.noops
    least, most = settings.skips
    look, heights, palettes = _look(found, settings)
    seen = _seen(look, max(heights), settings)
    clip, sticky, limit = settings.reward_clip, float(settings.repeat_action_probability), settings.max_num_frames_per_episode
    exact, discounts = settings.exact_start, settings.zero_discount_on_life_loss
    pooled, always, hidden = settings.max_pool, settings.like == "gymnasium", settings.like == "vector"
    lifelike, one_life = settings.episodic_life and not hidden, settings.episodic_life and hidden
    told_only = settings.life_loss_info
    fired, rests, fire_last = np.array(begins.fires, np.int32), begins.rests, settings.like != "vector"

    class Console(wl.Entity):
        machine: wl.Persistent(wl.Array(wl.uint8, shelf.record))
        pictures: wl.Persistent(wl.Array(wl.uint8, 2, shelf.height, 160))  # colours in the last frame but one of a step, and in the last
        pressed: wl.Array(wl.uint8, most, 2)  # what both players do in each frame of a step
        span: int  # frames of the step
        game: int
        held: int  # what player A held in the last frame
        record: int  # the kept state that an episode begins with; -1 for none
        program: int  # what is pressed before an episode begins; -1 for nothing
        start: int  # which no-ops an episode begins with, and whether the button is pressed
        fresh: bool  # whether a game begins
        over: wl.Persistent(bool)
        going_on: wl.Persistent(bool)  # whether the next episode is another life of the same game
        elapsed: wl.Persistent(int)  # steps of the game
        played: wl.Persistent(int)  # frames of these steps
        before: int  # lives before the step
        ran: int  # frames of the step that were emulated
        points: wl.Info(int)  # of the step, never clipped
        lives: wl.Persistent(wl.Info(int))
        frames: wl.Persistent(wl.Info(int))  # of the game, those before its first step included
        discount: (wl.Info(float) if discounts else float) = 1.0
        newest: wl.Persistent(int)  # which picture the last frame went to
        show: int  # SAME, ...
        stick: wl.Action(wl.Discrete(len(choices[0])))
        if settings.obs_type == "ram":
            ram: wl.Observation(128, dtype=wl.uint8, low=0, high=255)
        else:
            screen: wl.Persistent(wl.Observation(*seen, dtype=wl.uint8, low=0, high=255))
        reward: wl.Reward

    class Cabinet(wl.World):
        buttons: wl.Config = table  # what each choice presses, by game
        fires: wl.Config = fired  # whether the button is pressed before an episode begins, by game
        waits: wl.Config = rests  # frames before an episode begins, by start
        repeat_action_probability: wl.Config = sticky
        reward_clip: wl.Config = clip
        max_num_frames_per_episode: wl.Config = limit

    @wl.system
    def choose(console: Console, world: Cabinet):
        console.game = world.id % number
        goes_on = console.going_on and world.episode > 0
        pressed = world.fires[console.game] > 0 and world.random() >= world.repeat_action_probability
        console.start = (console.game * noops + world.integer(noops)) * 2 + int(pressed)
        console.record = -1 if goes_on else console.game if exact else console.start
        console.program = console.start if exact else -1
        if goes_on:
            console.program = -1 if told_only else begin_count + console.start
        console.held = FIRE if pressed and fire_last else NOOP
        console.fresh = not goes_on
        console.going_on = False
        if not goes_on:
            console.elapsed = 0
            console.played = 0
            console.frames = 0

    @wl.system
    def begin_again(console: Console, world: Cabinet):
        """A game that ended among the no-ops is begun anew, with those that are left."""
        console.record = -1
        if console.over and console.program >= begin_count:
            console.start = max(console.start - 2 * console.ran, console.game * noops * 2 + console.start % 2)
            console.record = console.start
            console.fresh = True
            console.elapsed = 0
            console.played = 0
            console.frames = 0

    @wl.system
    def settle_in(console: Console, world: Cabinet):
        console.show = NOTHING_NEW if told_only and not console.fresh else FIRST_PICTURE + console.newest
        if not (told_only and not console.fresh):
            console.frames += world.waits[console.start]

    @wl.system
    def press(console: Console, world: Cabinet):
        console.fresh = False
        console.before = console.lives
        console.span = most if least == most else world.integer(least, most + 1)
        if world.max_num_frames_per_episode > 0:
            console.span = max(min(console.span, world.max_num_frames_per_episode - console.played), 1)
        for frame in range(most):
            if world.repeat_action_probability <= 0.0 or world.random() >= world.repeat_action_probability:
                console.held = world.buttons[console.game, console.stick]
            console.pressed[frame, 0] = wl.uint8(console.held)

    @wl.system
    def judge(console: Console, world: Cabinet):
        console.frames += console.ran
        console.played += console.ran
        console.elapsed += 1
        console.reward = sign_of(console.points) if world.reward_clip else float(console.points)
        lost = console.lives < console.before
        late = world.max_steps > 0 and console.elapsed >= world.max_steps
        cut = world.max_num_frames_per_episode > 0 and console.played >= world.max_num_frames_per_episode
        console.discount = 0.0 if console.over or (discounts and lost) else 1.0
        if late or (cut and not console.over):
            world.truncate()
        ended = console.over or (one_life and lost)
        if ended:
            world.terminate()
        elif told_only and lost:
            world.terminate()
            console.going_on = True
        elif lifelike and lost and console.lives > 0:
            world.terminate()
            console.going_on = not late
        newest = FIRST_PICTURE + console.newest
        if hidden:
            console.show = shown_before_the_end(console.ran, most, newest, pooled, ended or cut)
        else:
            console.show = shown(console.ran, console.span, newest, pooled, always)

    window = most if always else 2 if pooled or not hidden else 1
    workshop = launches.Workshop(shelf, begins, "Console")
    reset: list[System | wl.Launch] = [choose]
    reset.append((launches.PowerOn if exact else launches.Restore)(workshop, Console))
    if exact or lifelike:
        reset += [launches.Follow(workshop, Console), launches.Draw(workshop, Console)]
    if lifelike:
        reset += [begin_again, launches.Restore(workshop, Console)]
    reset.append(settle_in)
    return wl.Definition(
        _id(found, settings),
        Cabinet,
        {Console: 1},
        reset=tuple(reset),
        step=(press, launches.Emulate(workshop, Console, window, one_life), launches.Draw(workshop, Console), judge),
        observe=(_read_memory(Console) if settings.obs_type == "ram" else launches.Show(workshop, Console, look, heights, palettes),),
        max_steps=settings.max_episode_steps,
        doc=_doc(found),
        render=_renderer(found),
        frames_per_second=max(1, 60 // most),
        notice="; ".join(title.rom.notice for title in found if title.rom.notice),
        worlds_per_thread=WORLDS_PER_THREAD,
        file=__file__,
    ).checked


def _read_memory(kind) -> System:
    """The observation of the console's memory."""

    @wl.system(threads=32)
    def read_memory(console: kind):
        for place in wl.share(128):
            console.ram[place] = console.machine[RAM + place]

    return read_memory


@wl.function
def shown(ran: int, span: int, newest: int, pooled: bool, always: bool) -> int:
    """What an observation shows after ``ran`` of ``span`` frames: the last two, the last, or what it showed before where the game ended too early;
    ``always`` the last where it ended."""
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


def _id(found: tuple[Title, ...], settings: Settings) -> str:
    """``Pong-v5``, ``ALE/Pong-v5``, ``Pong-v5+Breakout-v5``, each with its unusual settings behind a colon."""
    like: Like = "gymnasium" if settings.like == "gymnasium" else "envpool"
    prefix = "ALE/" if like == "gymnasium" else ""
    more = written(settings, like)
    return "+".join(title.id if title.game is None else prefix + title.id for title in found) + (f":{more}" if more else "")


def _look(found: tuple[Title, ...], settings: Settings) -> tuple[Look, list[int], list]:
    """How pictures are shown, with the lines and the palette of each game."""
    colour = "grey" if settings.gray_scale else "pixels" if settings.stack_num == 1 and settings.like != "envpool" else "planes"
    older = "zero" if settings.like == "vector" else "repeat"
    look = Look(settings.img_height, settings.img_width, settings.stack_num, colour, settings.use_inter_area_resize, older)
    most = ENVPOOL_LINES if settings.like == "envpool" else MOST_LINES
    table = greys if settings.gray_scale else colours
    return look, [min(title.television.height, most) for title in found], [table(title.television.format) for title in found]


def _seen(look: Look, lines: int, settings: Settings) -> tuple[int, ...]:
    """The shape of what an agent sees."""
    size = (look.height or lines, look.width or WIDTH)
    if look.colour == "pixels":
        return (*size, 3)
    return size if look.stack == look.channels == 1 and settings.like == "gymnasium" else (look.stack * look.channels, *size)


def _doc(found: tuple[Title, ...]) -> str:
    names = [title.rom.name if title.game is None else title.game.id for title in found]
    return f"{names[0]} of the Atari 2600." if len(names) == 1 else f"{len(names)} games of the Atari 2600: {', '.join(names)}."


def _renderer(found: tuple[Title, ...]):
    """Shows the last picture of a console as it is on a television."""
    palettes, heights = [colours(title.television.format) for title in found], [title.television.height for title in found]

    def draw(sim: wl.Simulation, world: int) -> np.ndarray:
        game, console = (sim.world_offset + world) % len(found), sim["Console"]
        newest = int(console.newest.numpy()[world, 0])
        picture = console.pictures.torch()[world, 0, newest, : heights[game]].cpu().numpy()  # of one world: all of a GPU's may be many gigabytes
        return palettes[game][picture]

    return draw
