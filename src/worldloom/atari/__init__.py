"""The Atari 2600: consoles as worlds, many thousands at once. Importing this package registers its worlds.

Layers, lowest first: games, cartridges, native, emulator and frames, env, cli.
"""

from worldloom.atari.env.family import AtariFamily
from worldloom.core.model.families import add_family

add_family(AtariFamily())
