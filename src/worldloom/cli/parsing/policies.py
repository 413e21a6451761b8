"""The text of ``--policies``: parsed and formatted."""

from __future__ import annotations

from worldloom.core.base.errors import InputError


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
