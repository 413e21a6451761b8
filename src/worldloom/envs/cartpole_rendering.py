"""Rendering of CartPole."""

from worldloom.core.model.canvas import Canvas, Image, rotated
from worldloom.core.simulation import Simulation


def draw(sim: Simulation, world: int) -> Image:
    cart = sim["Cart"]
    x, angle = cart.x.numpy()[world, 0], cart.angle.numpy()[world, 0]
    half_length = sim.world.half_length.numpy()
    scale = 600.0 / 4.8  # pixels per m
    middle, track = 300.0 + float(x) * scale, 300.0
    canvas = Canvas(600, 400)
    canvas.rectangle(middle - 25.0, track - 15.0, 50.0, 30.0, (0, 0, 0))
    top = 5.0 - 2.0 * float(half_length[world % len(half_length)]) * scale
    canvas.polygon(
        rotated([(-5.0, 5.0), (5.0, 5.0), (5.0, top), (-5.0, top)], float(angle), middle, track - 7.5), (202, 152, 101)
    )
    canvas.circle(middle, track - 7.5, 5.0, (129, 132, 203))
    canvas.rectangle(0.0, track, 600.0, 1.0, (0, 0, 0))
    return canvas.image()
