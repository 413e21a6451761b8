"""Train a policy in a world with Stable-Baselines3, through its vector environment interface."""

from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecMonitor

from worldloom.vector import Sb3VectorEnv

worlds = VecMonitor(Sb3VectorEnv("CartPole-v1", num_envs=32, seed=0))
model = PPO(
    "MlpPolicy", worlds, n_steps=32, batch_size=256, n_epochs=8, gamma=0.98, learning_rate=2e-3, seed=0, device="cpu"
)
model.learn(32 * 32 * 20)

evaluation_worlds = VecMonitor(Sb3VectorEnv("CartPole-v1", num_envs=20, seed=1))
mean, _ = evaluate_policy(model, evaluation_worlds, n_eval_episodes=20)
print(f"an untrained policy keeps the pole up for about 20 steps, this one for {mean:.0f}")
