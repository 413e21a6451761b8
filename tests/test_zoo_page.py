"""docs/zoo.md shows the cards of the pretrained policies."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_table_is_that_of_the_cards(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import zoo

    try:
        assert zoo.BEGIN + zoo.table() in zoo.PAGE.read_text().replace(f"\n{zoo.END}", zoo.END)
    finally:
        sys.modules.pop("zoo", None)
