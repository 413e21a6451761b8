"""Agents whose number varies: foragers are born, starve and are replaced. One policy for all learns with PPO."""

import worldloom as wl

SIZE = 9  # cells of the field, which is a ring


class Forager(wl.Entity):
    place: int
    food: int
    energy: int = 8
    move: wl.Action(wl.Discrete(3))
    sight: wl.Observation(2)  # signed distance to its food, and energy
    reward: wl.Reward


class Field(wl.World):
    pass


@wl.system
def settle(world: Field):
    for _ in range(2 + world.integer(3)):
        world.spawn(Forager, place=world.integer(SIZE), food=world.integer(SIZE))


@wl.system
def forage(forager: Forager, world: Field):
    forager.place = (forager.place + forager.move - 1) % SIZE
    forager.energy -= 1
    if forager.place == forager.food:
        forager.reward = 1.0
        forager.energy = min(forager.energy + 6, 12)
        forager.food = world.integer(SIZE)
    elif forager.energy <= 0:
        forager.reward = -1.0
        forager.despawn()


@wl.system
def give_birth(world: Field):
    if world.count(Forager) < 6 and world.random() < 0.3:
        world.spawn(Forager, place=world.integer(SIZE), food=world.integer(SIZE))


@wl.system
def look(forager: Forager):
    distance = (forager.food - forager.place + SIZE // 2) % SIZE - SIZE // 2
    forager.sight = wl.vec2(distance / 4.0, forager.energy / 12.0)


WORLD = wl.register(
    "Foragers-v0",
    world=Field,
    entities={Forager: wl.UpTo(6, agents=True)},
    reset=[settle],
    step=[forage, give_birth],
    observe=[look],
    max_steps=64,
)

if __name__ == "__main__":
    from worldloom.learn import PPO, PPOConfig, evaluate, make_actors

    config = PPOConfig(device="cpu", num_envs=64, num_steps=16, total_steps=20_480, learning_rate=0.003)
    trainer = PPO(WORLD, config)
    for name, train in {"at random": False, "trained": True}.items():
        if train:
            trainer.learn()
        worlds = wl.Simulation(WORLD, num_worlds=32, seed=1)
        result = evaluate(worlds, make_actors(trainer.learners, worlds, stochastic=True), episodes=32)
        print(f"{name}: a return of {result.mean_return:.1f} per row and episode")
