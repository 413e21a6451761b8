"""The Atari 2600: consoles as worlds, many thousands at once. Importing this package makes the ids of its worlds known."""

from worldloom.atari.env.family import AtariFamily
from worldloom.core.model.families import add_family

add_family(AtariFamily())
