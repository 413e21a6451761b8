"""Populations whose worlds share memory: one world may hold many entities, but not all worlds at the same time."""

import worldloom as wl


class Spark(wl.Entity):
    height: float
    speed: float


class Sky(wl.World):
    rockets: int


@wl.system
def fire(world: Sky):
    if world.random() < 0.02:  # rockets are rare, so most worlds have none at a given step
        world.rockets += 1
        for _ in range(100):
            world.spawn(Spark, height=50.0, speed=world.random(-5.0, 10.0))


@wl.system
def fall(spark: Spark, world: Sky):
    spark.speed -= 2.0
    spark.height += spark.speed
    if spark.height < 0.0:
        spark.despawn()


wl.register("Fireworks-v0", world=Sky, entities={Spark: wl.UpTo(1_000, batch=60_000)}, step=[fire, fall])

sim = wl.Simulation("Fireworks-v0", num_worlds=1_000, seed=0)
for _ in range(100):
    sim.step()
sparks = sim[Spark]
print(
    f"a row for each place of the batch: {sparks.height.shape}, instead of {1_000 * 1_000:,} for 1,000 worlds of 1,000"
)
heights, offsets, counts = sparks.rows("height"), sparks.offsets, sparks.counts.torch()
print(f"{len(heights)} sparks, world after world: {bool((offsets[1:] == offsets[:-1] + counts[:-1]).all())}")
fullest = int(counts.argmax())
print(
    f"the fullest world holds {int(counts[fullest])}, the first at {float(heights[offsets[fullest]]):.1f} m; "
    f"padded: {tuple(sparks.padded('height').shape)}"
)
