"""On a GPU, a component that only some paths of a system assign is stored where its bits change."""

from typing import Any

import worldloom as wl
from worldloom.core.codegen.program import generate


class Lamp(wl.Entity):
    hours: int
    heat: float
    glow: wl.vec3
    lit: bool


class Street(wl.World):
    dark: bool
    total: float


@wl.system
def burn(lamp: Lamp, world: Street):
    lamp.hours += 1
    lamp.lit = world.dark
    if lamp.hours > 5:
        lamp.glow = wl.vec3(0.0, 0.0, 0.0)
    if lamp.heat > 2.0:
        return
    lamp.heat = lamp.heat + 1.0


@wl.system
def cool(lamp: Lamp):
    lamp.heat = 0.0


@wl.system
def look(world: Street):
    """Reads all lamps, so that nothing that runs after a step is fused with the systems before."""
    for lamp in world.all(Lamp):
        world.total += lamp.heat + lamp.glow.x + float(lamp.hours)


def text(*step: Any, cuda: bool = True) -> str:
    made = wl.Definition("Lamps-v0", Street, {Lamp: 4096}, step=(*step, look))
    return generate(wl.Simulation(made, 2, "python").schedule, True, cuda).text


def test_only_components_that_a_path_leaves_alone_are_compared():
    code = text(burn)
    assert "if wl_differs_vec3f(Lamp__glow__kept, Lamp__glow): wl_put_vec3f(Lamp__glow__col" in code
    assert "if wl_differs_float32(Lamp__heat__kept, Lamp__heat): wl_put_float32(Lamp__heat__col" in code
    assert "Lamp__hours__kept" not in code and "Lamp__lit__kept" not in code


def test_a_component_that_a_later_system_always_assigns_is_stored():
    assert "Lamp__heat__kept" not in text(burn, cool)


def test_a_cpu_stores_all():
    assert "__kept" not in text(burn, cuda=False)
