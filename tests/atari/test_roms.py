"""ROM files: search, identification by their bytes, and error messages."""

import gzip
import hashlib
import importlib.util
import io
import os
import sys
import zipfile
from pathlib import Path

import pytest
from references.colour_bars import colour_bars

from worldloom.atari.cartridges import roms
from worldloom.atari.cartridges.cartridge import CartridgeKind
from worldloom.atari.games.game_table import GAMES, find_game
from worldloom.core.base.errors import InputError

IMAGE = colour_bars([0])
HAS_ROMS = importlib.util.find_spec("ale_py") is not None
needs_roms = pytest.mark.skipif(not HAS_ROMS, reason="ale-py, whose ROMs this reads, is not installed")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The only folder of the search path."""
    monkeypatch.setenv(roms.VARIABLE, str(tmp_path))
    monkeypatch.setattr(roms, "PACKAGE", "a_package_that_nobody_has")
    return tmp_path


@pytest.fixture
def make_known(monkeypatch):
    """Register bytes as the ROM of a game."""

    def known(image: bytes, name: str) -> bytes:
        md5 = hashlib.md5(image).hexdigest()
        game = find_game(name)
        monkeypatch.setattr(roms, "game_of_rom", lambda asked: game if asked == md5 else None)
        monkeypatch.setattr(roms, "find_game", lambda asked: type(game)(**{**vars(game), "md5": md5}))
        return image

    return known


def reason(path: str | Path) -> str:
    with pytest.raises(InputError) as refused:
        roms.read(path)
    text = str(refused.value)
    assert text.isprintable()
    return text


@needs_roms
def test_the_package_has_the_rom_of_every_game(monkeypatch):
    monkeypatch.delenv(roms.VARIABLE, raising=False)
    files = roms.available()
    assert [rom.name for rom in files] == [game.name for game in GAMES]
    assert all(rom.game.cartridge == rom.kind.label and rom.notice == "" for rom in files)
    assert (
        roms.find("MsPacman-v5")
        == roms.find("ms_pacman")
        == roms.find("ALE/MsPacman-v5")
        == roms.find(roms.find("ms_pacman").source)
    )


def test_the_package_is_not_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "ale_py", raising=False)
    monkeypatch.delenv(roms.VARIABLE, raising=False)
    roms.available()
    assert "ale_py" not in sys.modules


def test_a_module_without_a_specification_is_no_package(monkeypatch):
    monkeypatch.delenv(roms.VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "ale_py", type(sys)("ale_py"))
    assert roms.folders() == []


def test_a_rom_is_known_by_its_bytes_whatever_the_file_is_called(folder, make_known):
    (folder / "pong.bin").write_bytes(colour_bars([1]))
    (folder / "something else.A26").write_bytes(make_known(IMAGE, "pong"))
    rom = roms.find("pong")
    assert (rom.name, rom.source, rom.image) == ("pong", folder / "something else.A26", IMAGE)


def test_the_users_folder_comes_first(tmp_path, monkeypatch, make_known):
    monkeypatch.setenv(roms.VARIABLE, str(tmp_path))
    (tmp_path / "x.bin").write_bytes(make_known(IMAGE, "pong"))
    assert roms.folders()[0] == tmp_path
    assert roms.find("pong").source == tmp_path / "x.bin"


def test_an_unknown_rom_is_allowed_with_a_notice(tmp_path):
    file = tmp_path / "homebrew.bin"
    file.write_bytes(IMAGE)
    rom = roms.find(file)
    assert (rom.name, rom.game, rom.kind) == ("homebrew", None, CartridgeKind.K4)
    assert rom.md5 in rom.notice and "no rewards" in rom.notice
    assert "image" not in repr(rom)


def test_a_game_whose_rom_is_missing_is_named_with_the_way_to_get_it(folder):
    with pytest.raises(
        InputError,
        match=r"there is no ROM of pong, with the MD5 60e0ea3cbe0913d39803477945e9e5ec, in .*: "
        r"pip install 'worldloom\[atari\]'",
    ):
        roms.find("Pong-v5")


def test_without_any_folder_the_same_is_said(folder, monkeypatch):
    monkeypatch.delenv(roms.VARIABLE)
    with pytest.raises(InputError, match=r"^there is no ROM of pong: pip install 'worldloom\[atari\]'"):
        roms.find("pong")
    assert roms.available() == [] and roms.scan() == []


@pytest.mark.parametrize(("image", "said"), [(IMAGE, "is another program"), (b"", "is empty")])
def test_a_namesake_is_told_about(folder, image, said):
    (folder / "pong.bin").write_bytes(image)
    with pytest.raises(InputError, match=f"there is no ROM of pong.* {said}.*pip install"):
        roms.find("pong")


def test_the_variable_must_name_a_folder(folder, monkeypatch):
    monkeypatch.setenv(roms.VARIABLE, str(folder / "nowhere"))
    with pytest.raises(InputError, match=r"ALE_ROMS_DIR names .*nowhere, which is no folder"):
        roms.find("pong")


def test_a_survey_has_every_file_and_says_what_is_wrong(folder):
    (folder / "a.bin").write_bytes(IMAGE)
    (folder / "b.rom").write_bytes(b"")
    (folder / "c.zip").write_bytes(b"PK\x03\x04" + bytes(range(200)))
    (folder / "notes.txt").write_text("not a ROM by its name")
    (folder / "d.bin").mkdir()
    files = roms.scan()
    assert [file.source.name for file in files] == ["a.bin", "b.rom", "c.zip", "d.bin"]
    assert [file.rom is None for file in files] == [False, True, True, True]
    assert [bool(file.problem) for file in files] == [False, True, True, True]
    assert roms.scan(folder) == files
    assert roms.scan(folder / "a.bin") == files[:1]
    assert [rom.name for rom in roms.available()] == ["a"]


def test_a_survey_of_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        roms.scan(tmp_path / "nothing")


def zipped(image: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("pong.bin", image)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("image", "said"),
    [
        (b"", "is empty: download it again"),
        (bytes(513 * 1024), "larger than any cartridge"),
        (zipped(IMAGE), "is a ZIP archive, which worldloom does not open: unpack it"),
        (gzip.compress(IMAGE), "is a gzip archive"),
        (b"\n<!DOCTYPE html><html><body>404</body></html>", "is a web page and no ROM"),
        ("\ufeffNot found: pong.bin é\r\n".encode(), "is text and no ROM"),
        (b"x" * 4096, "is text and no ROM"),
        (bytes(4096), "holds the same byte 4,096 times"),
        (b"\xff" * 2048, "holds the same byte 2,048 times"),
        (IMAGE[:-1], "4,095 bytes"),
        (IMAGE * 9, "36,864 bytes"),
        (IMAGE * 64 + bytes(4096), "266,240 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bytes_that_are_no_rom_are_refused_with_the_reason(tmp_path, image, said):
    file = tmp_path / "pong.bin"
    file.write_bytes(image)
    text = reason(file)
    assert said in text and str(file) in text


def test_a_huge_file_is_not_read_whole(tmp_path):
    file = tmp_path / "pong.bin"
    with file.open("wb") as hole:
        hole.truncate(1 << 40)
    assert "larger than any cartridge" in reason(file)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nothing.bin", "there is no file nothing.bin"),
        (".", "is a folder: name a ROM file in it"),
        (os.devnull, "is no regular file"),
        ("~nobody_of_this_name/pong.bin", "begins with the home of a user who is not known here"),
        ("a\0b.bin", "holds a null character"),
        ("x" * 5000 + ".bin", "cannot be read"),
        ("pyproject.toml/pong.bin", "cannot be read"),
        ("two\nlines \udcff.bin", "there is no file 'two\\nlines \\udcff.bin'"),
    ],
    ids=["missing", "folder", "device", "home", "null", "long", "below a file", "unprintable"],
)
def test_paths_that_lead_nowhere_are_refused_with_the_reason(path, said, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    assert said in reason(path)
    assert reason(path).count("cannot be read") == (said == "cannot be read")  # one reason, not one within another
    with pytest.raises(InputError):
        roms.find(path)


def test_a_file_that_may_not_be_read_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "pong.bin"
    file.write_bytes(IMAGE)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert "may not be read by this user" in reason(file)


def test_a_name_that_is_no_game_is_refused():
    with pytest.raises(InputError, match="there is no game 'nonsense'"):
        roms.find("nonsense")
