"""Two levels: 51 governors share a policy and the planner has another, each with its own mask, in the economy of made-up data."""

import worldloom as wl
from worldloom.envs.covid.economy import parameters_of
from worldloom.learn import PPO, PolicyConfig, PolicyGroup, PPOConfig
from worldloom.learn.economy import play_policies
from worldloom.learn.play.actors import make_actors

small = PolicyConfig(hidden=(32,), normalize_observations=True)
config = PPOConfig(
    num_envs=4,
    num_steps=30,
    epochs=2,
    minibatches=3,
    total_steps=4 * 30 * 5,
    normalize_rewards=True,
    policy=small,
    device="cpu",
)
tries = PPOConfig(
    entropy_weight=0.05, minibatches=3, normalize_rewards=True, policy=small
)  # the planner decides once in 90 days
trainer = PPO(
    "CovidEconomySynthetic-v0",
    config,
    teams={"governors": PolicyGroup("Governor"), "planner": PolicyGroup("Planner", tries)},
)
trainer.learn()
for name, learner in trainer.learners.items():
    masks = learner.player.storage.masks
    print(
        f"{name}: {learner.seats.agents} agents see {learner.seats.spec.observations['sight'].shape[0]} numbers, {masks.float().mean():.0%} of choices open"
    )

economy = trainer.simulation.definition
with wl.Simulation(economy, 1, "cpu", seed=0, autoreset="disabled") as world:
    history = play_policies(world, make_actors(trainer.learners, world), parameters_of(economy), "five iterations")
totals = history.totals()
print(
    f"{totals['days']:.0f} days: planner {totals['planner_welfare']:.0f}, governors {totals['governor_welfare']:.0f}, finite: {history.deaths[-1].min() > 0}"
)
