"""Rigid bodies: blocks fall onto a floor, and a system reads how hard they land."""

import worldloom as wl
from worldloom import physics


class Block(physics.Body):
    hardest_hit: float  # N s


class Yard(physics.World):
    pass


SOLID = physics.systems(Yard, Block)


@wl.system
def build(world: Yard):
    world.spawn(Block, shape=physics.PLANE, motion=physics.STATIC)
    for i in range(4):
        world.spawn(
            Block,
            shape=physics.BOX,
            size=wl.vec3(0.3, 0.3, 0.2),
            position=wl.vec3(world.random(-0.1, 0.1), world.random(-0.1, 0.1), 1.0 + 0.6 * float(i)),
        )


@wl.system
def feel(world: Yard):
    for contact in world.all(SOLID.Contact):
        block = contact.b.get()
        block.hardest_hit = max(block.hardest_hit, contact.impulse)


wl.register(
    "FallingBlocks-v0",
    world=Yard,
    entities={Block: wl.UpTo(5), **SOLID.entities(pairs=10, contacts=10)},
    reset=[build],
    step=[*SOLID.step, feel],
)

if __name__ == "__main__":
    sim = wl.Simulation("FallingBlocks-v0", num_worlds=8, seed=0)
    for _ in range(90):
        sim.step()
    print("heights:", sim[Block].position.numpy()[0, 1:, 2].round(2).tolist())
    print("hardest hits:", sim[Block].hardest_hit.numpy()[0, 1:].round(0).tolist())
