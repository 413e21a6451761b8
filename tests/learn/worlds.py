"""Tiny worlds for the tests of learning, in which the right answer is known. None of them is registered."""

import worldloom as wl


class Ticker(wl.Entity):
    """Gets 1 in every step, whatever it does. It sees which of ``period`` hours it is."""

    move: wl.Action(wl.Discrete(2))
    sight: wl.Observation(6)
    reward: wl.Reward


class Clock(wl.World):
    period: wl.Config = 2
    ends_at: wl.Config = 0  # steps after which the episode ends by the rules; 0 for never


@wl.system
def tick(ticker: Ticker, world: Clock):
    ticker.reward = 1.0
    if world.ends_at > 0 and world.step + 1 >= world.ends_at:
        world.terminate()


@wl.system
def read(ticker: Ticker, world: Clock):
    for hour in range(6):
        ticker.sight[hour] = 1.0 if world.step % world.period == hour else 0.0


CLOCK = wl.Definition("Clock-test", Clock, {Ticker: 1}, step=(tick,), observe=(read,), max_steps=5)


class Guest(wl.Entity):
    """Gets 1 in every step it is there, and sees who it is and, faintly, how long the party has gone on."""

    say: wl.Action(wl.Discrete(3))
    sight: wl.Observation(4)
    reward: wl.Reward


class Party(wl.World):
    leaves_at: wl.Config = 0  # guest k is taken out after leaves_at + k steps; 0 for never
    dies_at: wl.Config = 0  # guest 0 leaves by the rules after so many steps; 0 for never
    over_at: wl.Config = 0  # steps after which the whole party is cut off; 0 for never


@wl.system
def feast(guest: Guest, world: Party):
    if not guest.active:
        return
    guest.reward = 1.0
    if world.dies_at > 0 and guest.id == 0 and world.step + 1 >= world.dies_at:
        guest.terminate()
    elif world.leaves_at > 0 and world.step + 1 >= world.leaves_at + guest.id:
        guest.truncate()


@wl.system
def close(world: Party):
    if world.over_at > 0 and world.step + 1 >= world.over_at:
        world.truncate()


@wl.system
def look_round(guest: Guest, world: Party):
    for k in range(3):
        guest.sight[k] = 1.0 if k == guest.id else 0.0
    guest.sight[3] = 0.01 * float(world.step)


PARTY = wl.Definition("Party-test", Party, {Guest: 3}, step=(feast, close), observe=(look_round,))


class Diner(wl.Entity):
    """Orders a dish and a drink; what is on offer changes from step to step, and is not seen."""

    order: wl.Action(wl.MultiDiscrete(4, 3))
    order_mask: wl.Observation(7, dtype=bool)
    sight: wl.Observation(2)
    refused: int  # orders of what was not on offer
    reward: wl.Reward


class Kitchen(wl.World):
    everything: wl.Config = 0  # whether all is on offer


@wl.system
def serve(diner: Diner):
    if not diner.order_mask[diner.order[0]] or not diner.order_mask[4 + diner.order[1]]:
        diner.refused += 1
    diner.reward = float(diner.order[0]) - float(diner.order[1])


@wl.system
def offer(diner: Diner, world: Kitchen):
    for dish in range(4):
        diner.order_mask[dish] = (
            world.everything == 1 or dish == world.step % 4 or dish == (world.step + 1 + world.id) % 4
        )
    for drink in range(3):
        diner.order_mask[4 + drink] = world.everything == 1 or drink != (world.step + world.id) % 3
    diner.sight = wl.vec2(1.0, float(world.id % 2))


KITCHEN = wl.Definition("Kitchen-test", Kitchen, {Diner: 1}, step=(serve,), observe=(offer,), max_steps=50)


class Walker(wl.Entity):
    """Is shown which way to turn at its first step only, and turns at its fourth."""

    turn: wl.Action(wl.Discrete(2))
    cue: float
    sight: wl.Observation(2)
    reward: wl.Reward


class Corridor(wl.World):
    pass


@wl.system
def turn(walker: Walker, world: Corridor):
    if world.step == 3:
        walker.reward = 1.0 if (walker.turn == 1) == (walker.cue > 0.0) else -1.0
        world.terminate()


@wl.system
def cue(walker: Walker, world: Corridor):
    walker.cue = 1.0 if world.random() < 0.5 else -1.0


@wl.system
def see(walker: Walker, world: Corridor):
    walker.sight = wl.vec2(walker.cue if world.step == 0 else 0.0, 1.0 if world.step == 3 else 0.0)


CORRIDOR = wl.Definition("Corridor-test", Corridor, {Walker: 1}, reset=(cue,), step=(turn,), observe=(see,))


class Wolf(wl.Entity):
    """Hunts; has real numbers for actions."""

    leap: wl.Action(wl.Box(-2.0, 2.0, (2,)))
    place: wl.vec2
    smell: wl.Observation(2)
    hunger: wl.Observation(1)
    reward: wl.Reward


class Sheep(wl.Entity):
    graze: wl.Action(wl.Discrete(3))
    grass: float
    smell: wl.Observation(2)
    reward: wl.Reward


class Ram(wl.Entity):
    """Sees and does what a sheep does."""

    graze: wl.Action(wl.Discrete(3))
    grass: float
    smell: wl.Observation(2)
    reward: wl.Reward


class Farm(wl.World):
    light: wl.Observation(1)
    season: wl.Observation(wl.Discrete(4))
    bounty: wl.Reward  # counts for everyone


@wl.system
def leap(wolf: Wolf, world: Farm):
    wolf.place += wolf.leap
    wolf.reward = wolf.leap[0] + 0.1 * world.normal()


@wl.system
def graze(sheep: Sheep):
    sheep.grass += 1.0
    sheep.reward = 1.0 if sheep.graze == 1 else 0.0


@wl.system
def butt(ram: Ram):
    ram.grass += 2.0
    ram.reward = 1.0 if ram.graze == 2 else 0.0


@wl.system
def share(world: Farm):
    world.bounty = 0.25


@wl.system
def wolf_sense(wolf: Wolf):
    wolf.smell = wolf.place
    wolf.hunger[0] = float(wolf.id)


@wl.system
def sheep_sense(sheep: Sheep):
    sheep.smell = wl.vec2(sheep.grass, float(sheep.id))


@wl.system
def ram_sense(ram: Ram):
    ram.smell = wl.vec2(ram.grass, 10.0 + float(ram.id))


@wl.system
def shine(world: Farm):
    world.light[0] = 0.5 * float(world.id)
    world.season = world.step % 4


FARM = wl.Definition(
    "Farm-test",
    Farm,
    {Wolf: 2, Sheep: 3, Ram: 1},
    step=(leap, graze, butt, share),
    observe=(wolf_sense, sheep_sense, ram_sense, shine),
    max_steps=7,
)


class Watcher(wl.Entity):
    """Is shown, in the newest of four pictures, which half of a screen is lit, and points at it.

    Gets 3 for that and loses 3 otherwise.
    """

    point: wl.Action(wl.Discrete(2))
    lit: int
    lives: wl.Info(int) = 3
    screen: wl.Persistent(wl.Observation(4, 36, 36, dtype=wl.uint8, low=0, high=255, channels="first"))
    reward: wl.Reward


class Cinema(wl.World):
    a_life: wl.Config = 0  # steps after which a life is lost; 0 for never


@wl.system
def light(watcher: Watcher, world: Cinema):
    watcher.lit = world.integer(2)


@wl.system
def point_out(watcher: Watcher, world: Cinema):
    watcher.reward = 3.0 if watcher.point == watcher.lit else -3.0
    if world.a_life > 0 and (world.step + 1) % world.a_life == 0:
        watcher.lives -= 1
    if watcher.lives == 0:
        world.terminate()


@wl.system
def show(watcher: Watcher, world: Cinema):
    for y in range(36):
        for x in range(36):
            for plane in range(3):
                older = watcher.screen[plane + 1, y, x]
                watcher.screen[plane, y, x] = older
            watcher.screen[3, y, x] = wl.uint8(200) if (x >= 18) == (watcher.lit == 1) else wl.uint8(world.step)
            if world.step == 0:
                for plane in range(3):
                    watcher.screen[plane, y, x] = watcher.screen[3, y, x]


CINEMA = wl.Definition(
    "Cinema-test", Cinema, {Watcher: 1}, reset=(light,), step=(point_out, light), observe=(show,), max_steps=12
)


class Crane(wl.Entity):
    """Has choices and numbers, several of each. Its reward tells which of them arrived."""

    tool: wl.Action(wl.Discrete(3))
    reach: wl.Action(wl.Box(-1.0, 1.0, (2,)))
    levers: wl.Action(wl.MultiDiscrete(2, 4))
    force: wl.Action(wl.Box(0.0, 10.0))
    tool_mask: wl.Observation(3, dtype=bool)
    refused: int  # uses of a tool that was forbidden
    sight: wl.Observation(2)
    reward: wl.Reward


class Yard(wl.World):
    pass


@wl.system
def operate(crane: Crane):
    if not crane.tool_mask[crane.tool]:
        crane.refused += 1
    choices = 100.0 * float(crane.tool) + 10.0 * float(crane.levers[0]) + float(crane.levers[1])
    crane.reward = choices + crane.reach[0] - 2.0 * crane.reach[1] + 0.1 * crane.force


@wl.system
def survey(crane: Crane, world: Yard):
    for tool in range(3):
        crane.tool_mask[tool] = tool != (world.step + crane.id) % 3
    crane.sight = wl.vec2(float(crane.id), 0.1 * float(world.step))


YARD = wl.Definition("Yard-test", Yard, {Crane: 2}, step=(operate,), observe=(survey,), max_steps=9)


class Probe(wl.Entity):
    """Has one choice and one number, which it gets 1 for where both are right."""

    side: wl.Action(wl.Discrete(2))
    depth: wl.Action(wl.Box(0.0, 1.0))
    wanted: wl.vec2
    sight: wl.Observation(2)
    reward: wl.Reward


class Mine(wl.World):
    pass


@wl.system
def bury(probe: Probe, world: Mine):
    probe.wanted = wl.vec2(float(world.integer(2)), world.random())


@wl.system
def dig(probe: Probe):
    right = float(probe.side) == probe.wanted.x
    probe.reward = 1.0 - abs(probe.depth - probe.wanted.y) if right else 0.0


@wl.system
def sense(probe: Probe):
    probe.sight = probe.wanted


MINE = wl.Definition("Mine-test", Mine, {Probe: 1}, reset=(bury,), step=(dig, bury), observe=(sense,), max_steps=10)


class Dog(wl.Entity):
    """Observes sheep as a set, a plane of bytes and numbers of other types. A critic also observes the weather."""

    bark: wl.Action(wl.Discrete(3))
    sheep: wl.Observation(4, 2, entities=True, mask="awake")
    awake: wl.Observation(4, dtype=bool)
    plane: wl.Observation(5, 5, 1, dtype=wl.uint8, low=0, high=1)
    far: wl.Observation(2, dtype=wl.float64)
    mood: wl.Observation(wl.Discrete(3))
    weather: wl.Observation(2, critic=True)
    reward: wl.Reward


class Hill(wl.World):
    pass


@wl.system
def bark(dog: Dog, world: Hill):
    if dog.bark == dog.mood:
        dog.reward = 1.0


@wl.system
def look_over(dog: Dog, world: Hill):
    dog.mood = world.integer(3)
    for k in range(4):
        dog.sheep[k, 0] = world.random(-1.0, 1.0)
        dog.sheep[k, 1] = float(dog.mood)
        dog.awake[k] = world.random() < 0.5
    for k in range(5):
        dog.plane[k, dog.mood, 0] = wl.uint8(1)
    dog.weather[0] = world.random()


HILL = wl.Definition("Hill-test", Hill, {Dog: 1}, step=(bark,), observe=(look_over,), max_steps=7)
