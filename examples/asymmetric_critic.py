"""An asymmetric critic: the actor sees a part of the state, the critic all of it.

``critic=True`` declares an observation for the critic only. Here it is the tide, which adds more to the rewards of a
step than the choice of a net does, and takes it away in the next step. A critic that sees the tide predicts its share,
so that what remains of the rewards is due to the choice. The actor never needs the tide, in training or later.
"""

import torch

import worldloom as wl
from worldloom.learn import PPO, PolicyActor, PolicyConfig, PPOConfig

NETS = 8
TIDE = 30.0


class Fisher(wl.Entity):
    net: wl.Action(wl.Discrete(NETS))
    fish: wl.Observation(wl.Discrete(NETS))  # what swims by: the number of the right net
    tide: wl.Observation(1, critic=True)
    level: float
    reward: wl.Reward


class Shore(wl.World):
    pass


@wl.system
def cast(fisher: Fisher, world: Shore):
    fisher.reward = TIDE * fisher.level
    if fisher.net == fisher.fish:
        fisher.reward += 1.0


@wl.system
def look(fisher: Fisher, world: Shore):
    if world.step % 2 == 0:
        fisher.level = world.random(-1.0, 1.0)
    else:
        fisher.level = -fisher.level  # so that the tides of an episode sum to 0
    fisher.fish = world.integer(NETS)
    fisher.tide[0] = fisher.level


WORLD = wl.Definition("Shore-example", Shore, {Fisher: 1}, step=(cast,), observe=(look,), max_steps=10)
ASYMMETRIC = PolicyConfig(hidden=(32,))
PLAIN = PolicyConfig(hidden=(32,), asymmetric=False)


def train(policy: PolicyConfig, steps: int, seed: int = 0, device: str = "cpu") -> PPO:
    """A trainer after ``steps`` steps. Its score is the number of right nets of 10; chance gets 1.25."""
    config = PPOConfig(
        num_envs=128,
        num_steps=10,
        gamma=0.0,
        learning_rate=1e-2,
        value_weight=1.0,
        max_gradient_norm=10.0,
        total_steps=steps,
        seed=seed,
        device=device,
        policy=policy,
    )
    trainer = PPO(WORLD, config)
    trainer.learn()
    return trainer


if __name__ == "__main__":
    trainer = train(ASYMMETRIC, 30_000)
    print(f"critic that sees the tide: {trainer.score:.1f} of 10 nets are right")
    print(f"critic that does not: {train(PLAIN, 30_000).score:.1f} of 10")

    actor = PolicyActor(trainer.learners["Fisher"].policy)
    fish = {"fish": torch.arange(NETS, dtype=torch.int32)}  # nothing about the tide
    nets, _ = actor.act(fish, actor.initial_state(NETS, "cpu"), None)
    print("nets for fish 0 to 7:", nets.flatten().tolist())
