"""Tables as configuration: arrays that systems read, one for the batch or one per world, changed without compiling."""

import numpy as np

import worldloom as wl

PRICES = np.array([[3.0, 4.0, 6.0], [5.0, 5.0, 2.0]], np.float32)  # of two goods on three days


class Trader(wl.Entity):
    buy: wl.Action(wl.Discrete(2))  # which good
    reward: wl.Reward


class Market(wl.World):
    prices: wl.Config = PRICES  # an array of configuration has the shape and the type of its default


@wl.system
def trade(trader: Trader, world: Market):
    trader.reward = -world.prices[trader.buy, world.step % 3]


wl.register("Market-v0", world=Market, entities={Trader: 2}, step=[trade])

sim = wl.Simulation("Market-v0", num_worlds=4, seed=0)
goods = np.tile([0, 1], (4, 1))
sim.step(goods)
print(f"what the traders paid on day 0: {-sim[Trader].reward.numpy()[0]}")

sim.set_config("prices", 2.0 * PRICES)  # one table for all worlds
sim.step(goods)
print(f"on day 1, twice as dear: {-sim[Trader].reward.numpy()[0]}")

sim.set_config("prices", np.stack([k * PRICES for k in range(4)]))  # a table for each world
sim.step(goods)
print(f"on day 2, in each of the worlds: {(-sim[Trader].reward.numpy()).tolist()}")
