"""``worldloom economy``: figures and totals of an episode, and the sweep over constant policies."""

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
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import registered
from worldloom.core.registry.world_files import find
from worldloom.envs.covid import REAL, SYNTHETIC
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
"""Least width of the table, in columns of the terminal."""
DEFAULT_WORLDS = (REAL, SYNTHETIC)
"""The world of constant policies: the first that is available."""


@dataclass
class Economy:
    """Draw and summarize an episode of the COVID-19 economy. It is a simulation, not a tool for policy making.

    Writes figures of the country and of every state, and totals.json, into a folder. `worldloom economy sweep` plays
    all constant policies instead, 11 stringency levels times 21 subsidy levels, and lists the best.
    """

    what: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN|constant|real|decided|sweep")]
    """A run folder; constant: --level and --subsidy; real: the data; decided: historical decisions with the models'
    response; sweep: all constant policies."""
    against: str = "real"
    """Episodes to compare with, comma-separated: real, decided, constant, run folders; empty for none."""
    level: int = 5
    """With constant: stringency level of every state, 1 to 10; 0 keeps the level of the first day."""
    subsidy: int = 0
    """With constant: the planner's subsidy level, 0 to 20."""
    states: str = ""
    """States to draw, such as CA,NY; all by default."""
    out: str = "economy"
    """Output folder for the figures and totals.json, or sweep.json."""
    format: Literal["png", "svg"] = "png"
    """Format of the figures."""
    env: str = ""
    """World; by default that of the run, else CovidEconomy-v0 if its data are fetched, else
    CovidEconomySynthetic-v0."""
    checkpoint: str = "last"
    """Checkpoint of a run: last, best, or its name or path."""
    allow_changed_world: Switch = False
    """Go on although the rules of the world have changed since the checkpoint was saved."""
    device: str = "cpu"
    """Device of worlds and policies: cpu, cuda:N or auto."""
    seed: int = 1_000_000
    """Random seed."""
    stochastic: Switch = False
    """Sample actions as in training instead of taking the most likely ones."""
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

    def run_definition(self, folder: Path) -> Definition:
        """The world of a run. The command line implements it, since worlds do not import ``learn``."""
        raise NotImplementedError

    def play_run(self, folder: Path) -> EpisodeHistory:
        """An episode of a run's policies. The command line implements it."""
        raise NotImplementedError

    # -- figures -----------------------------------------------------------------------------------------------------

    def _figures(self) -> dict[str, Any]:
        from worldloom.envs.covid.economy import parameters_of
        from worldloom.envs.covid.history import state_indices

        definition = self._definition()
        data = parameters_of(definition)
        state_indices(names(self.states), data.states, data.postal)  # refuse unknown states before playing
        subjects = [self.what, *(name for name in names(self.against) if name != self.what)]
        histories = _with_unique_labels([self._history(subject) for subject in subjects])
        folder = Path(self.out).expanduser()
        files = self._draw(histories, folder, definition.id)
        report = {
            "env": definition.id,
            "totals": {history.label: _finite_or_none(history.totals()) for history in histories},
            "folder": str(folder),
            "files": files,
        }
        _write(folder / "totals.json", report)
        return {**report, "files": [*files, "totals.json"]}

    def _draw(self, histories: list[EpisodeHistory], folder: Path, title: str) -> list[str]:
        """Draw all figures, and return the names of their files."""
        from worldloom.envs.covid.figures import QUANTITIES, draw_country, draw_states

        chosen = [history.of_states(names(self.states)) for history in histories] if self.states else histories
        figures = ["country", *(name for name, quantity in QUANTITIES.items() if quantity.states is not None)]
        files = [f"{name}.{self.format}" for name in figures]
        with ProgressBar("drawing", len(files)) as bar:
            for done, (name, file) in enumerate(zip(figures, files, strict=True)):
                if name == "country":
                    draw_country(histories, folder / file, title)
                else:
                    draw_states(chosen, name, folder / file, title)
                bar.show(done + 1)
        return files

    def _history(self, subject: str) -> EpisodeHistory:
        from worldloom.envs.covid.economy import parameters_of
        from worldloom.envs.covid.history import real_history
        from worldloom.envs.covid.policies import play_constant, play_decided

        if subject == "sweep":
            raise InputError(
                "a sweep has no history to draw: "
                "`worldloom economy sweep --against RUN` lists a run among constant policies"
            )
        if subject not in SUBJECTS:
            return self._run_history(subject)
        definition = self._definition()
        data = parameters_of(definition)
        if subject == "real":
            return real_history(data, "made-up data" if data.synthetic else "real")
        with ProgressBar(f"playing {definition.id}", definition.max_steps) as bar:
            if subject == "constant":
                return play_constant(definition, data, self.level, self.subsidy, self.device, bar.show)
            return play_decided(definition, data, self.device, bar.show)

    def _run_history(self, name: str) -> EpisodeHistory:
        if not Path(name).expanduser().is_dir():
            raise InputError(f"'{name}' is no folder of a run, and none of {', '.join(SUBJECTS)}: give one of these")
        return self.play_run(Path(name))

    def _definition(self) -> Definition:
        """The economy that the arguments name."""
        if self.env:
            return find(self.env)
        for name in (self.what, *names(self.against)):
            if name not in SUBJECTS and Path(name).expanduser().is_dir():
                return self.run_definition(Path(name))
        return find(next((name for name in DEFAULT_WORLDS if name in registered()), DEFAULT_WORLDS[0]))

    # -- the sweep ---------------------------------------------------------------------------------------------------

    def _sweep(self) -> dict[str, Any]:
        from worldloom.envs.covid.economy import parameters_of
        from worldloom.envs.covid.policies import sweep_constant

        subjects = [name for name in names(self.against) if name in SUBJECTS and name != "real"]
        if subjects or self.level != Economy.level or self.subsidy != Economy.subsidy or self.states:
            raise InputError(
                "a sweep plays every level and subsidy for the whole country: "
                "leave out --level, --subsidy and --states, and give --against runs only"
            )
        definition = self._definition()
        with ProgressBar(f"playing {definition.id}", definition.max_steps) as bar:
            policies = sweep_constant(definition, parameters_of(definition), self.device, bar.show)
        learned = [self._run_history(name) for name in names(self.against) if name not in SUBJECTS]
        report = {
            "env": definition.id,
            "constant": [_policy_row(policy) for policy in policies],
            "learned": [
                {"label": history.label, **_finite_or_none(history.totals())}
                for history in _with_unique_labels(learned)
            ],
        }
        target = Path(self.out).expanduser() / "sweep.json"
        _write(target, report)
        return {**report, "best": best(policies), "folder": self.out, "files": [target.name]}

    def _show(self, report: dict[str, Any]) -> None:
        if self.what == "sweep":
            rows = [*report["learned"], *report["constant"][:SWEEP_ROWS], report["best"]["governor_welfare"]]
            title = (
                f"{report['env']}: the best of {len(report['constant'])} constant policies for the planner, "
                "and last the best for the governors"
            )
        else:
            rows, title = [{"label": label, **totals} for label, totals in report["totals"].items()], report["env"]
        console.out().print(policy_table(rows, title), width=max(MIN_TABLE_WIDTH, console.out().width), crop=False)
        console.out().print(f"{report['folder']}: {', '.join(report['files'])}", soft_wrap=True, markup=False)


def best(policies: list[ConstantPolicy]) -> dict[str, dict[str, Any]]:
    """The best constant policy for the planner and for the governors, by the name of the total."""
    return {
        name: _policy_row(max(policies, key=lambda policy: policy.totals[name]))
        for name in ("planner_welfare", "governor_welfare")
    }


def _policy_row(policy: ConstantPolicy) -> dict[str, Any]:
    return {"label": policy.label, "level": policy.level, "subsidy": policy.subsidy, **policy.totals}


def policy_table(rows: list[dict[str, Any]], title: str) -> Table:
    """A table of policies and their totals: the welfare of planner and governors, and its components."""
    columns = {
        "planner": lambda row: _format_or_dash(row["planner_welfare"], ".2f"),
        "gover-\nnors": lambda row: _format_or_dash(row["governor_welfare"], ".2f"),
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


def _format_or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _finite_or_none(totals: dict[str, float]) -> dict[str, float | None]:
    """Totals with None for NaN, which JSON cannot hold."""
    return {name: value if math.isfinite(value) else None for name, value in totals.items()}


def _with_unique_labels(histories: list[EpisodeHistory]) -> list[EpisodeHistory]:
    """The histories, with a number appended to repeated labels."""
    counts: dict[str, int] = {}
    unique = []
    for history in histories:
        counts[history.label] = counts.get(history.label, 0) + 1
        number = counts[history.label]
        unique.append(history if number == 1 else replace(history, label=f"{history.label} ({number})"))
    return unique


def _write(target: Path, report: dict[str, Any]) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(report, indent=2))
    except OSError as error:
        raise InputError(f"cannot write {target}: {error}") from None
