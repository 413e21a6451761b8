"""A model of ``population_worlds`` in plain Python: a list of dictionaries per kind and world, with pending changes.

``run`` steps a simulation and the model with the same commands, and compares everything visible after every step.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from population_worlds import Rules

import worldloom as wl
from worldloom.core.base.errors import WorldFault

Being = dict[str, Any]
NUMBERS = itertools.count()
"""Every entity of the model is known by a number of its own."""

DEFAULTS: dict[str, Being] = {
    "Mote": {
        "age": 0,
        "order": 0,
        "number": 7,
        "weight": np.float32(1.5),
        "place": (0.5, -1.0),
        "lit": False,
        "friend": None,
        "husk": None,
        "cards": ((0, 0), (0, 0)),
        "hits": 0,
        "seen": 0,
    },
    "Husk": {"age": 0, "origin": None, "number": -1},
    "Spark": {"who": None, "strength": 0},
}
REFERENCES = {"friend": "Mote", "husk": "Husk", "origin": "Mote", "who": "Mote", "chosen": "Mote"}
STATE: Being = {"order": 0, "chosen": None, "motes": 0, "sparks": 0, "struck": 0, "missed": 0, "checksum": 0}
WARDEN: Being = {"order": 0, "friend": None, "heard": 0}


class ModelWorld:
    """One world."""

    def __init__(self, rules: Rules, number: int) -> None:
        self.rules, self.number = rules, number
        self.episode, self.step = -1, 0
        self.terminated = self.truncated = self.finished = False
        self.dropped = dict.fromkeys(rules.limits, 0)
        self.faults: Counter[tuple[int, int, int, str]] = Counter()
        self.final_sights = [(0.0, 0.0)] * rules.wardens
        self.begin_episode(seeded=True)

    # -- who there is ------------------------------------------------------------------------------------------------

    def spawn(self, kind: str, **values: Any) -> int:
        known_by = next(NUMBERS)
        self.coming[kind].append({**DEFAULTS[kind], **values, "known_by": known_by})
        return known_by

    def alive(self, kind: str, reference: int | None) -> bool:
        return any(being["known_by"] == reference for being in self.beings[kind])

    def follow(self, kind: str, reference: int | None) -> Being:
        for being in self.beings[kind]:
            if being["known_by"] == reference:
                return being
        self.fault("stale", 1)
        return self.beings[kind][0]

    def compact(self) -> None:
        """A system is over."""
        for kind, limit in self.rules.limits.items():
            here = [being for being in self.beings[kind] if being["known_by"] not in self.leaving]
            lost = max(0, len(here) + len(self.coming[kind]) - limit.per_world)
            self.beings[kind] = (here + self.coming[kind])[: limit.per_world]
            self.coming[kind] = []
            self.dropped[kind] += lost
            if lost and limit.overflow != "drop":
                self.fault(kind, lost)
        self.leaving.clear()

    def fault(self, what: str, amount: int) -> None:
        self.faults[self.number, self.episode, self.step, what] += amount
        self.broken = True

    # -- the life of a step ------------------------------------------------------------------------------------------

    def take_step(self) -> None:
        mode = self.rules.autoreset
        self.terminated = self.truncated = False
        self.beings["Spark"] = []
        if mode == "next_step" and self.finished:
            self.begin_episode()
            self.finished = False
            self.look()
            return
        for system in (self.lead, self.act, self.tend, self.strike, self.wither, self.tally, self.part):
            system()
            self.compact()
        self.step += 1
        self.truncated = self.truncated or self.broken or 0 < self.rules.max_steps <= self.step
        self.broken = False
        self.finished = self.terminated or self.truncated
        self.look()
        if mode == "same_step" and self.finished:
            self.final_sights = [warden["sight"] for warden in self.wardens]
            self.begin_episode()
            self.look()

    def begin_episode(self, seeded: bool = False) -> None:
        self.episode = 0 if seeded else self.episode + 1
        self.step, self.broken = 0, False
        self.state = dict(STATE)
        self.wardens = [dict(WARDEN) for _ in range(self.rules.wardens)]
        self.beings: dict[str, list[Being]] = {kind: [] for kind in DEFAULTS}
        self.coming: dict[str, list[Being]] = {kind: [] for kind in DEFAULTS}
        self.leaving: set[int] = set()
        for system in (self.start, self.greet):
            system()
            self.compact()

    def reset(self, seeded: bool) -> None:
        """A reset from outside."""
        self.begin_episode(seeded)
        self.look()
        self.finished = self.terminated = self.truncated = self.broken = False

    # -- the systems -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        for k in range(1 + self.episode % 3):
            self.state["chosen"] = self.spawn("Mote", number=k)
        self.spawn("Husk", origin=self.state["chosen"])

    def greet(self) -> None:
        for place, mote in enumerate(self.beings["Mote"]):
            mote["friend"] = mote["known_by"]
            if place == 0:
                self.spawn("Spark", who=mote["known_by"], strength=len(self.beings["Husk"]))

    def lead(self) -> None:
        order, chosen = self.state["order"], self.state["chosen"]
        for k in range(order % 4):
            child = self.spawn("Mote", number=order + k, order=16 * k)
            if k == 1:
                chosen = child
        self.state["chosen"] = chosen
        for place, mote in enumerate(self.beings["Mote"]):
            if place == order // 4 % 8:
                self.leaving.add(mote["known_by"])
            if mote["lit"]:
                self.spawn("Husk", origin=mote["known_by"], number=place)
                self.spawn("Spark", strength=1)
        if order >= 48 and self.alive("Mote", chosen):
            self.leaving.add(chosen)

    def act(self) -> None:
        motes = self.beings["Mote"]
        numbers = {mote["known_by"]: mote["number"] for mote in motes}
        for place, mote in enumerate(motes):
            order, me = mote["order"], mote["known_by"]
            friendly = mote["friend"] in numbers
            mote["seen"] = (
                friendly
                + 2 * self.alive("Husk", mote["husk"])
                + 4 * len(motes)
                + (32 * numbers[mote["friend"]] if friendly else 0)
            )
            cards = [list(row) for row in mote["cards"]]
            cards[order % 2][1] += order
            mote["cards"] = tuple(map(tuple, cards))
            if order & 1 or order & 8:
                self.leaving.add(me)
            if order & 2:
                x, y = mote["place"]
                weight = np.float32(mote["weight"] * np.float32(0.5) + np.float32(1.0))
                child = {
                    "number": mote["number"] * 3 % 101,
                    "weight": weight,
                    "place": (x + 1.0, y + 0.5),
                    "lit": not mote["lit"],
                    "friend": me,
                }
                mote["friend"] = self.spawn("Mote", **child)
            if order & 4:
                mote["husk"] = self.spawn("Husk", origin=me, number=mote["number"])
            if order & 16:
                self.spawn("Spark", who=mote["friend"], strength=place + 1)
            if order & 32 and mote["friend"] in numbers:
                self.leaving.add(mote["friend"])
            if order & 64:
                mote["lit"] = not mote["lit"]

    def tend(self) -> None:
        for place, warden in enumerate(self.wardens):
            order = warden["order"]
            for k in range(order % 4):
                self.spawn("Husk", origin=warden["friend"], number=100 + 10 * place + k)
            if order // 4 % 8 < len(self.beings["Mote"]):
                warden["friend"] = self.beings["Mote"][order // 4 % 8]["known_by"]
            self.leaving |= {husk["known_by"] for husk in self.beings["Husk"] if husk["number"] == order}
            if order >= 200 and self.beings["Mote"]:
                warden["heard"] = self.follow("Mote", warden["friend"])["number"]

    def strike(self) -> None:
        for spark in self.beings["Spark"]:
            if self.alive("Mote", spark["who"]):
                self.follow("Mote", spark["who"])["hits"] += spark["strength"]
                self.state["struck"] += spark["strength"]
            else:
                self.state["missed"] += 1

    def wither(self) -> None:
        for body in self.beings["Mote"] + self.beings["Husk"]:
            body["age"] += 1
            if body["age"] > 6:
                self.leaving.add(body["known_by"])

    def tally(self) -> None:
        total = 0
        for mote in self.beings["Mote"]:
            total = (total * 31 + mote["number"] + mote["hits"]) % 9973
        for husk in self.beings["Husk"]:
            total = (total * 31 + husk["number"] + 5 * self.alive("Mote", husk["origin"])) % 9973
        self.state.update(motes=len(self.beings["Mote"]), sparks=len(self.beings["Spark"]), checksum=total)
        self.terminated = self.state["order"] == 61
        self.truncated = self.state["order"] == 62

    def part(self) -> None:
        if self.state["order"] % 16 == 5:
            self.spawn("Mote", number=self.step)
            self.spawn("Spark", who=self.state["chosen"], strength=3)

    def look(self) -> None:
        for warden in self.wardens:
            warden["sight"] = (float(len(self.beings["Spark"])), float(len(self.beings["Husk"])))


# -- a run -----------------------------------------------------------------------------------------------------------


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
            name: {c.field.name: c.numpy() for c in table.columns.values()} for name, table in self.sim.tables.items()
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
