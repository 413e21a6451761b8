"""What agents of continuous Tag see: all others, or the nearest of those in the game."""

import functools
from math import nan, sqrt
from typing import Any

import worldloom as wl
from worldloom import clamp, length_sq

FEATURES = 7
"""What is seen of another agent: its x, y, speed, acceleration, direction, type, and whether it is in the game."""
RELATIVE = 5
"""The first so many of them are seen as differences to the agent that looks."""
IN_GAME = 6
MOST_NEIGHBOURS = 63
"""A query gives up to 64, one of whom is the agent itself."""
MANY = 64
"""From so many agents on the nearest are asked for with a query; fewer are looked at one after the other."""
LONG = 64
"""Observations that are longer are written by a warp each, whose threads write neighbouring numbers."""
FAR = 1.0e30
NOWHERE = wl.vec2(nan, nan)
"""Where queries find those who have left: near to nobody."""
TURN = 6.283185307179586  # rad


def show_of(kind: Any, field: Any, is_tagger: bool) -> Any:
    """The system by which every entity of a kind puts down what the others see of it."""

    @wl.system
    def show(player: kind, world: field):
        player.shown[0] = player.position.x / (sqrt(2.0) * world.grid_length)
        player.shown[1] = player.position.y / (sqrt(2.0) * world.grid_length)
        player.shown[2] = player.speed / (world.max_speed + 1.0e-10)
        player.shown[3] = player.acceleration / (world.max_speed + 1.0e-10)
        player.shown[4] = player.direction / TURN
        player.shown[5] = 1.0 if is_tagger else 0.0
        player.shown[IN_GAME] = float(player.in_game)
        player.place = player.position if player.in_game else NOWHERE

    return show


@functools.cache
def _list_of(length: int) -> tuple[Any, Any, Any]:
    """The types of a list of the nearest, their distances and their numbers, and the function that inserts one more into it."""
    Distances, Numbers = wl.vec(length), wl.vec(length, int)  # noqa: N806 - types

    @wl.function
    def inserted(distances: Distances, numbers: Numbers, distance: float, number: int):
        """The list with an agent more, if that is near enough. One that is nowhere has no distance, and is not."""
        for i in range(length):
            if distance < distances[i] or (distance == distances[i] and number < numbers[i]):
                distances[i], distance = distance, distances[i]
                numbers[i], number = number, numbers[i]
        return distances, numbers

    return Distances, Numbers, inserted


def choose_of(kind: Any, first: int, kinds: tuple[Any, Any], counts: tuple[int, int], field: Any, neighbours: int) -> Any:
    """The system by which every entity of a kind finds its nearest: by distance, then taggers before runners, then by id.

    Agents are numbered, ``kinds`` one after the other; ``first`` is the number of the first of ``kind``.
    """
    first_kind, second_kind = kinds
    before, asked = counts[0], neighbours + 1  # the agent itself is found, too
    Distances, Numbers, inserted = _list_of(neighbours)  # noqa: N806 - types

    @wl.system
    def choose(player: kind, world: field):
        distances, numbers = Distances(FAR), Numbers(-1)
        for tagger in world.all(first_kind):
            if tagger.id != first + player.id:
                distances, numbers = inserted(distances, numbers, length_sq(tagger.place - player.position), tagger.id)
        for runner in world.all(second_kind):
            if before + runner.id != first + player.id:
                distances, numbers = inserted(distances, numbers, length_sq(runner.place - player.position), before + runner.id)
        for i in range(neighbours):
            player.nearest[i] = numbers[i]

    @wl.system
    def ask(player: kind, world: field):
        distances, numbers = Distances(FAR), Numbers(-1)
        for tagger in world.nearest(first_kind, player.position, asked, by="place"):
            if tagger.id != first + player.id:
                distances, numbers = inserted(distances, numbers, length_sq(tagger.place - player.position), tagger.id)
        for runner in world.nearest(second_kind, player.position, asked, by="place"):
            if before + runner.id != first + player.id:
                distances, numbers = inserted(distances, numbers, length_sq(runner.place - player.position), before + runner.id)
        for i in range(neighbours):
            player.nearest[i] = numbers[i]

    return ask if sum(counts) >= MANY else choose


def look_of(kind: Any, first: int, kinds: tuple[Any, Any], counts: tuple[int, int], field: Any, neighbours: int) -> Any:
    """The system that writes the observations of a kind: feature by feature of the others in order of their number, or of the nearest, then the time."""
    first_kind, second_kind = kinds
    before, behind = counts
    others = neighbours or sum(counts) - 1
    size, everyone = FEATURES * others + 1, neighbours == 0
    turns = wl.share if size > 16 else range  # up to 16 numbers are a vector, which one thread writes

    @wl.system(threads=32 if size > LONG else 1)
    def look(player: kind, world: field):
        there = player.shown[IN_GAME] > 0.0
        for place in turns(FEATURES * others):
            feature, other, value = place // others, place % others, 0.0
            if there or (everyone and feature >= RELATIVE):
                number = other + int(other >= first + player.id)
                if not everyone:
                    number = player.nearest[place % others % (neighbours + 1)]
                if number >= before:
                    value = world.at(second_kind, clamp(number - before, 0, behind - 1)).shown[place // others]
                elif number >= 0:
                    value = world.at(first_kind, clamp(number, 0, before - 1)).shown[place // others]
                if number >= 0 and feature < RELATIVE:
                    value -= player.shown[place // others]
            player.sight[place] = value
        player.sight[size - 1] = float(world.clock) / float(world.max_steps) if there and world.max_steps > 0 else 0.0

    return look
