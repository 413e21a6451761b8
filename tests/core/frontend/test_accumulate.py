"""Accumulation by several entities: sums, extremes and bits of other rows and of the world."""

import pytest
from agreement import agree

import worldloom as wl

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Ball(wl.Entity):
    x: float = 3.5
    y: float = 4.5
    bits: int = 5
    score: float
    hits: int
    cards: wl.Array(int, 5)
    mate: wl.Ref("Ball")


class Field(wl.World):
    highest: float = 1.0
    lowest: float = 100.0
    three: float
    some: int
    every: int = -1
    odd: int


@wl.system
def extremes(ball: Ball, world: Field):
    world.highest = max(ball.x, world.highest)
    world.three = max(world.three, ball.x, ball.y)
    world.lowest = min(ball.x, world.lowest, ball.y)


@wl.system
def bits(ball: Ball, world: Field):
    world.some |= ball.bits << ball.id
    world.every &= ~(1 << ball.id)
    world.odd ^= ball.bits + ball.id


@wl.system
def give_and_take(ball: Ball, world: Field):
    for other in world.all(Ball):
        if other.id != ball.id:
            ball.score += 1.0
            other.score -= 0.5
            other.hits += 1
    ball.hits -= 3


@wl.system
def empty_loop(ball: Ball):
    for k in range(1, 1):
        ball.cards[4 // k] = 1


def run(*rules: object) -> dict:
    return agree(wl.Definition("Accumulate-v0", world=Field, entities={Ball: 3}, step=list(rules)), steps=1)[-1]


def test_extremes_in_any_order_and_of_several_numbers():
    after = run(extremes)
    assert after["World.highest"].ravel().tolist() == [3.5] * 3
    assert after["World.three"].ravel().tolist() == [4.5] * 3
    assert after["World.lowest"].ravel().tolist() == [3.5] * 3


def test_bits_of_integers():
    after = run(bits)
    assert after["World.some"].ravel().tolist() == [5 | 10 | 20] * 3
    assert after["World.every"].ravel().tolist() == [-8] * 3
    assert after["World.odd"].ravel().tolist() == [5 ^ 6 ^ 7] * 3


def test_the_own_row_and_others_of_its_kind():
    after = run(give_and_take)
    assert after["Ball.score"].ravel().tolist() == [1.0] * 9
    assert after["Ball.hits"].ravel().tolist() == [-1] * 9


def test_a_loop_without_turns():
    assert not run(empty_loop)["Ball.cards"].any()


def test_the_own_row_is_still_not_read_beside():
    with pytest.raises(wl.DefinitionError, match="race"):

        @wl.system
        def read(ball: Ball, world: Field):
            ball.hits += 1
            for other in world.all(Ball):
                other.hits += 1
            if ball.hits > 3:
                ball.score = 1.0


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_an_empty_reference_is_one_fault(device: str):
    @wl.system
    def follow(ball: Ball):
        ball.mate.get().score += 1.0

    @wl.system
    def follow_from_the_world(world: Field):
        for ball in world.all(Ball):
            ball.mate.get().x += 1.0

    for rule, faults in ((follow, 1), (follow_from_the_world, 1)):
        sim = wl.Simulation(wl.Definition("Accumulate-v0", world=Field, entities={Ball: 1}, step=[rule]), 1, device)
        sim.step()
        assert len(sim.errors()) == faults
