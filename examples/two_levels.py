"""Two levels: 51 governors share one policy, the planner has another, each with its own action mask."""

import worldloom as wl
from worldloom.envs.covid.economy import parameters_of
from worldloom.envs.covid.recording import play_policies
from worldloom.learn import PPO, Evaluation, PolicyConfig, PolicyGroup, PPOConfig, make_actors

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
# The planner decides once in 90 days: a larger entropy bonus makes it explore.
planner = PPOConfig(entropy_weight=0.05, minibatches=3, normalize_rewards=True, policy=small)
trainer = PPO(
    "CovidEconomySynthetic-v0",
    config,
    policy_groups={"governors": PolicyGroup("Governor"), "planner": PolicyGroup("Planner", planner)},
)
trainer.learn()
for name, learner in trainer.learners.items():
    agents, allowed = learner.agent_group, learner.actor.storage.masks.float().mean()
    width = agents.spec.observations["sight"].shape[0]
    print(f"{name}: {agents.agents} agents see {width} numbers, {allowed:.0%} of choices open")

economy = trainer.simulation.definition
with wl.Simulation(economy, 1, "cpu", seed=0, autoreset="disabled") as world:
    evaluation = Evaluation(world, make_actors(trainer.learners, world))
    history = play_policies(evaluation, parameters_of(economy), "five iterations")
totals = history.totals()
print(
    f"{totals['days']:.0f} days: planner {totals['planner_welfare']:.0f}, "
    f"governors {totals['governor_welfare']:.0f}, finite: {history.deaths[-1].min() > 0}"
)
