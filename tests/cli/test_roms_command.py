"""What the command line tells about ROMs and games."""

import json

import pytest
from references.colour_bars import colour_bars

from worldloom.atari.cartridges import roms
from worldloom.atari.games.game_table import GAMES
from worldloom.cli.commands import doctor

IMAGE = colour_bars([0])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The only folder that is looked through."""
    monkeypatch.setenv(roms.VARIABLE, str(tmp_path))
    monkeypatch.setattr(roms, "PACKAGE", "a_package_that_nobody_has")
    return tmp_path


@pytest.fixture
def with_pong(folder, monkeypatch):
    """A folder with an unknown ROM, with one that is taken for Pong's, and with a broken one."""
    pong = next(game for game in GAMES if game.name == "pong")
    known = colour_bars([1])
    (folder / "a [1].bin").write_bytes(known)
    (folder / "homebrew.bin").write_bytes(IMAGE)
    (folder / "broken.bin").write_bytes(b"")
    md5 = roms.read(folder / "a [1].bin").md5
    monkeypatch.setattr(roms, "game_of_rom", lambda asked: pong if asked == md5 else None)
    return folder


def test_roms_shows_games_strangers_and_reasons(worldloom, with_pong):
    code, out, _ = worldloom("roms")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == str(with_pong)
    assert next(line for line in lines if "a [1].bin" in line).split()[2::2] == ["pong", "4K"]
    assert "not known" in next(line for line in lines if "homebrew.bin" in line)
    assert "broken.bin is empty: download it again" in out
    assert "1 ROM of known games, and 1 that is not known and can be played without rules." in out
    assert worldloom("roms", with_pong)[1] == out


def test_roms_as_json(worldloom, with_pong):
    known, broken, unknown = json.loads(worldloom("roms", "--json")[1])
    assert known["game"] == "pong" and known["env"] == "Pong-v5" and known["bytes"] == 4096 and known["problem"] is None
    assert len(known["md5"]) == 32 and known["file"] == str(with_pong / "a [1].bin")
    assert broken["problem"].endswith("is empty: download it again") and broken["md5"] is None
    assert unknown["game"] is None and unknown["cartridge"] == "4K"


def test_roms_of_one_file(worldloom, with_pong):
    code, out, _ = worldloom("roms", with_pong / "homebrew.bin", "--json")
    assert code == 0 and len(json.loads(out)) == 1
    code, out, err = worldloom("roms", with_pong / "broken.bin")
    assert code == 2 and out == "" and "broken.bin is empty" in err


def test_roms_that_are_nowhere(worldloom, folder):
    code, _, err = worldloom("roms")
    assert code == 2 and f"no ROM was found in {folder}: pip install" in err
    code, _, err = worldloom("roms", "two\nlines \udcff")
    assert code == 2 and "there is no file 'two\\nlines \\udcff'" in err


def test_a_file_name_that_cannot_be_printed_is_escaped(worldloom, folder):
    (folder / "line\nbreak.bin").write_bytes(IMAGE)
    code, out, _ = worldloom("roms")
    assert code == 0 and r"'line\nbreak.bin'" in out


def test_list_has_one_line_for_all_games(worldloom):
    out = worldloom("list")[1]
    assert f"Atari 2600: {len(GAMES) - 4} games" in out and "Breakout-v5" not in out


def test_list_of_games_says_which_have_their_rom(worldloom, folder, monkeypatch):
    code, out, _ = worldloom("list", "--atari")
    assert code == 0 and "Breakout-v5" in out and "missing" in out and "found" not in out
    assert f"{len(GAMES)} of {len(GAMES)} games lack their ROM: pip install 'worldloom[atari]'" in out
    games = json.loads(worldloom("list", "--atari", "--json")[1])
    assert [game["game"] for game in games] == [game.name for game in GAMES]
    pong = next(game for game in games if game["id"] == "Pong-v5")
    assert pong["actions"] == 6 and pong["available"] is False and pong["rom"] is None
    monkeypatch.setenv(roms.VARIABLE, str(folder / "nowhere"))
    assert "which is no folder" in worldloom("list", "--atari")[1]


def test_list_of_games_with_the_package():
    pytest.importorskip("ale_py", reason="ale-py is not installed")
    from worldloom.cli.commands.list import List

    assert List(atari=True).run() == 0


def test_doctor_counts_the_games_that_have_their_rom(worldloom, folder, monkeypatch):
    assert doctor.roms_status().startswith("none was found: pip install")
    monkeypatch.setenv(roms.VARIABLE, str(folder / "nowhere"))
    assert "which is no folder" in json.loads(worldloom("doctor", "--json")[1])["roms"]
