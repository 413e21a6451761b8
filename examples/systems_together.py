"""Systems that run together: a rope whose links are relaxed in many short passes, which a GPU runs as one kernel."""

import worldloom as wl

BEADS = 16
PASSES = 10


class Bead(wl.Entity):
    position: wl.vec2


class Link(wl.Entity):
    """Holds the beads ``id`` and ``id + 1`` one metre apart. Links of one colour have no bead in common."""

    colour: int


class Rope(wl.World):
    longest: float  # m, of all links


@wl.system
def coil(world: Rope):
    for bead in world.all(Bead):
        bead.position = wl.vec2(2.0 * world.random(), 2.0 * world.random())
    for link in world.all(Link):
        link.colour = link.id % 2


@wl.system(together=True)
def hold(world: Rope):
    """The ends are held 14 m apart."""
    world.at(Bead, 0).position = wl.vec2(0.0, 0.0)
    world.at(Bead, BEADS - 1).position = wl.vec2(14.0, 0.0)


@wl.system(where=("colour", range(2)), disjoint=True, together=True)
def relax(link: Link, world: Rope):
    """Even links, then odd ones."""
    left, right = world.at(Bead, link.id), world.at(Bead, link.id + 1)
    apart = right.position - left.position
    length = wl.length(apart)
    if length > 0.0:
        change = apart * (0.5 * (length - 1.0) / length)
        left.position += change
        right.position -= change


@wl.system
def measure(world: Rope):
    world.longest = 0.0
    for link in world.all(Link):
        apart = world.at(Bead, link.id + 1).position - world.at(Bead, link.id).position
        world.longest = max(world.longest, wl.length(apart))


wl.register(
    "Rope-v0",
    world=Rope,
    entities={Bead: BEADS, Link: BEADS - 1},
    reset=[coil],
    step=[*[hold, relax] * PASSES, measure],
)

if __name__ == "__main__":
    sim = wl.Simulation("Rope-v0", num_worlds=100, seed=0)
    for step in range(3):
        sim.step()
        print(f"step {step}: the longest link has {sim.world.longest.torch().mean():.2f} m")
