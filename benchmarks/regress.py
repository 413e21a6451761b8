"""The speed of two versions of worldloom in one run: rounds that alternate between them, and the ratio of their times.

python benchmarks/regress.py 94ec064                                   # the working tree against a commit, on the CPU
python benchmarks/regress.py 94ec064 --device cuda:0 --rounds 25
python benchmarks/regress.py ../other-checkout --cases cartpole tag     # against a folder

Each version runs in its own processes, with its own source first on the path, and both are warm before the first round.
Only the public interface is used. A round times both versions for the same number of steps, in alternating order. The
reported ratio is the median over all rounds of (time of this version / time of the other); less than 1 is faster.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import tyro

ROOT = Path(__file__).resolve().parent.parent
SERVE = "--serve"
Case = Literal["cartpole", "cartpole_checks_off", "tag", "atari", "atari_mspacman"]
WORLDS: dict[str, tuple[str, int, int]] = {
    "cartpole": ("CartPole-v1", 8192, 1 << 20),
    "cartpole_checks_off": ("CartPole-v1", 8192, 1 << 20),
    "tag": ("TagContinuous-v0", 64, 4096),
    "atari": ("Pong-v5", 64, 4096),
    "atari_mspacman": ("MsPacman-v5", 64, 4096),
}
"""The world of a case, its environments on a CPU and on a GPU."""


@dataclass
class Settings:
    """Compare the speed of this version with that of another."""

    base: tyro.conf.Positional[str]
    """A commit of this repository, or a folder with another checkout."""
    device: str = "cpu"
    """Where to run: cpu or cuda:0."""
    cases: list[Case] = field(default_factory=lambda: ["cartpole", "tag", "atari", "atari_mspacman"])
    """What to step."""
    rounds: int = 21
    """How often each version is timed."""
    pairs: int = 3
    """Restarts of both versions, each for a share of the rounds: memory placement changes GPU times by 3 %."""
    seconds: float = 0.5
    """How long one version runs in a round."""
    out: Path | None = None
    """A JSON file for the figures."""


# -- the measured process --------------------------------------------------------------------------------------------


def prepare(case: str, device: str) -> Callable[[int], None]:
    """What takes a number of steps in the world of a case, and waits for them."""
    import numpy as np

    import worldloom as wl

    world, few, many = WORLDS[case]
    cuda = device.startswith("cuda")
    random = np.random.default_rng(0)
    if world.endswith("-v5") and not cuda:  # the vector environment, with what it hands out
        env = wl.make(world, num_envs=few, device=device, seed=0)
        env.reset()
        taken = [env.action_space.sample() for _ in range(8)]

        def run(steps: int) -> None:
            for number in range(steps):
                env.step(taken[number % 8])

        return run
    options = {"checks": False} if case == "cartpole_checks_off" else {}
    sim = wl.Simulation(world, many if cuda else few, device, seed=0, **options)
    actions: list[Any] = []
    for _ in range(8):
        drawn = {}
        for name, (table, held) in sim.definition.actions().items():
            column = sim.tables[table][held.name].numpy()
            choices = getattr(held.space, "choices", None) or (getattr(held.space, "n", 2),)
            shape = column.shape if len(choices) == 1 else column.shape[:-1]
            parts = [random.integers(0, n, shape).astype(column.dtype) for n in choices]
            drawn[name] = parts[0] if len(choices) == 1 else np.stack(parts, -1)
        actions.append(next(iter(drawn.values())) if len(drawn) == 1 else drawn)
    if cuda:
        import torch

        def moved(array: Any) -> Any:
            return torch.from_numpy(array).to(device)

        actions = [{k: moved(v) for k, v in a.items()} if isinstance(a, dict) else moved(a) for a in actions]

    def step(steps: int) -> None:
        for number in range(steps):
            sim.step(actions[number % 8])
        if cuda:
            torch.cuda.synchronize()

    return step


def serve() -> None:
    """Answer the requests of the comparing process: one line of JSON each."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed goes to the errors
    run: Callable[[int], None] | None = None
    for line in sys.stdin:
        request = json.loads(line)
        if "case" in request:
            run = prepare(request["case"], request["device"])
            run(20)
            answer: Any = "ready"
        else:
            assert run is not None
            start = time.perf_counter()
            run(request["steps"])
            answer = time.perf_counter() - start
        print(json.dumps(answer), file=answers, flush=True)


# -- the comparing process -------------------------------------------------------------------------------------------


class Version:
    """A process that measures one version."""

    def __init__(self, folder: Path) -> None:
        path = os.pathsep.join([str(folder / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
        command, pipe = [sys.executable, str(Path(__file__).resolve()), SERVE], subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env={**os.environ, "PYTHONPATH": path}
        )

    def ask(self, **request: Any) -> Any:
        given, taken = self.process.stdin, self.process.stdout
        assert given is not None and taken is not None
        print(json.dumps(request), file=given, flush=True)
        line = taken.readline()
        if not line:
            raise SystemExit(f"the measured process ended with code {self.process.wait()}; its errors are above")
        return json.loads(line)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@contextlib.contextmanager
def checkout(base: str) -> Iterator[Path]:
    """The folder of a version: ``base`` itself, or a temporary copy of that commit."""
    if (Path(base) / "src" / "worldloom").is_dir():
        yield Path(base).resolve()
        return
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", base, "src"], cwd=ROOT, capture_output=True, check=False)
        if archive.returncode:
            raise SystemExit(
                f"'{base}' is neither a folder with src/worldloom in it nor a commit: {archive.stderr.decode().strip()}"
            )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder)


def count_steps(version: Version, seconds: float) -> int:
    """How many steps a version takes in so many seconds."""
    steps = 20
    while (taken := version.ask(steps=steps)) < 0.1:
        steps *= 2
    return max(1, round(steps * seconds / taken))


def compare(case: str, other: Path, settings: Settings) -> dict[str, Any]:
    """Time both versions in alternation; the median ratio of their times and its quartiles."""
    times: dict[str, list[float]] = {"this": [], "other": []}
    steps = 0
    for pair in range(settings.pairs):
        versions = {"this": Version(ROOT), "other": Version(other)}
        try:
            for version in versions.values():
                version.ask(case=case, device=settings.device)
            steps = steps or count_steps(versions["other"], settings.seconds)
            for number in range(pair, settings.rounds, settings.pairs):
                for name in ("this", "other") if number % 2 else ("other", "this"):
                    times[name].append(versions[name].ask(steps=steps))
        finally:
            for version in versions.values():
                version.close()
    ratios = sorted(mine / theirs for mine, theirs in zip(times["this"], times["other"], strict=True))
    quartiles = statistics.quantiles(ratios, n=4)
    each = {name: statistics.median(found) / steps * 1e6 for name, found in times.items()}
    return {
        "case": case,
        "ratio": statistics.median(ratios),
        "from": quartiles[0],
        "to": quartiles[2],
        "rounds": settings.rounds,
        "microseconds": each,
    }


def main(settings: Settings) -> None:
    """Compare every case, print and write."""
    from rich.console import Console
    from rich.table import Table

    console, rows = Console(width=120), []
    table = Table("case", "ratio", "quartiles", "this, µs a step", "other, µs a step")
    with checkout(settings.base) as other:
        for case in settings.cases:
            found = compare(case, other, settings)
            rows.append(found)
            each = found["microseconds"]
            table.add_row(
                case,
                f"{found['ratio']:.3f}",
                f"{found['from']:.3f} to {found['to']:.3f}",
                f"{each['this']:.1f}",
                f"{each['other']:.1f}",
            )
            console.print(f"{case}: {found['ratio']:.3f}")
    console.print(table)
    if settings.out is not None:
        settings.out.write_text(
            json.dumps({"base": settings.base, "device": settings.device, "cases": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    if SERVE in sys.argv:
        serve()
    else:
        main(tyro.cli(Settings))
