"""Random network distillation (Burda et al., 2019) as an extension of PPO: a bonus for observations that are new.

A fixed random network and a trained one see the same observation. Their difference is large where the trained one has
seen little, and is added to the reward. Here the only reward of the world is at the end of a corridor.
"""

from functools import partial

import torch
from torch import nn

import worldloom as wl
from worldloom.learn import PPO, Callback, Extension, NewSteps, PPOConfig, RunningMoments

LENGTH = 36


class Walker(wl.Entity):
    place: int
    move: wl.Action(wl.Discrete(2))  # 0 back, 1 forward
    sight: wl.Observation(LENGTH)
    reward: wl.Reward


class Corridor(wl.World):
    pass


@wl.system
def walk(walker: Walker, world: Corridor):
    walker.place = max(0, walker.place + (1 if walker.move == 1 else -1))
    walker.reward = 0.0
    if walker.place == LENGTH - 1:
        walker.reward = 1.0
        world.terminate()


@wl.system
def start(walker: Walker):
    walker.place = 0


@wl.system
def look(walker: Walker):
    for i in range(LENGTH):
        walker.sight[i] = 1.0 if i == walker.place else 0.0


wl.register(
    "Corridor-v0",
    world=Corridor,
    entities={Walker: 1},
    reset=[start],
    step=[walk],
    observe=[look],
    max_steps=2 * LENGTH,
)


class RND(Extension):
    """Adds ``weight`` times the prediction error of the observation, in standard deviations, to every reward."""

    metric_names = ("rnd/bonus", "rnd/loss")

    def __init__(self, learner, weight=0.02, updates=4):
        super().__init__(learner)
        self.weight, self.updates = weight, updates
        ((self.observed, spec),) = learner.agent_group.spec.observations.items()
        self.target, self.predictor = (
            nn.Sequential(nn.Linear(spec.features, 64), nn.ReLU(), nn.Linear(64, 16)) for _ in range(2)
        )
        self.target.requires_grad_(False)
        self.errors = RunningMoments(())

    def prediction_errors(self, observations):
        return (self.predictor(observations) - self.target(observations)).square().mean(-1)

    def on_rollout(self, steps: NewSteps) -> None:
        observations = steps.observations[self.observed].flatten(2)  # [T, N, features]
        errors = self.prediction_errors(observations).detach()  # [T, N]
        self.errors.update(errors, steps.weights, self.ranks.sum_)
        bonus = self.weight * errors * self.errors.scale
        steps.rewards += bonus
        for _ in range(self.updates):
            self.optimizer.step(self.prediction_errors(observations).mean())
        self.metrics.copy_(torch.stack([bonus.mean(), errors.mean()]))


class Watch(Callback):
    def on_iteration(self, trainer, progress):
        if progress.iteration in (1, 40):
            print(f"iteration {progress.iteration}: bonus {progress.metrics['rnd/bonus']:.4f}")


if __name__ == "__main__":
    config = PPOConfig(num_envs=64, num_steps=32, learning_rate=1e-3, gamma=0.98, entropy_weight=0.02, device="cpu")
    trainer = PPO("Corridor-v0", config, extensions={"rnd": partial(RND, updates=4)})
    trainer.learn(40 * 64 * 32, callbacks=[Watch()])
    print(f"return {trainer.score:.2f}")
