"""The definition of a game of Hanabi."""

from __future__ import annotations

from worldloom.core.registry.definition import Definition
from worldloom.envs.hanabi.entities import make_classes
from worldloom.envs.hanabi.observations import observe_systems
from worldloom.envs.hanabi.rendering import draw
from worldloom.envs.hanabi.rules import legal_system, move_systems, start_system
from worldloom.envs.hanabi.settings import HanabiSettings, Sizes


def define(id: str, settings: HanabiSettings) -> Definition:
    """The definition of the game with ``settings``."""
    sizes = Sizes(settings)
    classes = make_classes(settings, sizes)
    return Definition(
        id,
        classes.Game,
        {classes.Player: settings.players if settings.agents == "all" else 1},
        reset=(start_system(classes, settings, sizes),),
        step=tuple(move_systems(classes, settings, sizes)),
        observe=(legal_system(classes, settings, sizes), *observe_systems(classes, settings, sizes)),
        render=draw,
        frames_per_second=2,
        doc="Hanabi: play the cards of every colour in order, though players see all hands but their own.",
        file=__file__,
    ).checked
