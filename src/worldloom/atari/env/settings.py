"""What can be chosen of an Atari world: EnvPool's settings, those of ale-py's vector environment and those of Gymnasium's, under one roof.

The names are EnvPool's where it has one. ``ALIASES`` are what the others call the same things.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.families import closest_first

Like = Literal["envpool", "vector", "gymnasium"]
"""Whose conduct is followed where they differ: EnvPool's, that of ale-py's ``AtariVectorEnv``, or that of Gymnasium's ``ALE/Pong-v5``."""
Observed = Literal["screen", "ram"]
Standard = Literal["auto", "ntsc", "pal", "secam"]

ALIASES = {
    "frameskip": "frame_skip",
    "grayscale": "gray_scale",
    "maxpool": "max_pool",
    "reward_clipping": "reward_clip",
}
"""What ale-py calls settings that EnvPool has under another name."""
MAX_SKIP = 64
MAX_NOOPS = 256
MAX_STACK = 64
MAX_PIXELS = 1024


def _next(number: Any) -> Any:
    return number + 1 if isinstance(number, int) and not isinstance(number, bool) else number


def _wrong(name: str, value: Any, wanted: str) -> InputError:
    return InputError(f"the setting {name} of an Atari world cannot be {value!r}: give {wanted}")


@dataclass(frozen=True)
class Settings:
    """The settings of an Atari world, with EnvPool's defaults.

    Attributes:
        like: Whose conduct is followed where EnvPool, ale-py's vector environment and Gymnasium's differ: how many no-ops an episode
            begins with, what a stack of pictures holds at first, what is seen of a game that ends within a step.
        frame_skip: Frames in a step, in each of which the action is held; a pair (least, greatest + 1) draws their number at every step.
        stack_num: Pictures in an observation, the newest last.
        img_height: Lines of a picture; 0 leaves it at the size that the console has.
        img_width: Columns of a picture; 0 likewise.
        gray_scale: Whether pictures are grey, or red, green and blue.
        max_pool: Whether a pixel is the brighter one of the last two frames of a step, or that of the last frame.
        use_inter_area_resize: Whether pictures are made smaller by taking the mean over the area of a pixel, or by bilinear interpolation.
        obs_type: ``screen``, or ``ram`` for the 128 bytes of the console's memory.
        noop_max: An episode begins after a random number of frames with nothing pressed, below this.
        use_fire_reset: Whether the button is then pressed for a frame, in games that have one.
        episodic_life: Whether an episode ends with every life. The game itself goes on in the next.
        life_loss_info: Whether the loss of a life is told as the end of an episode that nevertheless goes on.
        zero_discount_on_life_loss: Whether the info ``discount`` is 0 where a life is lost, as at the end of an episode.
        reward_clip: Whether the reward is the sign of the points of a step.
        repeat_action_probability: How likely a frame keeps the action of the frame before it, whatever the agent chose.
        full_action_space: Whether all 18 actions are there, or only those that mean something in the game.
        continuous: Whether an action is three numbers instead: how far the stick is pushed, 0 to 1, its angle in radians, and the button, 0 to 1.
            Paddles turn as fast as the stick is pushed far.
        continuous_action_threshold: How far counts as pushed, to each side, and what counts as pressed.
        max_episode_steps: Steps after which an episode is cut off; 0 for none.
        max_num_frames_per_episode: Frames after which it is; 0 for none.
        mode: The variant of the game; None for the usual one.
        difficulty: The difficulty switches; None for the usual ones.
        television: The standard of the television: ``ntsc``, ``pal`` or ``secam``, which decides the colours and how long a frame may last; ``auto`` for
            the game's own, or what the first frames of an unknown ROM tell.
        players: 1, or 2 or 4 for games that have a variant for so many agents.
        exact_start: Whether each episode boots the console and presses the no-ops anew, instead of copying a state that was made so before.
            Both give the same states; this is slow and there for comparison.
    """

    like: Like = "envpool"
    frame_skip: int | tuple[int, int] = 4
    stack_num: int = 4
    img_height: int = 84
    img_width: int = 84
    gray_scale: bool = True
    max_pool: bool = True
    use_inter_area_resize: bool = True
    obs_type: Observed = "screen"
    noop_max: int = 30
    use_fire_reset: bool = True
    episodic_life: bool = False
    life_loss_info: bool = False
    zero_discount_on_life_loss: bool = False
    reward_clip: bool = False
    repeat_action_probability: float = 0.0
    full_action_space: bool = False
    continuous: bool = False
    continuous_action_threshold: float = 0.5
    max_episode_steps: int = 27_000
    max_num_frames_per_episode: int = 0
    mode: int | None = None
    difficulty: int | None = None
    television: Standard = "auto"
    players: int = 1
    exact_start: bool = False

    def __post_init__(self) -> None:
        for name, choices in (
            ("like", get_args(Like)),
            ("obs_type", get_args(Observed)),
            ("television", get_args(Standard)),
            ("players", (1, 2, 4)),
        ):
            if getattr(self, name) not in choices:
                raise _wrong(name, getattr(self, name), f"one of {', '.join(map(str, choices))}")
        for name, least, most in _RANGES:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                raise _wrong(name, value, f"a whole number from {least} to {most:,}")
        for name in _SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise _wrong(name, getattr(self, name), "True or False")
        for name in ("mode", "difficulty"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise _wrong(name, value, "a whole number, or None for the game's own")
        for name in _SHARES:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
                raise _wrong(name, value, "a number from 0 to 1")
        skip = self.frame_skip if isinstance(self.frame_skip, tuple) else (self.frame_skip, _next(self.frame_skip))
        if (
            len(skip) != 2
            or any(isinstance(n, bool) or not isinstance(n, int) for n in skip)
            or not 1 <= skip[0] < skip[1] <= MAX_SKIP + 1
        ):
            raise _wrong(
                "frame_skip",
                self.frame_skip,
                f"a whole number from 1 to {MAX_SKIP}, or a pair (least, greatest + 1) of them, in an id as 2-5",
            )
        if (self.img_height == 0) != (self.img_width == 0):
            raise _wrong(
                "img_height",
                self.img_height,
                "0 together with img_width=0, which leaves pictures as they are, or neither",
            )
        if self.continuous and self.players > 1:
            raise InputError(
                "several players of an Atari world have sticks of 18 actions: leave continuous=True out, or players"
            )
        if self.episodic_life and self.life_loss_info:
            raise InputError(
                "Atari worlds either end episodes with a life (episodic_life) or only tell of it (life_loss_info): choose one of them"
            )

    @property
    def skips(self) -> tuple[int, int]:
        """The fewest and the most frames in a step."""
        return (
            (self.frame_skip[0], self.frame_skip[1] - 1)
            if isinstance(self.frame_skip, tuple)
            else (self.frame_skip, self.frame_skip)
        )


_RANGES = (
    ("stack_num", 1, MAX_STACK),
    ("img_height", 0, MAX_PIXELS),
    ("img_width", 0, MAX_PIXELS),
    ("noop_max", 0, MAX_NOOPS),
    ("max_episode_steps", 0, 2**31 - 1),
    ("max_num_frames_per_episode", 0, 2**31 - 1),
)
_SHARES = ("repeat_action_probability", "continuous_action_threshold")
_SWITCHES = tuple(f.name for f in dataclasses.fields(Settings) if isinstance(f.default, bool))

ENVPOOL = Settings()
"""``Pong-v5`` as EnvPool has it."""
VECTOR = Settings(like="vector", reward_clip=True, max_episode_steps=0, max_num_frames_per_episode=108_000)
"""ale-py's ``AtariVectorEnv``."""
GYMNASIUM = Settings(
    like="gymnasium",
    stack_num=1,
    img_height=0,
    img_width=0,
    gray_scale=False,
    max_pool=False,
    noop_max=0,
    use_fire_reset=False,
    repeat_action_probability=0.25,
    max_episode_steps=0,
    max_num_frames_per_episode=108_000,
)
"""``ALE/Pong-v5`` as Gymnasium has it."""
DEFAULTS: dict[Like, Settings] = {"envpool": ENVPOOL, "vector": VECTOR, "gymnasium": GYMNASIUM}
NAMES = frozenset({*(f.name for f in dataclasses.fields(Settings)), *ALIASES})
"""Whatever a setting may be called."""


CONFIGURED = {
    **{name: name for name in ("repeat_action_probability", "reward_clip", "max_num_frames_per_episode")},
    "reward_clipping": "reward_clip",
    "max_episode_steps": "max_steps",
}
"""Settings that are configuration, which one value per world may be given for, and what it is called there."""
LIMITS: dict[str, tuple[float, float]] = {
    CONFIGURED[name]: (least, most)
    for name, least, most in (*_RANGES, *((name, 0, 1) for name in _SHARES))
    if name in CONFIGURED
}
"""The least and the greatest value of each of those that are numbers, by what it is called there."""


def resolve_settings(given: Mapping[str, Any], like: Like = "envpool") -> Settings:
    """The settings of ``like``, or of whoever ``given`` names under ``like``, with those of ``given`` in their places."""
    named: dict[str, Any] = {}
    for name, value in given.items():
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"they have {', '.join(closest_first(name, sorted(NAMES)))}"
            raise InputError(f"Atari worlds have no setting '{name}'; {hint}")
        known = ALIASES.get(name, name)
        if known in named:
            raise InputError(f"the setting '{known}' of an Atari world is given twice")
        value = value.item() if isinstance(value, np.generic) else value
        unsaid = known in ("mode", "difficulty") and value == -1  # EnvPool's word for the game's own
        if isinstance(value, list):  # which means one value per world, where that can be
            raise InputError(
                f"the setting '{known}' of an Atari world cannot be one value per world{'; a pair is a tuple' if known == 'frame_skip' else ''}"
            )
        named[known] = None if unsaid else value
    if named.get("obs_type") in ("rgb", "grayscale"):  # Gymnasium's words
        named = {"gray_scale": named["obs_type"] == "grayscale", **named, "obs_type": "screen"}
    if isinstance(named.get("television"), str):
        named["television"] = named["television"].lower()
    whose = named.get("like", like)
    if whose not in DEFAULTS:
        raise _wrong("like", whose, f"one of {', '.join(DEFAULTS)}")
    return dataclasses.replace(DEFAULTS[whose], **named)


def format_settings(settings: Settings, like: Like) -> str:
    """What differs from the settings of ``like``, as :func:`read` reads it: ``frame_skip=2,noop_max=1``."""
    base = DEFAULTS[settings.like]
    found = {} if settings.like == like else {"like": settings.like}
    found |= {
        f.name: getattr(settings, f.name)
        for f in dataclasses.fields(Settings)
        if getattr(settings, f.name) != getattr(base, f.name)
    }
    return ",".join(f"{name}={_text(value)}" for name, value in found.items())


def read(text: str) -> dict[str, Any]:
    """Settings written as ``frame_skip=2,noop_max=1``: truth values as true and false, a pair as 2-5."""
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(
                f"'{part}' is no setting of an Atari world: write name=value, several of them with commas between"
            )
        if name.strip() in found:
            raise InputError(f"the setting '{name.strip()}' of an Atari world is given twice")
        found[name.strip()] = _value(value.strip())
    return found


def _text(value: Any) -> str:
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    least, dash, most = text.partition("-")
    if dash and least.isdigit() and most.isdigit():
        return int(least), int(most)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
