"""A model of ``population_worlds`` in plain Python: a list of dictionaries per kind and world, with pending changes.

``population_run`` steps a simulation and the model with the same commands, and compares them after every step.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
from population_worlds import Rules

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
