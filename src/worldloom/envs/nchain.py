"""NChain: walk along a chain to the large reward at its end, or return to the start for a small one."""

import worldloom as wl
from worldloom.core.model.canvas import Canvas, Image, text_width

LENGTH = 5


class Walker(wl.Entity):
    link: wl.Between(int, 0, LENGTH - 1)  # position, 0 to LENGTH - 1
    back: wl.Action(wl.Discrete(2))  # 0 one link forward, 1 back to the start
    sight: wl.Observation(wl.Discrete(LENGTH))
    reward: wl.Reward


class Chain(wl.World):
    slip: wl.Config = 0.2  # probability of the opposite action
    small: wl.Config = 2.0  # reward for going back to the start
    large: wl.Config = 10.0  # reward for going forward at the end


@wl.system
def walk(walker: Walker, world: Chain):
    slips = world.random() < world.slip
    if (walker.back == 1) != slips:
        walker.reward = world.small
        walker.link = 0
    elif walker.link < LENGTH - 1:
        walker.link += 1
    else:
        walker.reward = world.large


@wl.system
def look(walker: Walker):
    walker.sight = walker.link


def draw(sim: wl.Simulation, world: int) -> Image:
    link = int(sim["Walker"].link.numpy()[world, 0])
    canvas = Canvas(100 * LENGTH, 120)
    canvas.line([(50.0, 60.0), (100.0 * LENGTH - 50.0, 60.0)], (130, 130, 140), 4.0)
    for place in range(LENGTH):
        x = 100.0 * place + 50.0
        canvas.circle(x, 60.0, 32.0, (60, 60, 70))
        canvas.circle(x, 60.0, 29.0, (90, 160, 230) if place == link else (230, 230, 235))
        canvas.text(x - text_width(str(place), 3.0) / 2.0, 50.0, str(place), (30, 30, 40), 3.0)
    return canvas.image()


NCHAIN = wl.register(
    "NChain-v0", world=Chain, entities={Walker: 1}, step=[walk], observe=[look], max_steps=1000, render=draw
)
