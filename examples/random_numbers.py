"""Random numbers: functions of (seed, world, episode, step, system, entity, draw), so every run can be repeated."""

import numpy as np

import worldloom as wl


class Player(wl.Entity):
    luck: float
    die: int
    error: float
    colour: int
    prize: int
    deck: wl.Array(int, 8)


class Casino(wl.World):
    pass


@wl.system
def play(player: Player, world: Casino):
    player.luck = world.random(-1.0, 1.0)  # uniform
    player.die = world.integer(1, 7)  # 1 to 6
    player.error = world.normal(0.0, 2.0)  # mean, spread
    player.colour = world.choice(wl.vec3i(10, 20, 30))  # one of these
    player.prize = world.weighted(wl.vec3(0.7, 0.2, 0.1))  # 0, 1 or 2, with these weights
    for place in range(8):
        player.deck[place] = place
    world.shuffle(player.deck)


wl.register("Casino-v0", world=Casino, entities={Player: 4}, step=[play])

few = wl.Simulation("Casino-v0", num_worlds=10, seed=42)
many = wl.Simulation("Casino-v0", num_worlds=5000, seed=42, threads=2)
few.step()
many.step()
for name in ("luck", "die", "error", "colour", "prize", "deck"):
    assert np.array_equal(few[Player][name].numpy(), many[Player][name].numpy()[:10]), name
print("worlds 0 to 9 of 10 and of 5000 are the same")

player = many[Player]
print("die:", np.bincount(player.die.numpy().ravel())[1:].tolist())
print("prizes:", (np.bincount(player.prize.numpy().ravel()) / 20000).round(2).tolist())
print(
    "spread:",
    round(float(player.error.numpy().std()), 1),
    "every deck whole:",
    bool((np.sort(player.deck.numpy()) == np.arange(8)).all()),
)
