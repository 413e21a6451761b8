"""The table of a population has an attribute ``mask``, which would hide a component of that name."""

import worldloom as wl


class Lamp(wl.Entity):
    light: float
    mask: int  # WRONG: no component of 'Lamp', whose number varies, can be named 'mask'


class Street(wl.World):
    pass


wl.register("Wrong-v0", world=Street, entities={Lamp: wl.UpTo(4)})
