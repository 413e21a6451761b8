"""``worldloom list`` and ``worldloom doctor``."""

import json
from pathlib import Path

import pytest
import warp as wp

import worldloom as wl
from worldloom.cli.commands import doctor
from worldloom.core.registry import registry


def test_list_shows_every_world(worldloom):
    code, out, _ = worldloom("list")
    assert code == 0
    assert "CartPole-v1" in out
    assert "1 Cart" in out
    assert "HalfCheetah" in out
    assert "`worldloom play WORLD --pretrained`: Acrobot-v1, " in out


class Swarm(wl.World):
    pass


class Bee(wl.Entity):
    pass


def test_list_says_how_many_there_may_be(worldloom, monkeypatch):
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    wl.register("Swarm-v0", world=Swarm, entities={Bee: wl.UpTo(1000)}, doc="Bees that come and go.")
    assert "1,000" in worldloom("list")[1]
    swarm = next(world for world in json.loads(worldloom("list", "--json")[1]) if world["id"] == "Swarm-v0")
    assert swarm["entities"] == {"Bee": "up to 1,000"}


def test_list_as_json(worldloom):
    _, out, _ = worldloom("list", "--json")
    cartpole = next(world for world in json.loads(out) if world["id"] == "CartPole-v1")
    assert cartpole["entities"] == {"Cart": 1}
    assert cartpole["actions"] == {"Cart.push": "Discrete(n=2)"}
    assert cartpole["observations"] == {"Cart.sight": "float (4)"}
    assert cartpole["max_steps"] == 500 and cartpole["pretrained"]
    assert not next(world for world in json.loads(out) if world["id"] == "HideSeek-v0")["pretrained"]


def test_doctor_names_versions_devices_and_cache(worldloom):
    code, out, _ = worldloom("doctor", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["versions"]["warp"] == wp.config.version
    assert found["cores"] >= 1
    assert len(found["gpus"]) == wp.get_cuda_device_count()
    assert Path(found["cache"]).is_dir()


def test_doctor_says_what_a_missing_driver_means(monkeypatch):
    monkeypatch.setattr(wp, "get_cuda_driver_version", lambda: None)
    monkeypatch.setattr(wp, "get_cuda_devices", list)
    assert doctor.inspect_machine().driver.startswith("no NVIDIA driver was found: worlds run on the CPU")


def test_doctor_gives_the_command_that_adds_an_extra(worldloom, monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda package: None if package == "ray" else "1.0")
    code, out, _ = worldloom("doctor")
    assert code == 0
    assert "missing ray: pip install" in " ".join(out.split())
    assert "'worldloom[cluster]'" in " ".join(out.split())
    assert out.count("missing") == 1


def test_the_extras_are_those_of_the_package():
    toml = pytest.importorskip("tomllib")
    project = toml.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    declared = {name: wanted for name, wanted in project["optional-dependencies"].items() if name != "dev"}
    assert set(doctor.EXTRAS) == set(declared)
    for name, (_, packages) in doctor.EXTRAS.items():
        assert all(any(line.startswith(package) for line in declared[name]) for package in packages)
