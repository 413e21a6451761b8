"""Random damage to run folders that are then resumed or evaluated.

    python tests/fuzz/corrupt_runs.py --count 1000 --seed 0

Each case is a copy of a small ppo or dqn run with one to three mutations, and a child process that continues it. The
child may refuse with a worldloom error, and then no byte of the folder may have changed. Or it may continue, and then
the folder must hold a valid run. A traceback, a signal, a hang, or a change of any file outside the folder is a
failure. It is printed with the seed of its case.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import forked
from kill_runs import check_metrics
from run_mutations import MUTATIONS, anything_of

from worldloom.cli.commands.train import Train
from worldloom.cli.main import main as command
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import read_metrics

LIMIT_S = 60.0
"""A child that takes longer hangs: it has to compile nothing, and to take 32 steps."""
STEPS = {"ppo": 96, "dqn": 96}
SMALL = {
    "ppo": ["--num-envs", "4", "--num-steps", "8", "--minibatches", "2"],
    "dqn": [
        "--num-envs",
        "4",
        "--learning-starts",
        "16",
        "--batch-size",
        "8",
        "--replay-capacity",
        "200",
        "--prioritized",
        "--updates",
        "1",
    ],
}


@dataclass(frozen=True)
class Case:
    """One damaged run: its number and seed, what was done to it, what was asked of it, and what came of it."""

    number: int
    algorithm: str
    mutations: tuple[str, ...]
    task: str
    outcome: str
    detail: str = ""


def make_original(root: Path, algorithm: str) -> Path:
    """A run of a few iterations with three checkpoints; made in this process, which thereby has all kernels."""
    folder = root / f"original_{algorithm}"
    common = [
        "--device",
        "cpu",
        "--policy.hidden",
        "8",
        "--total-steps",
        str(STEPS[algorithm]),
        "--checkpoint-every",
        "0.000001",
        "--quiet",
        "--no-video",
    ]
    assert (
        command(["train", "CartPole-v1", "--algo", algorithm, *SMALL[algorithm], *common, "--run-dir", str(folder)])
        == 0
    )
    assert len(list((folder / "checkpoints").iterdir())) >= 3
    return folder


def contents(folder: Path) -> dict[str, object]:
    """What every name below ``folder`` stands for; not the lock, which any process may create."""
    found: dict[str, object] = {}
    for path in anything_of(folder):
        name = str(path.relative_to(folder))
        if name == ".lock" and path.is_file() and not path.is_symlink():
            continue
        mode = path.lstat().st_mode
        found[name] = (mode, os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None)
    return found


def attempt(folder: Path, algorithm: str, task: str, draws: bool) -> int:
    """In the child: go on with the run, or evaluate it."""
    warnings.simplefilter("ignore")
    if not draws:  # a curve takes half a second
        Train._make_media = lambda *arguments, **options: {}
    if task == "eval":
        return command(["eval", str(folder), "--episodes", "2"])
    more = ["--total-steps", str(STEPS[algorithm] + 32)]
    return command(["train", "--resume", task, "--run-dir", str(folder), *more, "--no-video"])


def run_case(number: int, seed: int, root: Path, originals: dict[str, Path]) -> Case:
    """Damage a copy of a run, and see what becomes of it."""
    chance = random.Random(f"{seed}/{number}")
    algorithm, task = chance.choice(sorted(originals)), chance.choice(("yes", "yes", "yes", "auto", "eval"))
    place = root / "case"
    folder, outside, home, log = place / "run", place / "outside", place / "home", root / "log.txt"
    place.mkdir()
    outside.mkdir()
    home.mkdir()
    (outside / "precious.txt").write_text("somebody else's file\n")
    shutil.copytree(originals[algorithm], folder)
    done = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        if list(folder.iterdir()):
            try:
                done.append(chance.choice(MUTATIONS)(folder, outside, chance))
            except (OSError, IndexError):  # nothing is left that it could damage
                continue
    before, around = contents(folder), {**contents(outside), **contents(home)}
    os.chdir(home)
    code = forked.wait(forked.fork(lambda: attempt(folder, algorithm, task, chance.random() < 0.15), log), LIMIT_S)
    os.chdir(root)
    text = log.read_text(errors="replace")
    outcome, detail = judge(code, text, folder, before, task)
    if {**contents(outside), **contents(home)} != around:
        outcome, detail = "failure", f"a file outside the folder was changed (exit code {code})\n{text}"
    shutil.rmtree(place)
    return Case(number, algorithm, tuple(done), task, outcome, detail)


def judge(code: int | None, text: str, folder: Path, before: dict[str, object], task: str) -> tuple[str, str]:
    """What an exit code, what was said and what is in the folder now amount to."""
    if code is None:
        return "failure", f"it hangs\n{text}"
    if code not in (0, 2) or "Traceback" in text:
        return "failure", f"it ended with {code}\n{text}"
    if code == 2 and not ([""] + [line for line in text.splitlines() if line.strip()])[-1].startswith("worldloom: "):
        return "failure", f"it refused without a sentence of its own\n{text}"
    if code == 2 and "is not finite in iteration" in text:  # numbers that a training could have come to, and ended by
        was, now = (
            {name: what for name, what in all_.items() if name.startswith("checkpoints")}
            for all_ in (before, contents(folder))
        )
        return (
            ("resumed and diverged", "")
            if was == now
            else ("failure", f"a training that diverged changed its checkpoints\n{text}")
        )
    if (code == 2 or task == "eval") and contents(folder) != before:
        now = contents(folder)
        changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        return "failure", f"the folder was changed ({', '.join(changed)}) with exit code {code}\n{text}"
    if code == 0 and task != "eval":
        try:
            saved = Checkpoints(folder / "checkpoints")
            assert saved.latest() is not None, "no checkpoint"
            saved.load(saved.latest())
            assert read_metrics(folder), "no metrics"
            had = [name for name in before if re.fullmatch(r"checkpoints/iteration_[0-9]{8}", name)]
            assert "from step" in text or not had, f"it started over in spite of {', '.join(had)}"
        except Exception as error:
            return "failure", f"it went on and left no run in good order: {error!r}\n{text}"
        return "resumed", ""
    return ("evaluated", "") if code == 0 else ("refused", " ".join(text.split()))


def corrupt_runs(root: Path, numbers: range, seed: int, show: bool = False) -> list[Case]:
    """Damage as many runs as there are ``numbers``; failures are printed at once, with ``show`` all cases."""
    originals = {algorithm: make_original(root, algorithm) for algorithm in SMALL}
    check_metrics(originals["ppo"] / "metrics.jsonl")
    cases = []
    for number in numbers:
        case = run_case(number, seed, root, originals)
        if show or case.outcome == "failure":
            print(
                f"case {number} of seed {seed}, {case.algorithm}, {case.task}: {'; '.join(case.mutations)}: "
                f"{case.outcome}\n    {case.detail}",
                flush=True,
            )
        cases.append(case)
    return cases


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case, to repeat one")
    parser.add_argument("--show", action="store_true", help="print every case")
    asked = parser.parse_args()
    begin, root = time.monotonic(), Path(tempfile.mkdtemp(prefix="corrupt_runs_"))
    cases = corrupt_runs(root, range(asked.first, asked.first + asked.count), asked.seed, asked.show)
    counted = ", ".join(
        f"{count} {outcome}" for outcome, count in sorted(Counter(case.outcome for case in cases).items())
    )
    print(f"{len(cases)} damaged runs with seed {asked.seed} in {time.monotonic() - begin:.0f} s: {counted}")
    shutil.rmtree(root)
    return 1 if any(case.outcome == "failure" for case in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
