"""A plain Python callable in the schedule: it receives the simulation between two systems and may run any code."""

import numpy as np

import worldloom as wl


class Trader(wl.Entity):
    bid: float
    paid: float


class Market(wl.World):
    price: float


@wl.system
def offer(trader: Trader, world: Market):
    trader.bid = world.random(0.0, 10.0)


def clear_market(sim: wl.Simulation) -> None:
    """The price that half of the traders would pay: a median, which NumPy has and systems lack."""
    bids = sim[Trader].bid.numpy()  # (num_worlds, count)
    sim.world.price.assign(np.median(bids, axis=1).astype(np.float32))


@wl.system
def pay(trader: Trader, world: Market):
    trader.paid = world.price if trader.bid > world.price else 0.0


wl.register("Market-v0", world=Market, entities={Trader: 10}, step=[offer, clear_market, pay])

sim = wl.Simulation("Market-v0", num_worlds=100, seed=0)
sim.step()
buyers = (sim[Trader].paid.numpy() > 0).sum(axis=1)
print(
    "buyers per world:", sorted(set(buyers.tolist())), "prices differ:", len(set(sim.world.price.numpy().tolist())) > 1
)
