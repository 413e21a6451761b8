"""Distributions of continuous actions: a squashed Gaussian, and a standard deviation that depends on the state.

An archer aims at a target. In still air an exact aim counts, in a storm it hardly matters. An entropy bonus rewards
random actions, so a policy with a standard deviation per state explores in the storm and is exact in still air.
"""

import worldloom as wl
from worldloom.learn import PPO, Evaluation, PolicyConfig, PPOConfig, make_actors


class Archer(wl.Entity):
    aim: wl.Action(wl.Box(-1.0, 1.0))
    target: wl.Observation(1)
    storm: wl.Observation(wl.Discrete(2))
    reward: wl.Reward


class Field(wl.World):
    pass


@wl.system
def shoot(archer: Archer):
    miss = archer.aim - archer.target[0]
    archer.reward = -10.0 * miss * miss if archer.storm == 0 else -0.1 * miss * miss


@wl.system
def look(archer: Archer, world: Field):
    archer.target[0] = world.random(-0.8, 0.8)
    archer.storm = world.integer(2)


WORLD = wl.Definition("Archery-example", Field, {Archer: 1}, step=(shoot,), observe=(look,), max_steps=10)
OPTIONS = {
    "gaussian, constant": PolicyConfig(hidden=(32,)),
    "squashed_gaussian, constant": PolicyConfig(hidden=(32,), action_distribution="squashed_gaussian"),
    "squashed_gaussian, state": PolicyConfig(hidden=(32,), action_distribution="squashed_gaussian", action_std="state"),
}


def train(policy: PolicyConfig) -> PPO:
    config = PPOConfig(
        num_envs=128,
        num_steps=10,
        epochs=8,
        gamma=0.0,
        learning_rate=3e-3,
        entropy_weight=0.5,
        total_steps=60_000,
        device="cpu",
        policy=policy,
    )
    trainer = PPO(WORLD, config)
    trainer.learn()
    return trainer


if __name__ == "__main__":
    for name, policy in OPTIONS.items():
        trainer = train(policy)
        print(f"{name}: a return of {trainer.score:.2f}")

    worlds = wl.Simulation(WORLD, num_worlds=4096, device="cpu", seed=1)
    target, storm = worlds["Archer"].target.numpy().flatten().copy(), worlds["Archer"].storm.numpy().flatten() == 1
    Evaluation(worlds, make_actors(trainer.learners, worlds, stochastic=True)).step()
    miss = worlds["Archer"].aim.numpy().flatten() - target
    print(f"standard deviation of the aim: {miss[~storm].std():.2f} in still air, {miss[storm].std():.2f} in a storm")
