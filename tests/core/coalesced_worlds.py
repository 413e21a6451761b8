"""Worlds whose systems write long rows, in ways that can be coalesced and in ways that cannot."""

import worldloom as wl
from worldloom.core.frontend.system import System

CELLS = 24


class Scout(wl.Entity):
    steps: wl.Action(wl.Discrete(3))
    at: wl.Between(int, 0, CELLS - 1)
    seen: int
    sight: wl.Observation(2, CELLS)
    reward: wl.Reward


class Ridge(wl.World):
    left: wl.Config = 0.25


@wl.system
def walk(scout: Scout, world: Ridge):
    scout.at = (scout.at + scout.steps + scout.id) % CELLS
    if scout.at >= CELLS - 3 and world.step > 2:
        world.terminate()


@wl.system
def settle(scout: Scout, world: Ridge):
    scout.at = world.integer(CELLS // 2)


@wl.system
def look(scout: Scout, world: Ridge):
    for cell in range(CELLS):
        scout.sight[0, cell] = float(cell - scout.at)
        scout.sight[1, CELLS - 1 - cell] = world.left
    scout.sight[1, scout.at] += 1.0
    scout.sight[0, scout.at - CELLS] = 7.0


@wl.system
def count(scout: Scout):
    scout.seen = 0
    for cell in range(CELLS):
        if scout.sight[0, cell] > 0.0:
            scout.seen += 1
    scout.reward = float(scout.seen)


def ridge(scouts: int = 3) -> wl.Definition:
    """A world whose scouts write and read an observation of 48 numbers."""
    return wl.Definition(
        "Ridge-test", Ridge, {Scout: scouts}, reset=(settle,), step=(walk,), observe=(look, count), max_steps=9
    )


LENGTH = 40


class Watcher(wl.Entity):
    at: int
    total: float
    sight: wl.Array(float, LENGTH)


class Tower(wl.World):
    pass


@wl.system
def assign_all(watcher: Watcher):
    for i in range(LENGTH):
        watcher.sight[i] = float(i * watcher.at)


@wl.system
def assign_segments(watcher: Watcher):
    watcher.sight[-1] = 1.0
    for i in range(4):
        for j in range(LENGTH // 4 - 1):
            watcher.sight[i * (LENGTH // 4) + j] = float(j)
        watcher.sight[(i + 1) * (LENGTH // 4) - 1] = 2.0


@wl.system
def assign_sometimes(watcher: Watcher, world: Tower):
    if world.step > 3:
        for i in range(LENGTH):
            watcher.sight[i] = 1.0


@wl.system
def return_early(watcher: Watcher):
    if watcher.at > 3:
        return
    for i in range(LENGTH):
        watcher.sight[i] = 1.0


@wl.system
def assign_some(watcher: Watcher):
    for i in range(LENGTH - 1):
        watcher.sight[i] = 1.0


@wl.system
def leave_early(watcher: Watcher):
    for i in range(LENGTH):
        if watcher.at == i:
            break
        watcher.sight[i] = 1.0


@wl.system
def read_first(watcher: Watcher):
    for i in range(LENGTH):
        watcher.sight[i] = 0.5 * watcher.sight[i]


@wl.system
def assign_unknown_places(watcher: Watcher):
    for i in range(LENGTH):
        watcher.sight[(i + watcher.at) % LENGTH] = 1.0


@wl.system
def spy(watcher: Watcher, world: Tower):
    watcher.total = world.at(Watcher, 0).sight[1]


def tower(*systems: System) -> wl.Definition:
    """A world of two watchers with these systems."""
    return wl.Definition("Tower-test", Tower, {Watcher: 2}, step=systems)


def ribbon(length: int) -> wl.Definition:
    """A world of one strip with ``length`` marks, which every step writes."""

    class Strip(wl.Entity):
        marks: wl.Array(float, length)

    class Ribbon(wl.World):
        pass

    @wl.system
    def mark(strip: Strip, world: Ribbon):
        for i in range(length):
            strip.marks[i] = float(i)

    return wl.Definition("Ribbon-test", Ribbon, {Strip: 1}, step=(mark,))
