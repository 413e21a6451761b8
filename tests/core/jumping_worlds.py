"""Systems with a part of a warp per world, whose worlds leave loops at different places."""

from __future__ import annotations

import worldloom as wl


class Bead(wl.Entity):
    n: int
    m: int


class Chain(wl.World):
    rounds: int
    last: int


def jumping_world(threads: int) -> wl.Definition:
    """The world, with so many threads."""

    @wl.system(threads=threads)
    def relax(world: Chain):
        for k in range(4):
            world.rounds += 1
            if world.id % 3 == 0:
                for i in wl.share(world.count(Bead), disjoint=True):
                    world.at(Bead, i).n += 100
                break
            for i in wl.share(world.count(Bead), disjoint=True):
                world.at(Bead, i).n += 1 + k

    @wl.system(threads=threads)
    def skip(world: Chain):
        for k in range(world.id % 5):
            if world.id % 2 == 0:
                for i in wl.share(world.count(Bead), disjoint=True):
                    world.at(Bead, i).n += 100
                continue
            else:
                if k == 2:
                    world.at(Bead, 2).m += k
                    break
            world.rounds += 1

    @wl.system(threads=threads)
    def nested(world: Chain):
        for bead in world.all(Bead):
            if bead.m > world.id % 7:
                for i in wl.share(world.count(Bead), disjoint=True):
                    world.at(Bead, i).n += 1
                continue
            if world.id == 2:
                bead.n += 7
                break
            n = 0
            while n < 5:
                n += 1
                if n == world.id % 4:
                    world.at(Bead, 1).m += 5
                    break
                elif n + 1 == world.id % 4:
                    world.at(Bead, 2).m += n
                    continue
                for j in range(world.id % 4):
                    if j == 2:
                        for i in wl.share(world.count(Bead), disjoint=True):
                            if i == 1:
                                continue
                            world.at(Bead, i).n += j
                        break
                    world.at(Bead, 0).m += j
                world.rounds += 100
            world.last += n

    @wl.system(threads=threads)
    def far_bounds(world: Chain):
        """Loops between bounds whose difference is no int32."""
        largest = 2147483647
        for k in range(largest - world.id % 2, (world.id % 3 - 1) * largest):
            for i in wl.share(world.count(Bead), disjoint=True):
                world.at(Bead, i).n += 3
            world.rounds += 1000 + k % 2
        for k in range(-largest, largest - world.id):
            for i in wl.share(world.count(Bead), disjoint=True):
                world.at(Bead, i).m += 3
            if k + largest == world.id % 3:
                break

    return wl.Definition(f"Jumping-{threads}-test", Chain, {Bead: 3}, step=(relax, skip, nested, far_bounds))


JUMPING = [jumping_world(threads) for threads in (4, 8, 16, 32)]


def results(simulation: wl.Simulation) -> list[list[int]]:
    """What the systems wrote."""
    columns = [simulation[Bead].n, simulation[Bead].m, simulation.world.rounds, simulation.world.last]
    return [column.numpy().ravel().tolist() for column in columns]
