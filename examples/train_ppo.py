"""Train a policy with PPO until the pole stays up, then let it play without learning."""

from dataclasses import replace

from worldloom import Simulation
from worldloom.learn import PPO, PPOConfig, StopAt
from worldloom.learn.agents.agent_group import AgentGroup
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.play.actors import PolicyActor
from worldloom.learn.play.evaluation import evaluate

settings = replace(
    tuned_config("CartPole-v1", "ppo", PPOConfig), device="cpu"
)  # what suits this world; or PPOConfig(...) of one's own
trainer = PPO("CartPole-v1", settings)
trainer.learn(callbacks=[StopAt(475.0)])
print(f"trained for {trainer.steps} steps: the last episodes got {trainer.score:.0f}")

learner = trainer.learners["Cart"]  # one policy for each kind of agent
worlds = Simulation("CartPole-v1", num_worlds=100, device="cpu", seed=1)
players = {"Cart": (AgentGroup(worlds, learner.seats.members), PolicyActor(learner.policy))}
result = evaluate(worlds, players, episodes=100)
print(f"its likeliest actions get {result.mean_return:.0f} in {result.episodes} new episodes")
