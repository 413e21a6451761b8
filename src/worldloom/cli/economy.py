"""``worldloom economy``: an episode of the COVID-19 economy in figures and totals, and the sweep of all constant policies."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro
from rich import box
from rich.table import Table

from worldloom.core.base.errors import InputError
from worldloom.core.registry.registry import Definition, registered
from worldloom.core.registry.world_files import find
from worldloom.terminal import console
from worldloom.terminal.flags import Json, Switch, names
from worldloom.terminal.progress_bar import ProgressBar

if TYPE_CHECKING:
    from worldloom.envs.covid.history import EpisodeHistory
    from worldloom.envs.covid.policies import ConstantPolicy

SUBJECTS = ("constant", "real", "decided", "sweep")
SWEEP_ROWS = 8
"""Constant policies in the table of a sweep."""
MIN_TABLE_WIDTH = 100
"""Columns of a terminal that a table needs."""
DEFAULT_WORLDS = ("CovidEconomy-v0", "CovidEconomySynthetic-v0")
"""Where constant policies are played: the first of these that there is."""


@dataclass
class Economy:
    """Play an episode of the COVID-19 economy, draw it and sum it up. It is a simulation, not a tool for policy making.

    Figures of the country and of every state go into a folder, with totals.json. `worldloom economy sweep` plays all constant policies
    instead, 11 levels of stringency times 21 of subsidies, and lists the best.
    """

    what: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN|constant|real|decided|sweep")]
    """The folder of a run; constant for --level and --subsidy; real for what happened; decided for what was decided then, with the models' answer;
    sweep for all constant policies."""
    against: str = "real"
    """What is drawn and listed beside it, with commas between: real, decided, constant, folders of runs; empty for nothing."""
    level: int = 5
    """With constant: the stringency that every state holds, 1 to 10, or 0 for that of its first day."""
    subsidy: int = 0
    """With constant: the subsidy that the planner holds, 0 to 20."""
    states: str = ""
    """States to draw, as in CA,NY; all unless named."""
    out: str = "economy"
    """The folder for the figures and totals.json, or sweep.json."""
    format: Literal["png", "svg"] = "png"
    """Of the figures."""
    env: str = ""
    """The world; by default that of the run, or else CovidEconomy-v0 where its data is here and CovidEconomySynthetic-v0 where not."""
    checkpoint: str = "last"
    """Which policies of a run: last, best, or a checkpoint by its name or path."""
    device: str = "cpu"
    """Where worlds and policies run: cpu, cuda:N or auto."""
    seed: int = 1_000_000
    """Where random numbers start."""
    stochastic: Switch = False
    """Draw actions as in the training, instead of the likeliest ones."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        with console.keep_stdout_for_json(self.json):
            report = self._sweep() if self.what == "sweep" else self._figures()
        if self.json:
            console.print_json(report)
        else:
            self._show(report)
        from worldloom.envs.covid.data import NOTICE

        console.err().print(NOTICE, soft_wrap=True, markup=False)
        return 0

    # -- figures -----------------------------------------------------------------------------------------------------

    def _figures(self) -> dict[str, Any]:
        from worldloom.envs.covid.economy import parameters_of
        from worldloom.envs.covid.history import state_indices
        from worldloom.view.economy import QUANTITIES, draw_country, draw_states

        made = self._definition()
        data = parameters_of(made)
        state_indices(names(self.states), data.states, data.postal)  # before anything is played
        histories = [
            self._history(what) for what in [self.what, *(name for name in names(self.against) if name != self.what)]
        ]
        histories = _with_unique_labels(histories)
        chosen = [history.of_states(names(self.states)) for history in histories] if self.states else histories
        folder = Path(self.out).expanduser()
        title = made.id
        files = {"country": folder / f"country.{self.format}"}
        files |= {
            name: folder / f"{name}.{self.format}"
            for name, quantity in QUANTITIES.items()
            if quantity.states is not None
        }
        with ProgressBar("drawing", len(files)) as bar:
            for done, (name, target) in enumerate(files.items()):
                if name == "country":
                    draw_country(histories, target, title)
                else:
                    draw_states(chosen, name, target, title)
                bar.show(done + 1)
        totals = {history.label: _finite_or_none(history.totals()) for history in histories}
        report = {
            "env": title,
            "totals": totals,
            "folder": str(folder),
            "files": [path.name for path in files.values()],
        }
        _write(folder / "totals.json", report)
        return {**report, "files": [*report["files"], "totals.json"]}

    def _history(self, what: str) -> EpisodeHistory:
        from worldloom.envs.covid.economy import parameters_of
        from worldloom.envs.covid.history import real_history
        from worldloom.envs.covid.policies import play_constant, play_decided

        if what == "sweep":
            raise InputError(
                "a sweep has no history to draw: `worldloom economy sweep --against RUN` lists a run among constant policies"
            )
        made = self._definition()
        if what == "real":
            data = parameters_of(made)
            return real_history(data, "made-up data" if data.synthetic else "real")
        if what == "constant":
            with ProgressBar(f"playing {made.id}", made.max_steps) as bar:
                return play_constant(made, parameters_of(made), self.level, self.subsidy, self.device, bar.show)
        if what == "decided":
            with ProgressBar(f"playing {made.id}", made.max_steps) as bar:
                return play_decided(made, parameters_of(made), self.device, bar.show)
        return self._play_run(what)

    def _play_run(self, folder: str) -> EpisodeHistory:
        from worldloom.envs.covid.economy import parameters_of
        from worldloom.learn.economy import play_policies
        from worldloom.learn.play.actors import open_run

        if not Path(folder).expanduser().is_dir():
            raise InputError(f"'{folder}' is no folder of a run, and none of {', '.join(SUBJECTS)}: give one of these")
        run = open_run(
            Path(folder), self.checkpoint, self.env if self.env.endswith(".py") or ".py:" in self.env else ""
        )
        made = run.definition
        with (
            run.worlds(1, self.device, self.seed, reset=False) as worlds,
            ProgressBar(f"playing {made.id}", made.max_steps) as bar,
        ):
            actors = run.actors(worlds, stochastic=self.stochastic, seed=self.seed)
            return play_policies(worlds, actors, parameters_of(made), f"learned ({run.folder.name})", bar.show)

    def _definition(self) -> Definition:
        """The economy that is asked about."""
        from worldloom.learn.play.actors import open_run

        if self.env:
            return find(self.env)
        for name in (self.what, *names(self.against)):
            if name not in SUBJECTS and Path(name).expanduser().is_dir():
                return open_run(Path(name), self.checkpoint).definition
        return find(next((name for name in DEFAULT_WORLDS if name in registered()), DEFAULT_WORLDS[0]))

    # -- the sweep ---------------------------------------------------------------------------------------------------

    def _sweep(self) -> dict[str, Any]:
        from worldloom.envs.covid.economy import parameters_of
        from worldloom.envs.covid.policies import sweep_constant

        spoken = [name for name in names(self.against) if name in SUBJECTS and name != "real"]
        if spoken or self.level != Economy.level or self.subsidy != Economy.subsidy or self.states:
            raise InputError(
                "a sweep plays every level and subsidy for the whole country: leave out --level, --subsidy and --states, and give --against runs only"
            )
        made = self._definition()
        with ProgressBar(f"playing {made.id}", made.max_steps) as bar:
            found = sweep_constant(made, parameters_of(made), self.device, bar.show)
        learned = [self._play_run(name) for name in names(self.against) if name not in SUBJECTS]
        report = {
            "env": made.id,
            "constant": [
                {"label": policy.label, "level": policy.level, "subsidy": policy.subsidy, **policy.totals}
                for policy in found
            ],
            "learned": [
                {"label": history.label, **_finite_or_none(history.totals())}
                for history in _with_unique_labels(learned)
            ],
        }
        target = Path(self.out).expanduser() / "sweep.json"
        _write(target, report)
        return {**report, "best": best(found), "folder": self.out, "files": [target.name]}

    def _show(self, report: dict[str, Any]) -> None:
        if self.what == "sweep":
            rows = [*report["learned"], *report["constant"][:SWEEP_ROWS], report["best"]["governor_welfare"]]
            title = f"{report['env']}: the best of {len(report['constant'])} constant policies for the planner, and last the best for the governors"
        else:
            rows, title = [{"label": label, **totals} for label, totals in report["totals"].items()], report["env"]
        console.out().print(policy_table(rows, title), width=max(MIN_TABLE_WIDTH, console.out().width), crop=False)
        console.out().print(f"{report['folder']}: {', '.join(report['files'])}", soft_wrap=True, markup=False)


def best(found: list[ConstantPolicy]) -> dict[str, dict[str, Any]]:
    """The best constant policy for the planner and for the governors."""
    chosen = {
        name: max(found, key=lambda policy: policy.totals[name]) for name in ("planner_welfare", "governor_welfare")
    }
    return {
        name: {"label": policy.label, "level": policy.level, "subsidy": policy.subsidy, **policy.totals}
        for name, policy in chosen.items()
    }


def policy_table(rows: list[dict[str, Any]], title: str) -> Table:
    """Policies and their totals for people to read: the welfare of planner and governors, and what they paid for it."""
    columns = {
        "planner": lambda row: _number(row["planner_welfare"], ".2f"),
        "gover-\nnors": lambda row: _number(row["governor_welfare"], ".2f"),
        "deaths": lambda row: f"{row['deaths']:,.0f}",
        "jobless\n%": lambda row: f"{row['unemployment']:.2f}",
        "bn $\na day": lambda row: f"{row['productivity'] / 1e9:.2f}",
        "paid\nbn $": lambda row: f"{row['subsidies'] / 1e9:,.0f}",
        "mean\nlevel": lambda row: f"{row['level']:.2f}",
        "days": lambda row: f"{row['days']:.0f}",
    }
    if len({row["days"] for row in rows}) == 1:
        del columns["days"]
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("policy", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row["label"], *(text(row) for text in columns.values()))
    return table


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _finite_or_none(totals: dict[str, float]) -> dict[str, float | None]:
    """Totals with None for what is not known, which JSON can hold."""
    return {name: value if math.isfinite(value) else None for name, value in totals.items()}


def _with_unique_labels(histories: list[EpisodeHistory]) -> list[EpisodeHistory]:
    """Histories of different labels: the second of the same gets a number."""
    seen: dict[str, int] = {}
    found = []
    for history in histories:
        seen[history.label] = seen.get(history.label, 0) + 1
        again = seen[history.label]
        found.append(history if again == 1 else replace(history, label=f"{history.label} ({again})"))
    return found


def _write(target: Path, report: dict[str, Any]) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(report, indent=2))
    except OSError as error:
        raise InputError(f"cannot write {target}: {error}") from None
