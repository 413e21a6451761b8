"""Loops with large steps inside each other, whatever their variables are called, and ranges over all integers."""

from agreement import agree

import worldloom as wl


class Walker(wl.Entity):
    first: int = 3
    last: int = 14
    least: int = -2147483648
    most: int = 2147483647
    same: int
    start: int
    turn: int
    far: int
    down: int


class Road(wl.World):
    pass


@wl.system
def same_name(walker: Walker):
    for i in range(walker.first, walker.last, 3):
        walker.same = walker.same * 7 + i
        for i in range(walker.first + 100, walker.last + 100, 5):
            walker.same = walker.same * 5 + i


@wl.system
def similar_names(walker: Walker):
    for i in range(walker.first, walker.last, 3):
        walker.start = walker.start * 7 + i
        for i_start in range(2):
            walker.start = walker.start * 5 + i_start
    for i in range(walker.first, walker.last, 3):
        walker.turn = walker.turn * 7 + i
        for i_turn in range(2):
            walker.turn = walker.turn * 5 + i_turn


@wl.system
def all_integers(walker: Walker):
    for i in range(walker.least, walker.most, 2):
        walker.far += i // 1000
        if i > walker.least + 6:
            break
    for i in range(walker.most, walker.least, -2):
        walker.down += i // 1000
        if i < walker.most - 6:
            break


def test_loops_with_steps_inside_each_other_agree() -> None:
    road = wl.Definition("Road-v0", world=Road, entities={Walker: 2}, step=[same_name, similar_names, all_integers])
    seen = agree(road, 2)[1]
    same = start = 0
    for i in range(3, 14, 3):
        same, start = same * 7 + i, start * 7 + i
        for k in range(103, 114, 5):
            same = same * 5 + k
        for k in range(2):
            start = start * 5 + k
    wrapped = (same + 2**31) % 2**32 - 2**31
    assert (
        (seen["Walker.same"] == wrapped).all()
        and (seen["Walker.start"] == start).all()
        and (seen["Walker.turn"] == start).all()
    )
    far, down = (
        sum(i // 1000 for i in numbers)
        for numbers in (range(-(2**31), -(2**31) + 9, 2), range(2**31 - 1, 2**31 - 10, -2))
    )
    assert (seen["Walker.far"] == far).all() and (seen["Walker.down"] == down).all()
