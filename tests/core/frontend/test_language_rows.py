"""Other rows, references, the world, queries, random numbers and agents: interpreted and compiled systems agree."""

import pytest
from agreement import agree

import worldloom as wl

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Moving(wl.Components):
    place: wl.vec2
    speed: wl.vec2 = (1.0, 0.5)


class Named(wl.Components):
    label: int = 7


class Ball(wl.Entity, Moving, Named):
    mate: wl.Ref("Ball")
    wall: wl.Ref("Wall")
    hits: int
    heat: float
    best: float = -100.0
    least: int = 1000
    touched: bool
    cold: bool = True
    push: wl.vec2
    counts: wl.Array(int, 3)
    long: wl.int64
    seen: int


class Wall(wl.Entity, Moving):
    y: float = 1.5
    load: float


class Door(Wall):
    opened: int


class Room(wl.World):
    step_size: wl.Config = 0.25
    total: float
    balls: int
    any_hit: bool
    all_cold: bool = True
    lowest: float = 50.0
    highest: int
    drift: wl.vec2
    tally: wl.Array(int, 4)
    big: wl.int64


class Hall(Room):
    sum_of_hits: int


@wl.system
def move(body: wl.Has(Moving), world: Room):
    body.place += body.speed * world.step_size
    world.balls += 1


@wl.system
def rename(body: wl.Has(Moving, Named)):
    body.label += 1
    body.place.x -= 0.5


@wl.system
def press(wall: Wall, world: Hall):
    """Runs for walls and for doors, a subclass of walls."""
    wall.load += world.random()
    if wall.id == 0:
        wall.load += 100.0


@wl.system
def meet(ball: Ball, world: Hall):
    """Accumulates into other rows of its own kind and of another, with every operator."""
    for other in world.all(Ball):
        if other.id == ball.id:
            continue
        other.hits += 1 + ball.id
        other.heat -= 0.25 * float(ball.id)
        other.best = max(other.best, ball.place.x)
        other.least = min(other.least, ball.label)
        other.touched |= ball.id == 2
        other.cold &= ball.id < 2
        other.push += wl.vec2(0.5, float(ball.id))
        other.counts[ball.id] += 2
        other.long += 5
    for wall in world.all(Wall):
        wall.load -= 0.5


@wl.system
def account(ball: Ball, world: Hall):
    """Accumulates into the world, with every operator."""
    world.total += ball.heat * float(ball.id)
    world.highest = max(world.highest, ball.hits)
    world.lowest = min(world.lowest, ball.place.y)
    world.any_hit |= ball.touched
    world.all_cold &= ball.cold
    world.drift += ball.push
    world.tally[ball.id] -= ball.id
    world.big += 3


@wl.system
def pair_up(ball: Ball, world: Hall):
    if ball.mate == None and not ball.mate.alive:  # noqa: E711
        ball.seen += 1
    nearest: wl.Ref(Wall) = None
    found = ball
    for wall in world.all(Wall):
        if wall.y > 0.0 and nearest is None:
            nearest = wall.ref
    for other in world.all(Ball):
        if other.id == (ball.id + 1) % world.count(Ball):
            ball.mate = other.ref
            found = other
    ball.wall = nearest
    if ball.mate != ball.ref and found.ref == ball.mate:
        ball.seen += 10 * found.id


@wl.system
def follow(ball: Ball):
    if ball.mate and ball.mate.get().hits > 3:
        ball.seen += ball.mate.get().id * 100
    if ball.wall.alive:
        wall = ball.wall.get()
        ball.seen += int(wall.y)


@wl.system
def govern(world: Hall):
    """A system over the world alone may write everywhere."""
    total = 0
    for ball in world.all(Ball):
        total += ball.hits
        ball.heat = float(ball.id) * 0.5 + world.total
        ball.push.x = 0.25
        ball.counts[ball.id] = 1
        for wall in world.all(Wall):
            wall.y += ball.heat
    world.sum_of_hits = total + world.id
    world.tally[world.step % 4] += world.episode
    if world.step > 6:
        world.terminate()


@wl.system
def open_doors(door: Door, world: Hall):
    door.opened += world.id + world.step
    if world.balls > 1000:
        world.truncate()


MEETING = wl.Definition(
    "Meeting-test",
    Hall,
    {Ball: 3, Wall: 2, Door: 1},
    step=(move, rename, press, meet, account, pair_up, follow, govern, open_doors),
)


class Player(wl.Entity):
    action: wl.Action(wl.Discrete(3))
    choices: wl.Action(wl.MultiDiscrete(2, 3))
    force: wl.Action(wl.Box(-1.0, 1.0))
    reward: wl.Reward
    sight: wl.Observation(3)
    screen: wl.Observation(20)
    luck: float
    dice: int
    change: int
    noise: float
    card: int
    weighted: int
    cards: wl.Array(int, 5)
    age: int


class Game(wl.World):
    chosen: wl.vec3i = (5, 6, 7)


@wl.system
def throw(player: Player, world: Game):
    player.luck = world.random() + world.random(2.0) + world.random(-1.0, 1.0)
    player.dice = world.integer(6) + 10 * world.integer(3, 9)
    player.noise = world.normal() + world.normal(1.0, 0.5)
    world.shuffle(player.cards)
    player.card = world.choice(player.cards) + 10 * world.choice(world.chosen)
    player.weighted = world.weighted(wl.vec3(0.5, 0.3, 0.2))
    if world.random() < 0.5:
        player.change += 1 + world.integer(3)
    elif world.random() < 0.5:
        player.change -= world.integer(5)
    while player.change > 2:
        player.change -= world.integer(1, 3)
    player.luck += world.random() if player.id == 1 else world.normal()
    for _ in range(world.integer(4)):
        player.noise += world.random()


@wl.system
def play(player: Player, world: Game):
    if not player.active:
        return
    print("playing", player.age)
    player.age += 1
    player.reward += float(player.action) + float(player.choices[1]) + player.force
    if player.age > player.id + 2:
        if player.id == 1:
            player.truncate()
        else:
            player.terminate()


@wl.system
def deal(player: Player, world: Game):
    for i in range(5):
        player.cards[i] = i
    player.luck = world.random()


@wl.system
def look(player: Player):
    player.sight = wl.vec3(player.luck, float(player.age), player.noise)
    for i in range(20):
        player.screen[i] = float(player.cards[i % 5])


GAME = wl.Definition("Game-test", Game, {Player: 3}, reset=(deal,), step=(throw, play), observe=(look,), max_steps=5)


def test_meeting_entities_agree() -> None:
    last = agree(MEETING, 9)[6]
    assert last["Ball.hits"][0].tolist() == [6 * 5, 6 * 4, 6 * 3]
    assert last["Ball.touched"][0].tolist() == [True, True, False]
    assert last["Ball.cold"][0].tolist() == [False, False, True]
    assert last["Ball.mate"][0].tolist() == [1, 2, 0]
    assert last["Ball.long"][0].tolist() == [60, 60, 60]
    assert last["World.big"].tolist() == [54, 54, 54]
    assert last["World.any_hit"].all() and not last["World.all_cold"].any()


def test_agents_and_random_numbers_agree(capsys: pytest.CaptureFixture[str]) -> None:
    history = agree(GAME, 12)
    assert "playing 0" in capsys.readouterr().out
    assert any(h["Player.truncated"][:, 1].any() for h in history)
    assert any(h["Player.terminated"][:, 0].any() for h in history)
    assert all(sorted(cards) == [0, 1, 2, 3, 4] for h in history for cards in h["Player.cards"].reshape(-1, 5).tolist())
    assert len({h["Player.dice"].tobytes() for h in history}) > 8


def test_kinds_of_one_query_draw_different_numbers() -> None:
    sim = wl.Simulation(MEETING, 2, "cpu", seed=1)
    sim.step()
    assert sim[Wall].load.numpy()[0, 0] != sim[Door].load.numpy()[0, 0]
