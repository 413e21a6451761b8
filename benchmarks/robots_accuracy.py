"""Accuracy of MuJoCo Warp against MuJoCo's C engine, for the models of all robot worlds.

python benchmarks/robots_accuracy.py --device cuda:0
python benchmarks/robots_accuracy.py --device cpu --states 100 --worlds Ant-v5,DogRun-v1

For each model it prints the share of states within 1e-4 of the largest number of the state after one step of physics,
percentiles of the errors, and the states beyond, with their contacts. ``limit`` is the share for the C engine itself,
if positions and velocities change by up to half a unit in the last place of float32.
"""

from __future__ import annotations

import argparse

import numpy as np

import worldloom as wl
from worldloom.envs.dm_suite.family import TASKS as SUITE_TASKS
from worldloom.envs.mujoco.family import TASKS as GYMNASIUM_TASKS
from worldloom.robots.arrays import C_ENGINE_ONLY
from worldloom.robots.physics import Physics, physics_of
from worldloom.robots.warp.accuracy import measure_accuracy

LOCOMOTION = ("LocomotionAnt-v0", "LocomotionHumanoid-v0", "FlagrunHarder-v0", "FlagrunTerrain-v0")
WORLDS = (*(f"{task}-v5" for task in GYMNASIUM_TASKS), *SUITE_TASKS, *LOCOMOTION)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--worlds", default=",".join(WORLDS), help="ids of worlds, separated by commas")
    parser.add_argument("--states", type=int, default=1000, help="states per model")
    parser.add_argument("--outliers", type=int, default=5, help="states to list per model")
    arguments = parser.parse_args()
    columns = f"{'median':>8} {'p99':>8} {'max':>8} {'contacts':>9} {'sizes':>9} {'faults':>7}"
    print(f"{'world':28} {'share':>7} {'limit':>7} {columns}")
    for id in arguments.worlds.split(","):
        physics = physics_of(wl.definition(id))
        if any(name in physics.names for name in C_ENGINE_ONLY):
            print(f"{id:28} runs on the CPU only")
            continue
        report(id, physics, arguments.device, arguments.states, arguments.outliers)


def report(id: str, physics: Physics, device: str, num_states: int, num_outliers: int) -> None:
    """Print the accuracy of one world's model."""
    accuracy = measure_accuracy(physics.model, physics.substeps, physics.sizes, device, num_states)
    errors = " ".join(f"{np.quantile(accuracy.errors, q):8.1e}" for q in (0.5, 0.99, 1.0))
    sizes = f"{physics.sizes.contacts},{physics.sizes.constraints}"
    contacts = f"{accuracy.contacts.mean():.1f}/{accuracy.contacts.max()}"
    shares = f"{accuracy.share:7.2%} {accuracy.limit:7.2%}"
    print(f"{id:28} {shares} {errors} {contacts:>9} {sizes:>9} {accuracy.num_faults:7}", flush=True)
    for line in accuracy.outliers(num_outliers):
        print(f"    {line}")


if __name__ == "__main__":
    main()
