"""Random commands, and a simulation and the model of its worlds side by side, compared after every step."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from population_model import DEFAULTS, REFERENCES, STATE, WARDEN, ModelWorld
from population_worlds import Rules

import worldloom as wl
from worldloom.core.base.errors import WorldFault


@dataclass(frozen=True)
class Mood:
    """Probabilities for a few steps: of each bit of a mote's command, of actions of wardens and worlds, of resets."""

    seed: int
    leave: float
    breed: float
    shed: float
    spark: float
    turn: float
    wardens: float
    world: float
    resets: float


LEVEL = st.sampled_from([0.0, 0.05, 0.3, 0.9])
MOODS = st.builds(
    Mood, st.integers(0, 2**32 - 1), LEVEL, LEVEL, LEVEL, LEVEL, LEVEL, LEVEL, LEVEL, st.sampled_from([0.0, 0.0, 0.05])
)
STEPS_PER_MOOD = 10


def orders(mood: Mood, rng: np.random.Generator, worlds: int, rules: Rules) -> dict[str, np.ndarray]:
    """One step's orders, by table."""
    motes = (worlds, rules.limits["Mote"].per_world)
    bits = (mood.leave, mood.breed, mood.shed, mood.leave, mood.spark, mood.leave, mood.turn)
    mote = sum((rng.random(motes) < likely).astype(np.int32) << bit for bit, likely in enumerate(bits))
    quiet = 28  # slot 7 is empty, and nothing is spawned
    world = np.where(rng.random(worlds) < mood.world, rng.integers(0, 63, worlds), quiet)
    warden = np.where(
        rng.random((worlds, rules.wardens)) < mood.wardens, rng.integers(0, 210, (worlds, rules.wardens)), quiet
    )
    return {"Mote": np.asarray(mote, np.int32), "World": world.astype(np.int32), "Warden": warden.astype(np.int32)}


class Run:
    """A simulation and the model of it, side by side."""

    def __init__(self, rules: Rules, sim: wl.Simulation) -> None:
        self.rules, self.sim = rules, sim
        sim.reset(seeds=0)
        sim.errors()
        self.worlds = [ModelWorld(rules, number) for number in range(sim.num_worlds)]
        for world in self.worlds:
            world.reset(seeded=True)
        self.dropped_before = {kind: sim[kind].dropped.numpy().copy() for kind in rules.limits}
        if rules.autoreset == "same_step":
            for world, sights in zip(self.worlds, sim["Warden"].final_sight.numpy().tolist(), strict=True):
                world.final_sights = [tuple(sight) for sight in sights]
        self.serials: list[dict[tuple[str, int], int]] = [{} for _ in self.worlds]
        self.steps = 0
        self.views = self.read()
        self.compare(Counter())

    def read(self) -> dict[str, dict[str, np.ndarray]]:
        """Every column by table and name."""
        return {
            name: {c.field.name: c.numpy() for c in table.all_columns.values()}
            for name, table in self.sim.tables.items()
        }

    def play(self, moods: list[Mood]) -> None:
        for mood in moods:
            rng = np.random.default_rng(mood.seed)
            for _ in range(STEPS_PER_MOOD):
                self.take_step(orders(mood, rng, len(self.worlds), self.rules))
                mask = rng.random(len(self.worlds)) < mood.resets
                if mask.any():
                    self.reset(mask, seeded=bool(rng.random() < 0.5))

    def take_step(self, given: dict[str, np.ndarray]) -> None:
        for table, values in given.items():
            self.sim[table].order.assign(values)
        for number, world in enumerate(self.worlds):
            world.state["order"] = int(given["World"][number])
            for warden, order in zip(world.wardens, given["Warden"][number].tolist(), strict=True):
                warden["order"] = order
            for mote, order in zip(world.beings["Mote"], given["Mote"][number].tolist(), strict=False):
                mote["order"] = order
            world.take_step()
        self.steps += 1
        self.compare(self.attempt(self.sim.step))

    def reset(self, mask: np.ndarray, seeded: bool) -> None:
        for world, chosen in zip(self.worlds, mask.tolist(), strict=True):
            if chosen:
                world.reset(seeded)
        self.compare(self.attempt(lambda: self.sim.reset(mask, seeds=5 if seeded else None)))

    def attempt(self, do: Any) -> Counter[tuple[int, int, int, str]]:
        """Run a step or a reset; what went wrong in it, whether it was raised or only noted."""
        raised: list[WorldFault] = []
        try:
            do()
        except wl.CapacityError as error:
            raised = error.faults
        errors = {kind for kind, limit in self.rules.limits.items() if limit.overflow == "error"}
        if not self.sim.device.is_cuda:  # a GPU may still be at work, and then it is raised by a later step
            loud = {what for world in self.worlds for *_, what in world.faults if what in errors}
            assert bool(raised) == bool(loud), (raised, loud)
        found: Counter[tuple[int, int, int, str]] = Counter()
        for fault in (*raised, *self.sim.errors()):
            lost = re.match(r"(\d+) more (\w+) were spawned than there is room for", fault.message)
            what = lost[2] if lost else "stale" if "stale reference to Mote" in fault.message else fault.message
            found[fault.world, fault.episode, fault.step, what] += int(lost[1]) if lost else 1
        return found

    # -- comparing ---------------------------------------------------------------------------------------------------

    def compare(self, found: Counter[tuple[int, int, int, str]]) -> None:
        expected: Counter[tuple[int, int, int, str]] = Counter()
        for world in self.worlds:
            expected.update(world.faults)
            world.faults.clear()
        assert found == expected, f"faults after step {self.steps}: {found} instead of {expected}"
        tables = self.read() if self.sim.device.is_cuda else self.views  # from a GPU come copies
        counts = {kind: self.sim[kind].counts.numpy() for kind in self.rules.limits}
        dropped = {kind: self.sim[kind].dropped.numpy() - self.dropped_before[kind] for kind in self.rules.limits}
        for number, world in enumerate(self.worlds):
            here = f"in world {number} after step {self.steps} ({self.rules.name})"
            if world.step == 0:
                self.serials[number] = {}
            for kind, beings in world.beings.items():
                assert counts[kind][number] == len(beings), (
                    f"{counts[kind][number]} {kind} instead of {len(beings)} {here}"
                )
                assert dropped[kind][number] == world.dropped[kind], f"dropped {kind} {here}"
                self.learn_serials(number, kind, tables[kind]["wl_serial"][number, : len(beings)].tolist(), here)
            for kind, beings in world.beings.items():
                for name in DEFAULTS[kind]:
                    self.same(
                        number,
                        name,
                        tables[kind][name][number, : len(beings)],
                        [being[name] for being in beings],
                        f"{kind}.{name} {here}",
                    )
            for name in STATE:
                self.same(
                    number,
                    name,
                    tables["World"][name][number : number + 1],
                    [world.state[name]],
                    f"World.{name} {here}",
                )
            for name in (*WARDEN, "sight"):
                self.same(
                    number,
                    name,
                    tables["Warden"][name][number],
                    [warden[name] for warden in world.wardens],
                    f"Warden.{name} {here}",
                )
            if self.rules.autoreset == "same_step":
                assert [tuple(s) for s in tables["Warden"]["final_sight"][number].tolist()] == world.final_sights, (
                    f"final_sight {here}"
                )
            flags = {name: getattr(world, name) for name in ("episode", "step", "terminated", "truncated", "finished")}
            assert {name: tables["World"][name][number].item() for name in flags} == flags, f"flags {here}"

    def learn_serials(self, number: int, kind: str, serials: list[int], here: str) -> None:
        """The numbers by which the engine knows its entities grow in spawn order, and stay as they are."""
        assert all(a < b for a, b in itertools.pairwise([-1, *serials])), (
            f"serial numbers of {kind} do not grow {here}: {serials}"
        )
        known = self.serials[number]
        for being, serial in zip(self.worlds[number].beings[kind], serials, strict=True):
            assert known.setdefault((kind, being["known_by"]), serial) == serial, f"another {kind} {here}"

    def same(self, number: int, name: str, found: np.ndarray, expected: list[Any], what: str) -> None:
        values = found.tolist()
        if name not in REFERENCES:
            wanted = [
                list(map(list, e))
                if name == "cards"
                else list(e)
                if isinstance(e, tuple)
                else getattr(e, "item", lambda e=e: e)()
                for e in expected
            ]
            assert values == wanted, f"{what}: {values} instead of {wanted}"
            return
        kind, known = REFERENCES[name], self.serials[number]
        for value, reference in zip(values, expected, strict=True):
            if reference is None:
                assert value == -1, f"{what}: {value} instead of an empty reference"
            elif (kind, reference) in known:
                assert value == known[kind, reference], f"{what}: {value} instead of {known[kind, reference]}"
            else:  # spawned and despawned within one step: no other entity may match it
                assert value >= 0 and value not in [serial for (other, _), serial in known.items() if other == kind], (
                    what
                )
