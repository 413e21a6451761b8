"""Self-play: a policy learns a game of two against its past selves; runs meet, and one is a frozen opponent."""

import tempfile
from pathlib import Path

import worldloom as wl
from worldloom.learn import (
    PPO,
    OpponentPool,
    PolicyGroup,
    PPOConfig,
    TrainingRequest,
    cross_play,
    load_policy,
    open_run,
    run_training,
)


class Fighter(wl.Entity):
    strength: wl.Action(wl.Discrete(3))
    sight: wl.Observation(1)
    reward: wl.Reward


class Ring(wl.World):
    total: int


@wl.system
def clear(world: Ring):
    world.total = 0


@wl.system
def strike(fighter: Fighter, world: Ring):
    world.total += fighter.strength


@wl.system
def pay(fighter: Fighter, world: Ring):
    fighter.reward = float(2 * fighter.strength - world.total)  # own strength minus the other's


@wl.system
def look(fighter: Fighter, world: Ring):
    fighter.sight[0] = 0.1 * float(world.step)


wl.register("Ring-v0", world=Ring, entities={Fighter: 2}, step=[clear, strike, pay], observe=[look], max_steps=10)

config = PPOConfig(num_envs=32, num_steps=10, total_steps=32 * 10 * 30, learning_rate=1e-2, device="cpu")
pool = OpponentPool(every=5, size=4, share=0.5, swap_every=2, sampling="rating", agents="Fighter[1]")

trainer = PPO("Ring-v0", config, policy_groups={"fighters": PolicyGroup("Fighter", pool=pool)})
trainer.learn()
iterations = sorted(trainer.self_play.pools["fighters"].snapshots.iterations.tolist())
rating = float(trainer.self_play.ratings[0])
print(f"past selves of iterations {iterations}; Elo rating {rating:.0f}, above that of the start: {rating > 1000.0}")

with tempfile.TemporaryDirectory() as folder:
    few, many = Path(folder, "few"), Path(folder, "many")  # as `worldloom train Ring-v0 --self-play Fighter` does
    run_training(TrainingRequest("Ring-v0", "ppo", PPOConfig(num_envs=32, num_steps=10, total_steps=320), run_dir=few))
    run_training(
        TrainingRequest("Ring-v0", "ppo", config, run_dir=many, self_play=("Fighter",), pool=pool, checkpoint_every=0.0)
    )
    matrix = cross_play([open_run(few), open_run(many)], episodes=20, stochastic=True)
    print(f"many steps beat few: {matrix.rows[1][0].mean > 0.0 > matrix.rows[0][1].mean}")

    saved = load_policy(few)
    groups = {"new": PolicyGroup("Fighter[0]"), "old": PolicyGroup("Fighter[1]", train=False, saved=saved)}
    PPO("Ring-v0", config, policy_groups=groups).learn()
    print(f"trained against the saved policy of {saved.agents}, whose weights stay as they are")
