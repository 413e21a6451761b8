"""The notice of a long compilation."""

import time

from worldloom.core.base import console
from worldloom.core.base.console import MAX_LABEL_LENGTH, shortened


def test_the_id_of_many_games_is_cut_short():
    said = shortened("the launches of " + "+".join(f"Game{k}-v5" for k in range(104)) + " for cpu")
    assert (
        len(said) <= MAX_LABEL_LENGTH
        and said.startswith("the launches of Game0-v5+")
        and said.endswith("Game103-v5 for cpu")
        and " ... " in said
    )
    assert shortened("the launches of Pong-v5 for cpu") == "the launches of Pong-v5 for cpu"


def test_notices_can_be_switched_off(monkeypatch, capsys):
    monkeypatch.setattr(console, "NOTICE_DELAY_S", 0.0)

    def compile_slowly(silent):
        said, deadline = "", time.monotonic() + (0.05 if silent else 120.0)
        with console.without_notices(silent), console.compile_notice("a world"):
            while not said and time.monotonic() < deadline:
                time.sleep(0.01)
                said += capsys.readouterr().err
        return said

    assert compile_slowly(silent=True) == ""
    assert compile_slowly(silent=False).startswith("worldloom: compiling a world")
