"""Several policies in one world: two runners share one, a third has its own settings, a fourth is frozen."""

import worldloom as wl
from worldloom.learn import PPO, PolicyConfig, PolicyGroup, PPOConfig


class Runner(wl.Entity):
    place: float  # m along the track
    pace: wl.Action(wl.Discrete(3))  # 0 rest, 1 walk, 2 run
    sight: wl.Observation(2)  # own place, and the first one's, in tens of metres
    reward: wl.Reward


class Track(wl.World):
    lead: float  # m


@wl.system
def run(runner: Runner, world: Track):
    runner.place += 0.5 * float(runner.pace)
    runner.reward = 0.5 * float(runner.pace)
    world.lead = max(world.lead, runner.place)


@wl.system
def look(runner: Runner, world: Track):
    runner.sight = wl.vec2(runner.place / 10.0, world.lead / 10.0)


wl.register("Track-v0", world=Track, entities={Runner: 4}, step=[run], observe=[look], max_steps=10)

config = PPOConfig(num_envs=64, num_steps=20, total_steps=64 * 20 * 20, learning_rate=3e-3, device="cpu")
small = PPOConfig(learning_rate=1e-2, policy=PolicyConfig(hidden=(8,)))
policy_groups = {
    "pair": PolicyGroup("Runner[0:2]"),
    "single": PolicyGroup("Runner[2]", config=small),
    "idle": PolicyGroup("Runner[3]", train=False),
}
trainer = PPO("Track-v0", config, policy_groups=policy_groups)
before = [p.clone() for p in trainer.learners["idle"].policy.parameters()]
trainer.learn()

for name, learner in trainer.learners.items():
    parameters = sum(p.numel() for p in learner.policy.parameters())
    print(f"{name}: {learner.agent_group.agents} of 4 runners, {parameters} parameters")
same = all(bool((a == b).all()) for a, b in zip(before, trainer.learners["idle"].policy.parameters(), strict=True))
print(f"metres run by those who learn: {trainer.score:.1f} of 10; the idle one's policy is as it was: {same}")
