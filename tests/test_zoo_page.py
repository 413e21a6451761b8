"""docs/zoo.md shows the cards of the pretrained policies."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_table_is_that_of_the_cards(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import zoo

    try:
        assert f"{zoo.BEGIN}\n{zoo.table()}\n{zoo.END}" in zoo.PAGE.read_text()
    finally:
        sys.modules.pop("zoo", None)
