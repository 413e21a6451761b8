"""Two tiny worlds of two sides with known outcomes.

In ``Duel-test`` an attacker and a defender choose 0 or 1 in each of four steps. The attacker gets its choice minus the
defender's, the defender the opposite. In ``Twins-test`` both are of the same kind.
"""

import worldloom as wl


class Attacker(wl.Entity):
    choice: wl.Action(wl.Discrete(2))
    sight: wl.Observation(2)
    reward: wl.Reward


class Defender(wl.Entity):
    choice: wl.Action(wl.Discrete(2))
    sight: wl.Observation(2)
    reward: wl.Reward


class Arena(wl.World):
    attack: int
    defence: int


@wl.system
def clear(world: Arena):
    world.attack = 0
    world.defence = 0


@wl.system
def strike(attacker: Attacker, world: Arena):
    world.attack += attacker.choice


@wl.system
def guard(defender: Defender, world: Arena):
    world.defence += defender.choice


@wl.system
def pay_attacker(attacker: Attacker, world: Arena):
    attacker.reward = float(world.attack - world.defence)


@wl.system
def pay_defender(defender: Defender, world: Arena):
    defender.reward = float(world.defence - world.attack)


@wl.system
def show_attacker(attacker: Attacker, world: Arena):
    attacker.sight = wl.vec2(1.0, 0.25 * float(world.step))


@wl.system
def show_defender(defender: Defender, world: Arena):
    defender.sight = wl.vec2(1.0, 0.25 * float(world.step))


DUEL = wl.register(
    "Duel-test-v0",
    world=Arena,
    entities={Attacker: 1, Defender: 1},
    step=(clear, strike, guard, pay_attacker, pay_defender),
    observe=(show_attacker, show_defender),
    max_steps=4,
)


class Twin(wl.Entity):
    choice: wl.Action(wl.Discrete(2))
    sight: wl.Observation(2)
    reward: wl.Reward


class Ring(wl.World):
    total: int


@wl.system
def empty(world: Ring):
    world.total = 0


@wl.system
def choose(twin: Twin, world: Ring):
    world.total += twin.choice


@wl.system
def pay(twin: Twin, world: Ring):
    twin.reward = float(2 * twin.choice - world.total)


@wl.system
def show(twin: Twin, world: Ring):
    twin.sight = wl.vec2(1.0, 0.25 * float(world.step))


TWINS = wl.register(
    "Twins-test-v0", world=Ring, entities={Twin: 2}, step=(empty, choose, pay), observe=(show,), max_steps=4
)


class Scout(wl.Entity):
    choice: wl.Action(wl.Discrete(2))
    sight: wl.Observation(3)
    reward: wl.Reward


class Walker(wl.Entity):
    choice: wl.Action(wl.Discrete(2))
    sight: wl.Observation(2)
    reward: wl.Reward


class Path(wl.World):
    pass


SCOUTS = wl.register("Scouts-test-v0", world=Path, entities={Scout: 1, Walker: 1}, max_steps=4)
