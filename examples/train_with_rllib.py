"""Train with RLlib: a policy in a batch of worlds, then two policies of a world with several agents."""

import logging

import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig

from worldloom.vector import RllibMultiAgentEnv, RllibVectorEnv

ray.init(include_dashboard=False, num_cpus=1, log_to_driver=False, logging_level=logging.ERROR)
MODEL = DefaultModelConfig(fcnet_hiddens=[64, 64], vf_share_layers=False)

balance = (
    PPOConfig()
    .environment(RllibVectorEnv, env_config={"world": "CartPole-v1", "device": "cpu"})
    .env_runners(num_env_runners=0, num_envs_per_env_runner=32, gym_env_vectorize_mode="vector_entry_point")
    .training(train_batch_size=1024, minibatch_size=256, num_epochs=8, lr=2e-3, gamma=0.98, lambda_=0.9)
    .rl_module(model_config=MODEL)
    .debugging(seed=0)
).build_algo()
returns = [balance.train()["env_runners"]["episode_return_mean"] for _ in range(12)]
balance.stop()
print(f"the pole stays up for {returns[0]:.0f} steps at first, for {returns[-1]:.0f} after training")

tag = (
    PPOConfig()
    .environment(RllibMultiAgentEnv, env_config={"world": "TagGrid-v0", "config": {"max_steps": 20}})
    .env_runners(num_env_runners=0, num_envs_per_env_runner=2)
    .multi_agent(
        policies={"tagger", "runner"},
        policy_mapping_fn=lambda agent, episode, **_: agent.partition("_")[0],  # "runner_0" to "runner"
    )
    .training(train_batch_size=200, minibatch_size=200, num_epochs=2)
    .rl_module(model_config=MODEL)
    .debugging(seed=0)
).build_algo()
result = tag.train()
tag.stop()
ray.shutdown()
print("trained in tag:", ", ".join(sorted(policy for policy in result["learners"] if policy in ("tagger", "runner"))))
