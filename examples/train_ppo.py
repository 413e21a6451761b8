"""Train a policy with PPO until the pole stays up, then evaluate it in new worlds."""

from dataclasses import replace

from worldloom import Simulation
from worldloom.learn import PPO, PPOConfig, StopAt, evaluate, make_actors, tuned_config

config = replace(tuned_config("CartPole-v1", "ppo", PPOConfig), device="cpu")  # or your own PPOConfig(...)
trainer = PPO("CartPole-v1", config)
trainer.learn(callbacks=[StopAt(475.0)])
print(f"trained for {trainer.steps} steps: the last episodes got {trainer.score:.0f}")

worlds = Simulation("CartPole-v1", num_worlds=100, device="cpu", seed=1)
actors = make_actors(trainer.learners, worlds)  # one policy for each kind of agent
result = evaluate(worlds, actors, episodes=100)
print(f"its likeliest actions get {result.mean_return:.0f} in {result.episodes} new episodes")
