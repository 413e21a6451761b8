"""The system that wakes bodies and puts the contacts of a step in order."""

from typing import Any

import worldloom as wl
from worldloom.physics.solving.colouring import colour_function
from worldloom.physics.solving.sleeping import wake_function


def arrange_system(World: type, Body: type, Contact: type, Joint: type, by_colour: bool) -> Any:
    """The system for the classes of a world; ``by_colour``: whether systems over contacts of one colour follow."""
    wake_neighbours = wake_function(World, Body, Contact, Joint)
    colour_contacts = colour_function(World, Body, Contact, Joint, by_colour)

    @wl.system(separate=True)
    def arrange(world: World):
        wake_neighbours(world)
        colour_contacts(world)

    return arrange
