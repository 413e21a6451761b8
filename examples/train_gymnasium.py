"""Train in an environment of Gymnasium: a world whose step runs a pool of worker processes.

It is a world file too: worldloom train train_gymnasium.py --num-envs 64 --device cpu
"""

import weakref

import gymnasium
import numpy as np

import worldloom as wl
from worldloom.learn import PPO, PPOConfig
from worldloom.vector import ProcessPool

ID = "Acrobot-v1"  # any id with one array as observation and discrete actions, such as LunarLander-v3
with gymnasium.make(ID) as example:
    SIZE, CHOICES = example.observation_space.shape[0], int(example.action_space.n)
POOLS: weakref.WeakKeyDictionary[wl.Simulation, ProcessPool] = weakref.WeakKeyDictionary()


class Agent(wl.Entity):
    choice: wl.Action(wl.Discrete(CHOICES))
    sight: wl.Observation(SIZE)
    reward: wl.Reward
    ended: bool
    timed_out: bool


class Process(wl.World):
    pass


def pool_of(sim: wl.Simulation) -> ProcessPool:
    """The pool of a simulation: one environment per world."""
    if sim.autoreset == "next_step":
        raise wl.InputError(
            "environments of a pool restart in the step that ends an episode: use autoreset='same_step'"
        )
    if sim not in POOLS:
        POOLS[sim] = ProcessPool(ID, num_envs=sim.num_worlds, seed=int(sim.seeds[0]), autoreset="disabled")
    return POOLS[sim]


def start(sim: wl.Simulation) -> None:
    """Start episodes in the environments of the worlds that start one."""
    started = sim.starting.numpy().astype(bool)
    if started.any():
        observations, _ = pool_of(sim).reset(options={"reset_mask": started})
        sim[Agent].sight.assign(observations[:, None])


def act(sim: wl.Simulation) -> None:
    """Step all environments with the actions of the agents."""
    agents = sim[Agent]
    observations, rewards, terminations, truncations, _ = pool_of(sim).step(agents.choice.numpy()[:, 0])
    agents.sight.assign(observations[:, None])
    agents.reward.assign(rewards[:, None].astype(np.float32))
    agents.ended.assign(terminations[:, None])
    agents.timed_out.assign(truncations[:, None])


@wl.system
def end(agent: Agent, world: Process):
    if agent.ended:
        world.terminate()
    if agent.timed_out:
        world.truncate()


WORLD = wl.register("GymnasiumAcrobot-v0", world=Process, entities={Agent: 1}, reset=[start], step=[act, end])

if __name__ == "__main__":
    trainer = PPO(WORLD, PPOConfig(num_envs=16, total_steps=20_000, device="cpu", seed=0))
    trainer.learn()
    print(f"{trainer.steps} steps in 16 environments {ID}, a return of {trainer.score:.0f}")
