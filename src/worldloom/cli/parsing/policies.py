"""The texts of ``--policies``, ``--opponent`` and ``--set``: parsed and formatted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from worldloom.cli.parsing.config_values import parse_literal
from worldloom.core.base.errors import InputError
from worldloom.learn.runs.pretrained import PRETRAINED

SCHEDULE = re.compile(r"\s*[\d.e+]+:")
"""The start of a schedule: the steps of its first point."""


def parse_policies(text: str) -> dict[str, str]:
    """Agents by the name of their policy, from ``hunters=Wolf;prey=Sheep[0:2],Sheep[2]``.

    Raises:
        InputError: If ``text`` has another form, or names a policy twice.
    """
    policies: dict[str, str] = {}
    for entry in text.split(";"):
        name, equals, agents = (word.strip() for word in entry.partition("="))
        if not name and not agents and not equals:
            continue
        if not name or not agents or "/" in name or name in policies:
            raise InputError(
                "--policies names each policy once with its agents, "
                f'as in "hunters=Wolf;prey=Sheep[0:2],Sheep[2]", not "{text}"'
            )
        policies[name] = agents
    return policies


def format_policies(policies: dict[str, str]) -> str:
    """The text that :func:`parse_policies` parses into ``policies``."""
    return ";".join(f"{name}={agents}" for name, agents in policies.items())


def absolute_source(text: str) -> str:
    """A run named as in ``RUN:CHECKPOINT:POLICY``, with an absolute path; the word ``pretrained`` stays as it is."""
    if not text or text.partition(":")[0] == PRETRAINED:
        return text
    return str(Path(text).expanduser().absolute())


def parse_opponents(texts: Sequence[str]) -> dict[str, str]:
    """Runs by the name of the policy, from ``("hunters=runs/tag-1:best", ...)``, with absolute paths.

    Raises:
        InputError: If a text has another form, or names a policy twice.
    """
    opponents: dict[str, str] = {}
    for text in texts:
        name, source = (word.strip() for word in text.partition("=")[::2])
        if not name or not source or name in opponents:
            raise InputError(f"--opponent names each policy once with a run, as in Runner=runs/tag-1, not '{text}'")
        opponents[name] = absolute_source(source)
    return opponents


def parse_policy_settings(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings by policy and name, from ``("Runner:learning_rate=1e-4", "Runner:policy.hidden=(32,32)")``.

    A schedule such as ``0:0.01,1e6:0.001`` becomes a list of points.

    Raises:
        InputError: If a text has another form.
    """
    settings: dict[str, dict[str, Any]] = {}
    for text in texts:
        target, equals, value = text.partition("=")
        policy, colon, name = (word.strip() for word in target.partition(":"))
        if not policy or not colon or not name or not equals:
            raise InputError(f"--set takes a policy, a setting and a value, as in Runner:gamma=0.9, not '{text}'")
        if SCHEDULE.match(value):
            from worldloom.learn.config.piecewise_linear import parse_points

            settings.setdefault(policy, {})[name] = [list(point) for point in parse_points(value).points]
            continue
        literal = parse_literal(value)
        settings.setdefault(policy, {})[name] = list(literal) if isinstance(literal, tuple) else literal
    return settings


def format_policy_settings(settings: Mapping[str, Mapping[str, Any]]) -> tuple[str, ...]:
    """The texts that :func:`parse_policy_settings` parses into ``settings``."""
    return tuple(f"{policy}:{name}={value!r}" for policy, own in settings.items() for name, value in own.items())
