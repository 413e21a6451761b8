"""Text tables of the games and their readers: ids, ROM digests, actions, modes, multiplayer variants and reward rules.

Imports core.base only; nothing else of atari.
"""

from typing import TYPE_CHECKING

from worldloom.core.base.deprecated_paths import forward_names

if not TYPE_CHECKING:
    __getattr__ = forward_names(
        __name__,
        "worldloom.atari.games.game_table",
        "ALL_ACTIONS",
        "GAMES",
        "Game",
        "NUMBERS",
        "RESET",
        "TABLE",
        "find_game",
        "game_of_rom",
        "read_numbers",
        "read_table",
        bare="base_name",
    )
