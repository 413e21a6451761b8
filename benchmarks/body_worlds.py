"""The worlds with rigid bodies: world steps per second with random actions, and the time of each kernel.

python benchmarks/body_worlds.py --device cuda:0 --envs HideSeek-v0 --worlds 1024 4096 16384 65536 --kernels

``--threads`` sets the threads that share a world in the solver, 1 for a thread per world: bits stay the same in exact
mode, speed does not. ``--digest`` prints a digest of the columns of bodies and contacts after some steps in exact mode,
which is the same on every device and for every number of threads.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass

import numpy as np
import tyro

import worldloom as wl
from worldloom.core.measure.timing import make_actions, median_rates, step_runner, time_entries
from worldloom.physics import substeps


@dataclass
class Settings:
    """Measure the worlds with rigid bodies."""

    device: str = "cpu"
    """cpu or cuda:0."""
    envs: tuple[str, ...] = ("HideSeek-v0", "EscapeRoom-v0")
    """Worlds to measure."""
    worlds: tuple[int, ...] = (1024,)
    """Numbers of worlds."""
    threads: int = substeps.THREADS
    """Threads that share a world in the solver: 1, 4, 8, 16 or 32."""
    registers: int = substeps.REGISTERS
    """Registers of each of them at most."""
    warm_up: int = 40
    """Steps before the measurement."""
    seconds: float = 2.0
    """Approximate time of each measurement."""
    kernels: bool = False
    """Whether to print the time of each kernel, with the most worlds."""
    tune: bool = False
    """Whether to search block sizes and register limits first."""
    digest: int = 0
    """Steps after which to print a digest of the state, in exact mode; 0: none."""


def print_rates(name: str, settings: Settings) -> None:
    for count in settings.worlds:
        start = time.perf_counter()
        with wl.Simulation(name, count, settings.device, seed=0) as sim:
            ready = time.perf_counter() - start
            actions = make_actions(sim)
            run = step_runner(sim, actions)
            run(settings.warm_up)
            if settings.tune:
                print(sim.tune())
            rate = median_rates({"step": run}, settings.seconds)["step"]
            solver = f"threads {settings.threads} registers {settings.registers}"
            speed = f"{rate * count:.4g} world steps/s, {1e6 / rate:.1f} us"
            print(f"{name} {solver} worlds {count}: {speed}, made in {ready:.1f} s", flush=True)
            contacts = float(sim["Contact"].counts.numpy().mean())
            pairs = float(sim["Pair"].counts.numpy().mean())
            solved = float((sim["Contact"].rows("colour") >= 0).sum()) / count
            colours = float(sim.world.contact_colours.numpy().mean())
            print(
                f"  per world: {pairs:.2f} pairs, {contacts:.2f} contacts, {solved:.2f} solved, {colours:.2f} colours"
            )
            if settings.kernels and count == max(settings.worlds):
                entries = sim.executor.program.step
                seconds = time_entries(sim, sim.executor, 3, lambda: None)
                order = sorted(zip(seconds, entries, strict=True), key=lambda pair: -pair[0])
                for taken, entry in order[:22]:
                    labels = ", ".join(getattr(entry, "labels", (str(entry),)))
                    print(f"  {taken * 1e6:9.1f} us {taken / sum(seconds):6.1%}  {labels[:100]}", flush=True)
                print(f"  {sum(seconds) * 1e6:9.1f} us in all kernels")


def print_digest(name: str, settings: Settings) -> None:
    with wl.Simulation(name, 64, settings.device, seed=3, exact=True) as sim:
        actions = make_actions(sim, seed=1)
        for step in range(settings.digest):
            sim.step(actions[step % len(actions)])
        state = hashlib.sha256()
        for table in ("Solid" if name.startswith("HideSeek") else "Body", "Contact"):
            for column in ("position", "rotation", "velocity") if table != "Contact" else ("impulses", "normal"):
                rows = sim[table].rows(column).cpu().numpy() if table != "Body" else sim[table][column].numpy()
                state.update(np.ascontiguousarray(rows).tobytes())
        print(f"{name} {settings.device} threads {settings.threads}: digest {state.hexdigest()[:16]}", flush=True)


def main(settings: Settings) -> None:
    substeps.THREADS, substeps.REGISTERS = settings.threads, settings.registers  # before the worlds are defined
    for name in settings.envs:
        if settings.digest:
            print_digest(name, settings)
        else:
            print_rates(name, settings)


if __name__ == "__main__":
    main(tyro.cli(Settings))
