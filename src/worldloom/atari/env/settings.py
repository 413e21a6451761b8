"""Settings of Atari worlds: the union of the settings of EnvPool, ale-py's vector environment and Gymnasium.

Names are EnvPool's where it has one. ``ALIASES`` maps the names of the others.
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
"""The implementation to follow: EnvPool, ale-py's ``AtariVectorEnv``, or Gymnasium's ``ALE/Pong-v5``."""
Observed = Literal["screen", "ram"]
Standard = Literal["auto", "ntsc", "pal", "secam"]

ALIASES = {
    "frameskip": "frame_skip",
    "grayscale": "gray_scale",
    "maxpool": "max_pool",
    "reward_clipping": "reward_clip",
}
"""ale-py's names of EnvPool's settings."""
MAX_SKIP = 64
MAX_NOOPS = 256
MAX_STACK = 64
MAX_PIXELS = 1024


def _next(number: Any) -> Any:
    return number + 1 if isinstance(number, int) and not isinstance(number, bool) else number


def _wrong(name: str, value: Any, expected: str) -> InputError:
    return InputError(f"the setting {name} of an Atari world cannot be {value!r}: give {expected}")


@dataclass(frozen=True)
class Settings:
    """The settings of an Atari world, with EnvPool's defaults.

    Attributes:
        like: The implementation to follow where EnvPool, ale-py's vector environment and Gymnasium differ: number of
            no-ops at the start, initial frame stack, observation of a game that ends within a step.
        frame_skip: Frames per step, with the action held; a pair (min, max + 1) draws the number at every step.
        stack_num: Stacked frames of an observation, newest last.
        img_height: Height of an observation in pixels; 0 keeps the console's own.
        img_width: Width of an observation in pixels; 0 keeps the console's own.
        gray_scale: Whether observations are grey, or RGB.
        max_pool: Whether observations are the pixel-wise maximum of a step's last two frames, or the last frame.
        use_inter_area_resize: Whether frames are resized by area averaging, or by bilinear interpolation.
        obs_type: ``screen``, or ``ram`` for the 128 bytes of the console's memory.
        noop_max: Exclusive upper bound of the random number of no-op frames at the start of an episode.
        use_fire_reset: Whether the fire button is then pressed for one frame, in games that use it.
        episodic_life: Whether an episode ends when a life is lost. The next episode continues the game.
        life_loss_info: Whether a lost life is reported as the end of an episode without resetting the game.
        zero_discount_on_life_loss: Whether the info ``discount`` is 0 when a life is lost, as at the end of an episode.
        reward_clip: Whether the reward is the sign of a step's points.
        repeat_action_probability: Sticky actions: probability that a frame repeats the action of the previous frame.
        full_action_space: Whether all 18 actions are available, or the minimal set of the game.
        continuous: Whether an action is three numbers instead: radius of the stick, 0 to 1, its angle in radians, and
            fire, 0 to 1. The radius is the speed of paddles.
        continuous_action_threshold: Threshold above which the stick counts as pushed and the button as pressed.
        max_episode_steps: Steps after which an episode is truncated; 0 for no limit.
        max_num_frames_per_episode: Frames after which an episode is truncated; 0 for no limit.
        mode: Mode of the game; None for the default.
        difficulty: Difficulty switches; None for the default.
        television: Television standard: ``ntsc``, ``pal`` or ``secam``. It decides the colours and the maximum length
            of a frame. ``auto`` selects the game's own, or detects it for an unknown ROM.
        players: 1, or 2 or 4 for games with a multiplayer variant of that many agents.
        exact_start: Whether every episode boots the console and runs the no-ops, instead of copying a stored state.
            Both give the same states. This option is slow and serves comparisons.
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
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise _wrong(name, value, f"a whole number from {low} to {high:,}")
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
                "0 together with img_width=0, which keeps the console's own size, or neither",
            )
        if self.continuous and self.players > 1:
            raise InputError(
                "several players of an Atari world have discrete actions: leave continuous=True out, or players"
            )
        if self.episodic_life and self.life_loss_info:
            raise InputError(
                "Atari worlds either end episodes when a life is lost (episodic_life) "
                "or only report it (life_loss_info): choose one of them"
            )

    @property
    def skips(self) -> tuple[int, int]:
        """Minimum and maximum number of frames per step."""
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
"""Defaults of EnvPool's ``Pong-v5``."""
VECTOR = Settings(like="vector", reward_clip=True, max_episode_steps=0, max_num_frames_per_episode=108_000)
"""Defaults of ale-py's ``AtariVectorEnv``."""
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
"""Defaults of Gymnasium's ``ALE/Pong-v5``."""
DEFAULTS: dict[Like, Settings] = {"envpool": ENVPOOL, "vector": VECTOR, "gymnasium": GYMNASIUM}
NAMES = frozenset({*(f.name for f in dataclasses.fields(Settings)), *ALIASES})
"""All names of settings, aliases included."""


CONFIGURED = {
    **{name: name for name in ("repeat_action_probability", "reward_clip", "max_num_frames_per_episode")},
    "reward_clipping": "reward_clip",
    "max_episode_steps": "max_steps",
}
"""Settings that may have one value per world, and the names of their configuration columns."""
LIMITS: dict[str, tuple[float, float]] = {
    CONFIGURED[name]: (low, high)
    for name, low, high in (*_RANGES, *((name, 0, 1) for name in _SHARES))
    if name in CONFIGURED
}
"""Minimum and maximum of the numeric ones, by name of the configuration column."""


def resolve_settings(explicit: Mapping[str, Any], like: Like = "envpool") -> Settings:
    """The defaults of ``explicit["like"]``, or else of ``like``, overridden by ``explicit``."""
    named: dict[str, Any] = {}
    for name, value in explicit.items():
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, n=1)
            hint = f"did you mean {near[0]}?" if near else f"they have {', '.join(closest_first(name, sorted(NAMES)))}"
            raise InputError(f"Atari worlds have no setting '{name}'; {hint}")
        canonical = ALIASES.get(name, name)
        if canonical in named:
            raise InputError(f"the setting '{canonical}' of an Atari world is given twice")
        value = value.item() if isinstance(value, np.generic) else value
        default = canonical in ("mode", "difficulty") and value == -1  # EnvPool's value for the game's default
        if isinstance(value, list):  # a list means one value per world
            hint = "; a pair is a tuple" if canonical == "frame_skip" else ""
            raise InputError(f"the setting '{canonical}' of an Atari world cannot be one value per world{hint}")
        named[canonical] = None if default else value
    if named.get("obs_type") in ("rgb", "grayscale"):  # Gymnasium's values
        named = {"gray_scale": named["obs_type"] == "grayscale", **named, "obs_type": "screen"}
    if isinstance(named.get("television"), str):
        named["television"] = named["television"].lower()
    base = named.get("like", like)
    if base not in DEFAULTS:
        raise _wrong("like", base, f"one of {', '.join(DEFAULTS)}")
    return dataclasses.replace(DEFAULTS[base], **named)


def format_settings(settings: Settings, like: Like) -> str:
    """The settings that differ from the defaults, as text for :func:`parse_settings`: ``frame_skip=2,noop_max=1``."""
    base = DEFAULTS[settings.like]
    changed = {} if settings.like == like else {"like": settings.like}
    changed |= {
        f.name: getattr(settings, f.name)
        for f in dataclasses.fields(Settings)
        if getattr(settings, f.name) != getattr(base, f.name)
    }
    return ",".join(f"{name}={_text(value)}" for name, value in changed.items())


def parse_settings(text: str) -> dict[str, Any]:
    """Parse settings such as ``frame_skip=2,noop_max=1``; booleans are true and false, a pair is 2-5."""
    parsed: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"'{part}' is no setting of an Atari world: write name=value, separated by commas")
        if name.strip() in parsed:
            raise InputError(f"the setting '{name.strip()}' of an Atari world is given twice")
        parsed[name.strip()] = _value(value.strip())
    return parsed


def _text(value: Any) -> str:
    return "-".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    low, dash, high = text.partition("-")
    if dash and low.isdigit() and high.isdigit():
        return int(low), int(high)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
