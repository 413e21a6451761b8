"""Train a policy in a world with Tianshou, through its vector environment interface."""

import numpy as np
import torch
from tianshou.algorithm import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import Net
from tianshou.utils.net.discrete import DiscreteActor, DiscreteCritic

from worldloom.vector import TianshouVectorEnv

NUM_ENVS, STEPS = 16, 32
torch.manual_seed(0)
np.random.seed(0)
worlds = TianshouVectorEnv("CartPole-v1", NUM_ENVS, seed=0)
evaluation_worlds = TianshouVectorEnv("CartPole-v1", 20, seed=1)
observations, actions = worlds.observation_space[0], worlds.action_space[0]  # one space per world
actor, critic = (Net(state_shape=observations.shape, hidden_sizes=[64, 64], activation=torch.nn.Tanh) for _ in range(2))
ppo = PPO(
    policy=DiscreteActorPolicy(
        actor=DiscreteActor(preprocess_net=actor, action_shape=actions.n, softmax_output=False),
        action_space=actions,
        deterministic_eval=True,
    ),
    critic=DiscreteCritic(preprocess_net=critic),
    optim=AdamOptimizerFactory(lr=3e-3),
    gamma=0.98,
    ent_coef=0.0,
)
result = ppo.run_training(
    OnPolicyTrainerParams(
        training_collector=Collector(ppo, worlds, VectorReplayBuffer(NUM_ENVS * STEPS, NUM_ENVS)),
        test_collector=Collector(ppo, evaluation_worlds),
        max_epochs=3,
        epoch_num_steps=5 * NUM_ENVS * STEPS,
        collection_step_num_env_steps=NUM_ENVS * STEPS,
        update_step_num_repetitions=6,
        batch_size=128,
        test_step_num_episodes=20,
        show_progress=False,
        verbose=False,
    )
)
print(f"an untrained policy keeps the pole up for about 20 steps, this one for {result.best_reward:.0f}")
