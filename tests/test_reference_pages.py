"""The reference pages list the names that the public packages export."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
GENERATOR = runpy.run_path(str(FOLDER / "generate.py"))


@pytest.mark.parametrize("package", GENERATOR["PACKAGES"])
def test_a_page_lists_what_its_package_exports(package: str):
    text = GENERATOR["page_path"](package).read_text()
    tables = text.partition("\n### ")[0]  # the members of classes follow
    listed = re.findall(r"^\| `(\w+)", tables, re.MULTILINE)
    assert sorted(listed) == sorted(GENERATOR["exported"](package)), "run python docs/reference/generate.py"


@pytest.mark.parametrize("package", GENERATOR["PACKAGES"])
def test_every_exported_name_can_be_imported(package: str):
    assert GENERATOR["page"](package).startswith(f"# {package}\n")
