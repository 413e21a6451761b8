"""A world whose guards have rows in the shared memory of a warp on a GPU."""

from __future__ import annotations

from typing import Any

import worldloom as wl

POSTS, FEATURES, PLACES = 7, 3, 40


class Post(wl.Entity):
    height: float


class Guard(wl.Entity):
    turns: int
    rest: wl.Action(wl.Discrete(2))
    seen: wl.Array(float, POSTS, FEATURES)  # some entries in every step: the others keep their values
    view: wl.Observation(POSTS, FEATURES)  # overwritten
    log: wl.Array(float, POSTS, 2)  # only written
    chart: wl.Observation(POSTS, 2)  # overwritten, and not read
    scratch: wl.Transient(wl.Array(float, PLACES, 2))
    total: float


class Yard(wl.World):
    time: int


@wl.system
def plant(post: Post, world: Yard):
    post.height = world.random(1.0, 2.0)


@wl.system
def enter(world: Yard):
    for k in range(1 + world.integer(3)):
        world.spawn(Guard, turns=k)


@wl.system
def tick(world: Yard):
    world.time += 1


@wl.system(threads=32)
def watch(guard: Guard, world: Yard):
    for post in wl.share(POSTS):
        for feature in range(FEATURES):
            guard.view[post, feature] = 0.0
        guard.chart[post, 0] = 0.0
        guard.chart[post, 1] = 0.0
    for place in wl.share(PLACES):
        guard.scratch[place, 0] = world.at(Post, place % POSTS).height
        guard.scratch[place, 1] = float(place + world.time + guard.turns)
    for post in wl.share(POSTS):
        if (post + world.time) % 3 == 0:
            height, label = guard.scratch[post, 0], guard.scratch[PLACES - 1 - post, 1]
            guard.seen[post, 0] = height
            guard.seen[post, 1] = label
            guard.view[post, 2] = height * label
            guard.chart[post, 0] = height
        guard.log[post, 1] = float(world.time)
    guard.seen[0, 2] = float(world.time)
    guard.total = 0.0
    for post in range(POSTS):
        guard.total += guard.seen[post, 1] + guard.seen[post, 2] + guard.view[post, 2]


def yard(*step: Any, guards: Any = wl.UpTo(3), enters: bool = True) -> wl.Definition:
    reset = (plant, enter) if enters else (plant,)
    return wl.Definition("Yard-rows", Yard, {Post: POSTS, Guard: guards}, reset=reset, step=step, max_steps=6)
