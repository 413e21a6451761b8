"""The digest of models: where their files are and the last bits of their numbers do not change the rules of a world."""

from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom import robots
from worldloom.core.registry.rules import differences
from worldloom.robots.model_content import content_digest

MESH = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
TEXT = """
<mujoco>
  <compiler meshdir="meshes"/>
  <asset><mesh name="tip" file="tip.obj"/></asset>
  <worldbody>
    <body euler="10 20 30"><freejoint/><geom type="mesh" mesh="tip" density="500"/></body>
  </worldbody>
</mujoco>
"""


def world(folder: Path, text: str = TEXT) -> wl.Definition:
    (folder / "meshes").mkdir(parents=True, exist_ok=True)
    (folder / "meshes" / "tip.obj").write_text(MESH)
    (folder / "rock.xml").write_text(text)
    return rocks(robots.Model(folder / "rock.xml", trusted=True))


def rocks(model: robots.Model) -> wl.Definition:
    class Rock(wl.Entity, model.State):  # type: ignore[misc, name-defined]
        pass

    physics = robots.Physics(model, Rock)
    return wl.Definition("Rock-v0", wl.World, {Rock: 1}, reset=(physics.home, physics.forward), step=physics.step)


def test_a_moved_model_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = world(tmp_path / "a"), world(tmp_path / "another" / "place")
    monkeypatch.chdir(tmp_path / "a")
    assert here.rules.parts == there.rules.parts == world(Path()).rules.parts
    assert here.hash == there.hash


def test_a_changed_model_is_named(tmp_path: Path) -> None:
    rules = [world(tmp_path, TEXT.replace("500", density)).rules.parts for density in ("500", "501")]
    (difference,) = differences(*rules)
    assert difference.startswith("the data, such as a model or a ROM, of the launches ")


def test_the_last_bits_of_numbers_do_not_count(tmp_path: Path) -> None:
    world(tmp_path)
    model = robots.Model(tmp_path / "rock.xml", trusted=True).mj_model
    before = content_digest(model)
    model.body_mass[1] = np.nextafter(model.body_mass[1], 2.0)
    model.body_ipos[0] = 6e-17
    assert content_digest(model) == before
    model.body_mass[1] *= 1.0 + 1e-6
    assert content_digest(model) != before


def test_a_model_without_files_keeps_its_digest() -> None:
    """States that were saved before are recognized by it."""
    model = robots.Model("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>", trusted=True)
    assert model.saved_digest in rocks(model).step[0].digest()
