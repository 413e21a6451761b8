"""Every file of wrong_worlds is refused at the very line that its comment marks, in the user's own words."""

import importlib.util
import re
from pathlib import Path

import pytest

import worldloom as wl

FOLDER = Path(__file__).parent / "wrong_worlds"
FILES = sorted(FOLDER.glob("*.py"))
MARK = re.compile(r"# WRONG: (.*)$")
GENERATED = re.compile(r"\bv_|\bwl_|__col\b|\bhelper_|\bp_|worldloom_cpu|step_\d")


def expectation(file: Path) -> tuple[int, str]:
    """The line that the error must name, and the pattern that its problem must match."""
    marked = [(number, found[1]) for number, line in enumerate(file.read_text().splitlines(), 1) if (found := MARK.search(line))]
    assert len(marked) == 1, f"{file.name} marks {len(marked)} lines"
    return marked[0]


def load(file: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"wrong_world_{file.stem}", file)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_there_are_at_least_twenty_five() -> None:
    assert len(FILES) >= 25


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_wrong_world_is_refused(file: Path) -> None:
    line, pattern = expectation(file)
    with pytest.raises(wl.DefinitionError) as caught:
        load(file)
    error = caught.value
    assert Path(error.file) == file
    assert error.line == line, str(error)
    assert re.search(pattern, error.problem), str(error)
    assert error.fix and f"To mend it: {error.fix}" in str(error)
    assert f"{file}:{line}: " in str(error)
    assert not GENERATED.search(f"{error.problem} {error.fix}"), str(error)
