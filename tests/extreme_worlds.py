"""A world whose many entities put the least and the greatest of their numbers into a few others and into the world."""

from __future__ import annotations

import worldloom as wl

MOST = 2**31 - 1


class Card(wl.Entity):
    number: int


class Box(wl.Entity):
    least: int
    greatest: wl.int64
    greatest_odd: wl.uint32


class Table(wl.World):
    least: int


@wl.system
def open_boxes(box: Box):
    box.least = MOST
    box.greatest = wl.int64(-MOST) * 10000
    box.greatest_odd = wl.uint32(0)


@wl.system
def clear_table(world: Table):
    world.least = MOST


@wl.system
def deal(card: Card, world: Table):
    card.number = world.integer(-1000000, 1000000)


@wl.system
def collect(card: Card, world: Table):
    for box in world.all(Box):
        box.least = min(box.least, card.number - box.id)
        box.greatest = max(box.greatest, wl.int64(card.number) * 10000 + box.id)
        if card.number % 2 == 1:
            box.greatest_odd = max(box.greatest_odd, wl.uint32(card.number + 1000000))
    world.least = min(world.least, card.number)


def cards(count: int) -> wl.Definition:
    """``count`` cards and two boxes in each world."""
    return wl.Definition("Cards-test", Table, {Card: count, Box: 2}, step=(open_boxes, clear_table, deal, collect))
