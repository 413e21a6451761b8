"""Options of a network: two branches, layer normalization, and shared or separate layers of actor and critic.

A hiker sees the heights around it, and whether it climbs or descends. The map has a branch of its own, the rest of the
observations another, and a layer joins the two.
"""

import worldloom as wl
from worldloom.learn import PPO, PolicyConfig, PPOConfig

SIZE, MIDDLE = 3, 1


class Hiker(wl.Entity):
    direction: wl.Action(wl.Discrete(4))  # north, east, south, west
    heights: wl.Observation(SIZE, SIZE)  # the hiker is in the middle
    climbs: wl.Observation(wl.Discrete(2))
    best: int  # the direction of the highest or lowest cell beside it
    reward: wl.Reward


class Hills(wl.World):
    pass


@wl.system
def walk(hiker: Hiker):
    hiker.reward = 1.0 if hiker.direction == hiker.best else 0.0


@wl.system
def look(hiker: Hiker, world: Hills):
    hiker.climbs = world.integer(2)
    for row in range(SIZE):
        for column in range(SIZE):
            hiker.heights[row, column] = world.random(-1.0, 1.0)
    sign = 1.0 if hiker.climbs == 1 else -1.0
    most = -2.0
    for direction in range(4):
        row = MIDDLE + (direction - 1 if direction % 2 == 0 else 0)
        column = MIDDLE + (2 - direction if direction % 2 == 1 else 0)
        if sign * hiker.heights[row, column] > most:
            most = sign * hiker.heights[row, column]
            hiker.best = direction


WORLD = wl.Definition("Hills-example", Hills, {Hiker: 1}, step=(walk,), observe=(look,), max_steps=10)
OPTIONS = {
    "two branches, shared layers": PolicyConfig(network="two_branch", hidden=(32,), trunks="shared"),
    "the same with layer norm": PolicyConfig(network="two_branch", hidden=(32,), trunks="shared", layer_norm=True),
    "two branches, separate layers": PolicyConfig(network="two_branch", hidden=(32,), trunks="separate"),
}

if __name__ == "__main__":
    for name, policy in OPTIONS.items():
        config = PPOConfig(
            num_envs=128,
            num_steps=10,
            gamma=0.0,
            learning_rate=2e-3,
            total_steps=20_000,
            device="cpu",
            policy=policy,
        )
        trainer = PPO(WORLD, config)
        trainer.learn()
        parameters = sum(parameter.numel() for parameter in trainer.learners["Hiker"].policy.parameters())
        print(f"{name}: {trainer.score:.1f} of 10 directions are the best, {parameters} parameters")
