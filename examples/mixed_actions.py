"""Discrete and continuous actions of one agent: a rover chooses a gear and a throttle, and parks at its target."""

import worldloom as wl
from worldloom.learn import PPO, PPOConfig, StopAt, evaluate, make_actors


class Rover(wl.Entity):
    gear: wl.Action(wl.Discrete(3))  # 0 reverse, 1 neutral, 2 forward
    throttle: wl.Action(wl.Box(0.0, 1.0))
    place: float  # m
    target: float  # m
    sight: wl.Observation(1)  # distance to the target, m
    reward: wl.Reward


class Plain(wl.World):
    pass


@wl.system
def land(rover: Rover, world: Plain):
    rover.place = 0.0
    rover.target = 4.0 * world.random() - 2.0


@wl.system
def drive(rover: Rover):
    rover.place += float(rover.gear - 1) * wl.clamp(rover.throttle, 0.0, 1.0)
    away = abs(rover.target - rover.place)
    rover.reward = 1.0 if rover.gear == 1 and away < 0.1 else -away


@wl.system
def look(rover: Rover):
    rover.sight[0] = rover.target - rover.place


wl.register("Rover-v0", world=Plain, entities={Rover: 1}, reset=[land], step=[drive], observe=[look], max_steps=10)

if __name__ == "__main__":
    config = PPOConfig(
        num_envs=64, num_steps=20, epochs=8, gamma=0.9, learning_rate=3e-3, total_steps=200_000, device="cpu"
    )
    trainer = PPO("Rover-v0", config)
    trainer.learn(callbacks=[StopAt(6.5)])
    action = trainer.learners["Rover"].agent_group.spec.action
    print(f"an action: {action.sizes} choices and {action.numbers} number")

    worlds = wl.Simulation("Rover-v0", num_worlds=100, device="cpu", seed=1)
    result = evaluate(worlds, make_actors(trainer.learners, worlds), episodes=1000)
    print(f"trained for {trainer.steps} steps: a return of {result.mean_return:.1f}, and 8.3 is the most possible")
