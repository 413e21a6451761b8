"""Every layout of Overcooked against overcooked-ai 1.1.0, step by step, with random players and with cooks.

Run as ``make parity-overcooked``, or with fewer episodes:
``python tests/parity/overcooked_report.py --episodes 4 --layouts cramped_room,corridor``.

The worlds are the registered ones, ``Overcooked-v0:layout=NAME``, one per episode. States, rewards and ends are
compared in every step; planes of every game in every second step and features in every tenth, at different steps in
different games. The package has no features of a single player.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from references.overcooked import OWN_EVENTS, Original
from references.overcooked_lockstep import Lockstep, features, planes

import worldloom as wl
from worldloom.envs.overcooked.catalogue import layout_names, named_layout

HORIZON = 400
PLANES_EVERY, FEATURES_EVERY = 2, 10
REQUIRED = (
    *("onion_pickup", "useful_onion_pickup", "onion_drop", "useful_onion_drop", "potting_onion"),
    *("tomato_pickup", "useful_tomato_pickup", "tomato_drop", "useful_tomato_drop", "potting_tomato"),
    *("dish_pickup", "useful_dish_pickup", "dish_drop", "useful_dish_drop"),
    *("soup_pickup", "soup_delivery", "soup_drop", *OWN_EVENTS, "collision"),
)
"""Events that have to occur in the episodes of all layouts."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=200, help="of each layout, players and dynamics; default 200")
    parser.add_argument("--layouts", default=",".join(layout_names()), help="comma-separated names; default all")
    parser.add_argument("--dynamics", default="new,old", help="new, old, or both; old where a layout allows it")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a file for the counts, one line of JSON per layout and dynamics")
    chosen = parser.parse_args(arguments)
    total: Counter[str] = Counter()
    cases = cases_of(chosen.layouts.split(","), chosen.dynamics.split(","))
    for result in compare(cases, chosen.episodes, chosen.processes):
        total.update(result["events"])
        print(
            f"{result['layout']}, {result['dynamics']} dynamics: equal over {result['episodes']} episodes, "
            f"{result['steps']:,} steps, {result['observations']:,} observations; "
            f"{result['events'].get('soup_delivery', 0):,} soups; {result['seconds']:.0f} s",
            flush=True,
        )
        if chosen.out is not None:
            with chosen.out.open("a") as file:
                file.write(json.dumps(result) + "\n")
    print("events: " + ", ".join(f"{name} {count:,}" for name, count in sorted(total.items())))
    missing = [name for name in REQUIRED if total[name] == 0]
    if missing:
        print(f"these events did not occur: {', '.join(missing)}")
    return int(bool(missing))


def cases_of(names: Sequence[str], dynamics: Sequence[str]) -> list[tuple[str, bool]]:
    """Layouts and whether dynamics are old; these only where all orders have three ingredients."""
    short = {name for name in names if any(len(order) != 3 for order in named_layout(name).menu.orders)}
    new = [(name, False) for name in names if "new" in dynamics]
    return new + [(name, True) for name in names if "old" in dynamics and name not in short]


def compare(cases: Sequence[tuple[str, bool]], episodes: int, processes: int) -> Iterator[dict[str, Any]]:
    """The results of each case; AssertionError with the layout, the step and the part that differs first."""
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(compare_layout, *zip(*cases, strict=True), repeat(episodes))


def compare_layout(name: str, old_dynamics: bool, episodes: int) -> dict[str, Any]:
    """Play ``episodes`` with random players and as many with cooks, all at once."""
    began, counts, observations = time.perf_counter(), Counter[str](), 0
    id = f"Overcooked-v0:layout={name},horizon={HORIZON}"
    with (
        wl.Simulation(id, episodes, "cpu", seed=0, threads=1) as sim,
        wl.Simulation(f"{id},observation=features", episodes, "cpu", seed=0, threads=1) as described,
    ):
        for kitchen in (sim, described):
            kitchen.set_config("old_dynamics", old_dynamics)
        for seed, cooks in enumerate((False, True)):
            games = [Original(name, old_dynamics) for _ in range(episodes)]
            for game in games:
                game.planner = games[0].motion_planner()
            match = Lockstep(sim, games, HORIZON, np.random.default_rng(seed), cooks)
            for _ in range(HORIZON):
                match.check_state()
                match.check_observations(sim, planes, PLANES_EVERY)
                if match.players > 1:
                    match.check_observations(described, features, FEATURES_EVERY)
                actions = match.actions()
                match.step(actions)
                described.step(actions)
            counts.update(match.all_counts())
            observations += match.compared
        assert not sim.errors() and not described.errors()
    return {
        "layout": name,
        "dynamics": "old" if old_dynamics else "new",
        "episodes": 2 * episodes,
        "steps": 2 * episodes * HORIZON,
        "observations": observations,
        "seconds": time.perf_counter() - began,
        "events": dict(counts),
    }


if __name__ == "__main__":
    sys.exit(main())
