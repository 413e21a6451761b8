"""The texts of ``--search``: ``learning_rate=1e-4:1e-2:log``, ``epochs=1:8``, ``policy.hidden=(32,32),(64,64)``."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.search.apply_settings import setting_type, with_settings
from worldloom.learn.experiments.search.dimension import Choices, Dimension, Range
from worldloom.learn.runs.training_request import TrainingRequest

EXAMPLES = "learning_rate=1e-4:1e-2:log, epochs=1:8 or num_envs=256,1024"
FIXED = ("seed", "device", "eval_every", "eval_episodes", "eval_worlds", "eval_seed", "eval_stochastic")
"""Settings that are the same in all trainings of a search, so that their returns can be compared."""
MAX_CHOICES, MAX_TEXT = 1000, 100_000
"""Bounds of the choices of a setting, and of the characters of a text: texts of ``sweep.json`` are not trusted."""
MAX_WHOLE = 2**53
"""Bound of whole numbers, which are exact as floats up to here."""


def parse_space(texts: Sequence[str], request: TrainingRequest) -> tuple[Dimension, ...]:
    """The searched settings of ``texts``; InputError, one sentence, where a text is not one.

    Args:
        texts: One ``NAME=VALUES`` each. Values are ``LOW:HIGH``, ``LOW:HIGH:log``, ``LOW:HIGH:STEP`` or choices
            separated by commas.
        request: The training. The values must be valid with its other settings.
    """
    if not texts:
        raise InputError(f"--search needs a setting with the values to try, such as {EXAMPLES}")
    space: dict[str, Dimension] = {}
    for text in texts:
        dimension = parse_dimension(text, request)
        if dimension.name in space:
            raise InputError(f"--search names {dimension.name} twice: name each setting once")
        space[dimension.name] = dimension
    return tuple(space.values())


def parse_dimension(text: str, request: TrainingRequest) -> Dimension:
    """The searched setting of one text; InputError where it is not one."""
    if len(text) > MAX_TEXT:
        raise InputError(f"a text of --search has {len(text):,} characters, and at most {MAX_TEXT:,} are read")
    name, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not name or not values:
        raise InputError(f"--search takes a setting and the values to try, such as {EXAMPLES}, not '{text}'")
    policy, colon, setting = name.rpartition(":")
    setting = setting.replace("-", "_")
    name = f"{policy}{colon}{setting}"
    if setting in FIXED:
        raise InputError(f"--search {text}: {setting} is the same in all trainings; give --{setting.replace('_', '-')}")
    try:
        dimension: Dimension
        hint = setting_type(request, name)
        parts = _split(values)
        if len(parts) > 1:
            choices = _choices(name, parts)
            dimension, ends = choices, choices.values
        elif ":" in values:
            numbers = _range(name, values, hint)
            dimension, ends = numbers, (numbers.nearest(numbers.low), numbers.nearest(numbers.high))
        else:
            raise InputError(f"{values} is one value; give a range such as 1:8, or several choices separated by commas")
        for value in ends:
            with_settings(request, {name: value})
    except InputError as error:
        raise InputError(f"--search {_shortened(text)}: {error}") from None
    return dimension


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


def _split(text: str) -> list[str]:
    """``text`` split at commas that are not in brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _choices(name: str, parts: Sequence[str]) -> Choices:
    if len(parts) > MAX_CHOICES:
        raise InputError(f"there are {len(parts):,} choices, and at most {MAX_CHOICES:,} are tried; give a range")
    values = []
    for part in parts:
        if not part:
            raise InputError("a choice is empty; separate choices by single commas")
        value = _literal(part)
        if value in values:
            raise InputError(f"the choice {part} is named twice; name each once")
        values.append(value)
    return Choices(name, tuple(values))


def _literal(text: str) -> Any:
    """A number, truth value or list; any other text is a text. ``1e6`` is a whole number."""
    try:
        value = ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    if isinstance(value, float) and value.is_integer() and re.fullmatch(r"\d+e\+?\d+", text):
        return int(value)
    return list(value) if isinstance(value, tuple) else value


def _range(name: str, text: str, hint: Any) -> Range:
    low_text, high_text, *rest = text.split(":")
    if hint not in (int, float):
        raise InputError(f"{name} is not a number; give choices separated by commas")
    if len(rest) > 1:
        raise InputError("a range is LOW:HIGH, LOW:HIGH:log or LOW:HIGH:STEP")
    low, high = (_number(part, hint) for part in (low_text, high_text))
    log = rest == ["log"]
    if not low < high:
        raise InputError(f"the range must go up, and {high_text} is not above {low_text}")
    if log and low <= 0:
        raise InputError(f"a logarithmic range starts above 0, not at {low_text}")
    step = _number(rest[0], hint) if rest and not log else 0.0
    if rest and not log and not 0 < step <= high - low:
        raise InputError(f"the step must be above 0 and at most {high - low:g}, not {rest[0]}")
    return Range(name, low, high, hint is int, log, step)


def _number(text: str, hint: Any) -> float:
    """A finite number, whole where the setting is."""
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"'{text}' is not a number; a range is LOW:HIGH, LOW:HIGH:log or LOW:HIGH:STEP") from None
    if not math.isfinite(number):
        raise InputError(f"the bound {text} is not finite")
    if hint is int and (not number.is_integer() or abs(number) > MAX_WHOLE):
        raise InputError(f"{text} is not a whole number, which this setting needs")
    return number
