"""Worlds in files: lookup by path, execution once, and names that are valid in any folder."""

from pathlib import Path

import pytest

from worldloom.core.base.errors import DefinitionError, InputError
from worldloom.core.registry import registry
from worldloom.core.registry.world_files import find, load, reference

TEXT = """
import worldloom as wl

class Stone(wl.Entity):
    push: wl.Action(wl.Discrete(2))

class Field(wl.World):
    pass

wl.register("{id}", world=Field, entities={{Stone: {count}}})
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    path = tmp_path / "stones.py"
    path.write_text(TEXT.format(id="Stones-v0", count=1))
    return path


def test_a_world_is_found_again_from_any_folder(file, monkeypatch):
    monkeypatch.chdir(file.parent)
    made = find("stones.py")
    name = reference("stones.py", made)
    assert name == f"{file}:Stones-v0" == reference("stones.py:Stones-v0", made)
    monkeypatch.chdir("/")
    assert find(name) is made
    assert reference("CartPole-v1", find("CartPole-v1")) == "CartPole-v1"


def test_a_file_is_run_once_until_it_changes(file):
    first = load(file)["Stones-v0"]
    assert load(Path(file))["Stones-v0"] is first
    file.write_text(TEXT.format(id="Stones-v0", count=20))
    assert load(file)["Stones-v0"] is not first
    assert list(find(str(file)).entities.values()) == [20]


def test_a_file_may_replace_its_own_worlds_only(file, tmp_path):
    first = find(str(file))
    other = tmp_path / "other.py"
    other.write_text(TEXT.format(id="Stones-v0", count=300))
    with pytest.raises(DefinitionError, match=rf"its id is taken by a world with other rules, registered at {file}:"):
        find(str(other))
    assert registry.definition("Stones-v0") is first
    file.write_text(TEXT.format(id="Stones-v0", count=4000) + "broken(")
    with pytest.raises(InputError, match="the file cannot be run"):
        find(str(file))
    assert registry.definition("Stones-v0") is first, "it stays where the edited file fails"


def test_what_is_not_there_is_said(file, tmp_path):
    with pytest.raises(InputError, match=r"there is no file nowhere\.py"):
        find("nowhere.py")
    with pytest.raises(InputError, match="registers no world 'Pond-v0': it registers Stones-v0"):
        find(f"{file}:Pond-v0")
    empty = tmp_path / "empty.py"
    empty.write_text("")
    with pytest.raises(InputError, match="registers no world"):
        find(str(empty))
