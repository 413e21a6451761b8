"""``worldloom fetch``: data of worlds that are not part of worldloom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro
from rich import box
from rich.markup import escape
from rich.table import Table

from worldloom.core.base.errors import InputError
from worldloom.envs.covid import REAL, register_real
from worldloom.envs.covid.data import NOTICE, Parameters, cache_path, load_real, save
from worldloom.envs.covid.published import PACKAGE, installed, read_published
from worldloom.terminal import console
from worldloom.terminal.flags import Json

Source = Annotated[str | None, tyro.conf.arg(name="from", metavar="PATH_OR_WHEEL")]


@dataclass
class Fetch:
    """Read and check the data of a world from your copy of its package, and save what the world needs.

    The COVID-19 economy uses data of the package ai-economist. Get its wheel with `pip download --no-deps ai-economist`
    and give the file with --from. Only three data files are read; nothing is installed, unpacked or run.
    """

    what: Annotated[tyro.conf.Positional[Literal["covid"]], tyro.conf.arg(metavar="covid")]
    """The data to fetch."""
    source: Source = None
    """Wheel, .zip, folder of the installed package, or folder with the data files or the wheel."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        if self.source is not None and "://" in self.source:
            raise InputError(
                f"{self.source} is an address, and worldloom downloads nothing: "
                f"get the wheel with `pip download --no-deps {PACKAGE}` and name the file"
            )
        if not self.source:
            installed_path = installed()
            how = (
                f"{PACKAGE} is installed here: --from {installed_path}"
                if installed_path
                else f"get the wheel with `pip download --no-deps {PACKAGE}` and name it with --from"
            )
            raise InputError(f"say where the data of the COVID-19 economy is; {how}")
        parameters = read_published(self.source)
        path = save(parameters, cache_path())
        register_real()
        if self.json:
            console.print_json({"env": REAL, **_data_report(parameters), "file": str(path), "notice": NOTICE})
            return 0
        table = Table(box=box.SIMPLE, show_header=False)
        table.add_column(style="bold")
        table.add_column(overflow="fold")
        for name, value in {**_data_report(parameters), "file": path}.items():
            table.add_row(name.replace("_", " "), escape(f"{value:,}" if isinstance(value, int) else str(value)))
        console.out().print(table)
        console.out().print(f"{REAL} is ready. {NOTICE}", soft_wrap=True, markup=False)
        return 0


def data_status() -> str:
    """The file and source of the fetched data, or how to get them."""
    try:
        return f"{cache_path()}, {load_real().source}"
    except InputError as error:
        return str(error)


def _data_report(parameters: Parameters) -> dict[str, int | str]:
    return {
        "states": parameters.num_states,
        "days": parameters.num_days,
        "first_step_after_day": parameters.start_day,
        "total_population": int(parameters.population.sum()),
        "source": parameters.source,
    }
