"""``worldloom new``: the files of a new world."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from worldloom.cli.commands import new_template
from worldloom.core.base.errors import InputError
from worldloom.terminal import console


@dataclass
class New:
    """Write a new world: NAME.py with two kinds of interacting entities, a test, and a program that runs it."""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """The world's name: pond, my-pond, my_pond or MyPond."""
    into: Path = Path()
    """Output folder; created if it does not exist."""

    def run(self) -> int:
        snake, camel = module_and_class_names(self.name)
        files = {
            self.into / f"{snake}.py": new_template.WORLD,
            self.into / f"test_{snake}.py": new_template.TEST,
            self.into / f"run_{snake}.py": new_template.RUN,
        }
        existing = [file for file in files if file.exists()]
        if existing:
            raise InputError(f"{existing[0]} exists already: choose another name, or move it away")
        try:
            self.into.mkdir(parents=True, exist_ok=True)
            for file, text in files.items():
                with open(file, "x", encoding="utf-8") as stream:  # exclusively: never through a link
                    stream.write(text.replace("@snake@", snake).replace("@Camel@", camel))
        except OSError as error:
            raise InputError(f"{error.filename or self.into} cannot be written: {error.strerror}") from None
        screen = console.out()
        world, test, run = files
        screen.print(f"wrote {world}, {test} and {run}", soft_wrap=True, markup=False)
        screen.print(
            f"  python {run}\n  python -m pytest {test}\n  worldloom check {world}\n  worldloom train {world}",
            soft_wrap=True,
            markup=False,
        )
        return 0


def module_and_class_names(name: str) -> tuple[str, str]:
    """The names of module and class: ``my-pond``, ``my_pond`` and ``MyPond`` give ``my_pond``, ``MyPond``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.replace("-", "_"))
    snake = re.sub(r"_+", "_", spaced).strip("_").lower()
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) or not snake:
        raise InputError(f"'{name}' is no name for a world: use letters, digits, '-' and '_', and begin with a letter")
    camel = "".join(word[:1].upper() + word[1:] for word in snake.split("_"))
    if keyword.iskeyword(snake) or snake in sys.stdlib_module_names or snake in ("worldloom", "numpy", "pytest"):
        raise InputError(
            f"'{name}' would hide Python's own '{snake}' or a package that worlds need: choose another name"
        )
    if camel in ("Forager", "Berry", "World"):
        raise InputError(f"'{name}' is the name of something inside the new world: choose another name")
    return snake, camel
