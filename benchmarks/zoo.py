"""The policies that come with worldloom: trained, evaluated and written with their cards.

python benchmarks/zoo.py                        # train what is missing in runs/zoo, and write all files and docs/zoo.md
python benchmarks/zoo.py --only CartPole-v1     # one world
python benchmarks/zoo.py --page                 # docs/zoo.md alone, from the cards in the files

A training that was stopped continues. Each policy is evaluated over 1,000 episodes with greedy actions on the CPU.
"""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from run import describe_machine

from worldloom.core.base.device import resolve
from worldloom.learn import evaluate, export_policies, open_run
from worldloom.learn.play.evaluation import num_worlds_for
from worldloom.learn.runs.policy_file import read_card
from worldloom.learn.runs.pretrained import FOLDER, SUFFIX, pretrained, pretrained_worlds

PAGE = Path(__file__).parents[1] / "docs" / "zoo.md"
BEGIN, END = "<!-- begin of the table -->\n", "<!-- end of the table -->\n"
EPISODES = 1000
SEED = 1_000_000
MAX_BYTES = 3_000_000
OPTIONS = {
    "Acrobot-v1": "--total-steps 1000000",
    "Blackjack-v1": "--total-steps 2000000",
    "CartPole-v1": "--total-steps 300000",
    "Catch-v0": "--total-steps 1000000",
    "CliffWalking-v1": "--total-steps 1000000",
    "FrozenLake-v1": "--total-steps 2000000",
    "FrozenLake8x8-v1": "--total-steps 4000000",
    "MountainCar-v0": "--total-steps 4000000",
    "MountainCarContinuous-v0": "--algo sac",
    "NChain-v0": "--total-steps 1000000",
    "Pendulum-v1": "--algo sac",
    "TagGrid-v0": "",
    "Taxi-v3": "--total-steps 4000000",
}
"""The options of ``worldloom train`` by world."""


@dataclass
class Settings:
    """Write the policies that come with worldloom."""

    only: tuple[str, ...] = ()
    """Worlds; by default all."""
    device: str = "cpu"
    """The device of the trainings."""
    runs: Path = Path("runs/zoo")
    """The folder of the runs."""
    page: bool = False
    """Only write docs/zoo.md."""


def command_of(world: str) -> list[str]:
    """The command of a training, without its folder and device."""
    return ["worldloom", "train", world, *shlex.split(OPTIONS[world])]


def train(world: str, folder: Path, device: str) -> None:
    """Train in a world, or continue; nothing where it is done."""
    options = ["--device", device, "--run-dir", str(folder), "--resume", "auto", "--no-video", "--quiet"]
    subprocess.run([sys.executable, "-m", *command_of(world), *options], check=True, stdout=subprocess.DEVNULL)


def card_of(world: str, folder: Path, path: Path, device: str) -> dict[str, Any]:
    """What is known of the policies of a run: how they were trained, and how those of the file ``path`` play."""
    run = open_run(path)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    machine = describe_machine(resolve(device)[0])
    with run.worlds(num_worlds_for(EPISODES), "cpu", SEED) as worlds:
        result = evaluate(worlds, run.actors(worlds, seed=SEED), EPISODES)
    return {
        "command": shlex.join(command_of(world)),
        "hardware": machine["hardware"],
        "date": machine["date"],
        "commit": machine["commit"],
        "seconds": round(rows[-1]["seconds"], 1),
        "steps": run.checkpoint.steps,
        "episodes": EPISODES,
        "seed": SEED,
        "mean_return": result.mean_return,
        "standard_error": result.std_return / math.sqrt(EPISODES),
        "mean_length": result.mean_length,
        "returns": result.returns,
        "metrics": result.metrics,
    }


def table() -> str:
    """The table of docs/zoo.md, from the cards."""
    lines = ["| world | return | steps | seconds | trained on | command | bytes |", "|---|---:|---:|---:|---|---|---:|"]
    for world in pretrained_worlds():
        card, size = read_card(pretrained(world)), pretrained(world).stat().st_size
        played = f"{card['mean_return']:.4g} ± {card['standard_error']:.2g}"
        cost = f"{card['steps']:,} | {card['seconds']:,.0f} | {card['hardware']}, {card['commit']}, {card['date']}"
        lines.append(f"| `{world}` | {played} | {cost} | `{card['command']}` | {size:,} |")
    return "\n".join(lines) + "\n"


def write_page() -> None:
    """Replace the table of the page."""
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}")


def main(settings: Settings) -> None:
    """Train, evaluate and write."""
    console = Console(stderr=True)
    for world in () if settings.page else settings.only or OPTIONS:
        folder = settings.runs / world
        with console.status(f"training in {world}"):
            train(world, folder, settings.device)
        path = FOLDER / f"{world}{SUFFIX}"
        half = export_policies(folder, path).stat().st_size > MAX_BYTES
        if half:
            export_policies(folder, path, half=True)
        with console.status(f"playing {world}"):
            card = card_of(world, folder, path, settings.device)
        if export_policies(folder, path, card=card, half=half).stat().st_size > MAX_BYTES:
            path.unlink()
            raise SystemExit(f"the policies of {world} need more than {MAX_BYTES:,} bytes: train a smaller network")
        console.print(f"{world}: {card['mean_return']:.4g} in {card['seconds']:,.0f} s, {path.stat().st_size:,} bytes")
    write_page()


if __name__ == "__main__":
    main(tyro.cli(Settings))
