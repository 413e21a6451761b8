"""The code of the documentation runs, and its links are valid."""

import re
import runpy
from pathlib import Path

import pytest
from thorough import THOROUGH

from worldloom.core.registry import registry

pytestmark = pytest.mark.usefixtures("quick_compilation")

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FENCE = re.compile(r"^```(.*?)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)!?\[[^\]]*\]\(([^)\s]+)\)")


def code_of(page: str) -> str:
    """The Python blocks of a page as one program with the page's line numbers; ``python no-run`` is skipped."""
    lines = [""] * (page.count("\n") + 1)
    for block in FENCE.finditer(page):
        if block[1].strip() == "python":
            first = page.count("\n", 0, block.start(2))
            lines[first : first + block[2].count("\n")] = block[2].splitlines()
    return "\n".join(lines) + "\n"


def anchors_of(page: str) -> set[str]:
    """The anchors of the headings, as GitHub generates them."""
    titles = re.findall(r"^#+ +(.*?) *$", FENCE.sub("", page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


LONG_TO_COMPILE = ("docs/worlds/escape_room.md", "docs/worlds/hideseek.md")
"""Their code runs in ``make test-thorough``; the tests of both worlds make the same calls."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


WITH_CODE = [
    page for page in PAGES if code_of(page.read_text()).strip() and (THOROUGH or name_of(page) not in LONG_TO_COMPILE)
]


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    program = tmp_path / f"{page.stem}.py"
    program.write_text(code_of(page.read_text()))
    runpy.run_path(str(program), run_name="__main__")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_are_valid(page: Path):
    broken = []
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        linked = (page.parent / file).resolve() if file else page
        if not linked.exists() or (anchor and anchor not in anchors_of(linked.read_text())):
            broken.append(target)
    assert not broken


def test_every_page_is_linked_from_the_index():
    index = (ROOT / "docs" / "index.md").read_text()
    linked = {(ROOT / "docs" / target.partition("#")[0]).resolve() for target in LINK.findall(index)}
    assert {page for page in (ROOT / "docs").rglob("*.md") if page.name != "index.md"} <= linked


def test_code_keeps_its_lines_and_skips_fragments():
    blocks = ["```python\na = 1", "```python no-run\nb = ...", "```console\nmake", "```python\nc = a"]
    page = "text\n\n" + "\n\n".join(f"{block}\n```" for block in blocks) + "\n"
    lines = code_of(page).splitlines()
    assert lines[3] == "a = 1" and lines[15] == "c = a"
    assert [line for line in lines if line] == ["a = 1", "c = a"]


def test_anchors_are_those_of_headings_alone():
    assert anchors_of("# The `life` of a step\n\n```python\n# not a heading\n```\n## Two\n") == {
        "the-life-of-a-step",
        "two",
    }
