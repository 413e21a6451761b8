"""Systems for some entities: a long rule for the few that need it, which a GPU gathers into full warps."""

import worldloom as wl

ASH, EMBER = 0, 1


class Spark(wl.Entity):
    state: int
    heat: float


class Hearth(wl.World):
    cooling: wl.Config = 0.9


@wl.system
def scatter(world: Hearth):
    for _ in range(50):
        world.spawn(Spark, state=EMBER if world.random() < 0.1 else ASH, heat=1.0)


@wl.system(where=("state", EMBER))
def glow(spark: Spark, world: Hearth):
    """Runs for embers alone."""
    for _ in range(20):
        spark.heat *= world.cooling
    if spark.heat < 0.02:
        spark.state = ASH


wl.register("Hearth-v0", world=Hearth, entities={Spark: wl.UpTo(50)}, reset=[scatter], step=[glow])

if __name__ == "__main__":
    sim = wl.Simulation("Hearth-v0", num_worlds=100, seed=0)
    for step in range(3):
        heat, state = sim[Spark].rows("heat"), sim[Spark].rows("state")
        print(
            f"step {step}: {int((state == EMBER).sum())} embers, {int((heat < 1.0).sum())} of 5000 sparks have cooled"
        )
        sim.step()
