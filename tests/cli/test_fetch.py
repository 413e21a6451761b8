"""``worldloom fetch``: data are saved, reported, and used by the worlds that need them."""

import json

import gymnasium
import pytest
from covid_files import published_files, write_wheel

import worldloom as wl
from worldloom.core.registry import registry
from worldloom.envs.covid import fetch_command, register_real
from worldloom.envs.covid.data import load_real

COVID = "CovidEconomy-v0"
MUST = (
    "the data of the COVID-19 economy must be fetched first, with `pip download --no-deps ai-economist` "
    "and `worldloom fetch covid --from FILE`"
)


@pytest.fixture(autouse=True)
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLDLOOM_DATA", str(tmp_path / "kept"))
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    register_real()
    yield
    register_real()


@pytest.fixture
def wheel(tmp_path):
    return write_wheel(tmp_path / "ai_economist-1.7.1-py3-none-any.whl", published_files())


def test_without_data_everything_says_how_to_get_it(worldloom):
    for command in (["check", COVID], ["train", COVID], ["explain", COVID], ["bench", "step", COVID]):
        code, out, err = worldloom(*command)
        report = err.removeprefix("worldloom: preparing the training ...\n")
        assert (
            code == 2 and out == "" and f"world '{COVID}' cannot be made: {MUST}" in report and report.count("\n") == 1
        )
    for make in (
        lambda: wl.make(COVID),
        lambda: wl.Simulation(COVID, 1),
        lambda: gymnasium.make_vec(f"worldloom/{COVID}", num_envs=1),
    ):
        with pytest.raises(wl.InputError, match="must be fetched first"):
            make()
    assert COVID not in wl.registered() and COVID not in wl.list_all_envs()


def test_without_data_lists_and_the_doctor_say_so(worldloom):
    assert f"{COVID}: not available: {MUST}" in worldloom("list")[1]
    listed = {world["id"]: world["available"] for world in json.loads(worldloom("list", "--json")[1])}
    assert listed[COVID] is False and listed["CartPole-v1"] is True
    assert json.loads(worldloom("doctor", "--json")[1])["covid"].startswith(MUST)


def test_fetched_data_is_there_for_its_world(worldloom, wheel, tmp_path):
    code, out, _ = worldloom("fetch", "covid", "--from", wheel, "--json")
    report = json.loads(out)
    assert code == 0 and report["env"] == COVID and report["states"] == 51 and report["days"] == 518
    assert (
        report["file"] == str(tmp_path / "kept" / "covid.safetensors")
        and "no tool for policy making" in report["notice"]
    )
    assert load_real().source == "ai-economist: ai_economist-1.7.1-py3-none-any.whl"
    assert "covid.safetensors" in json.loads(worldloom("doctor", "--json")[1])["covid"]


def test_fetch_tells_what_it_read(worldloom, wheel):
    code, out, _ = worldloom("fetch", "covid", "--from", wheel.parent)
    assert code == 0 and "51" in out and f"{int(load_real().population.sum()):,}" in out
    assert f"{COVID} is ready" in out and "no tool for policy making" in out


def test_fetch_without_a_place_says_how_to_get_the_file(worldloom, monkeypatch, tmp_path):
    monkeypatch.setattr(fetch_command, "installed", lambda: None)
    code, _, err = worldloom("fetch", "covid")
    assert code == 2 and "pip download --no-deps ai-economist" in err
    monkeypatch.setattr(fetch_command, "installed", lambda: tmp_path)
    code, _, err = worldloom("fetch", "covid")
    assert code == 2 and f"--from {tmp_path}" in err


def test_a_refused_file_leaves_what_was_kept(worldloom, wheel, tmp_path):
    worldloom("fetch", "covid", "--from", wheel)
    before = (tmp_path / "kept" / "covid.safetensors").read_bytes()
    (tmp_path / "bad.whl").write_text("nothing")
    code, _, err = worldloom("fetch", "covid", "--from", tmp_path / "bad.whl")
    assert code == 2 and "is no wheel or zip" in err
    assert (tmp_path / "kept" / "covid.safetensors").read_bytes() == before


def test_a_folder_that_cannot_be_made_is_named(worldloom, wheel, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORLDLOOM_DATA", str(tmp_path / "file" / "kept"))
    code, _, err = worldloom("fetch", "covid", "--from", wheel)
    assert code == 2 and "cannot be made" in err and "WORLDLOOM_DATA" in err


def test_after_fetch_the_world_is_there_in_the_same_process(worldloom, wheel):
    pytest.importorskip("worldloom.envs.covid.economy")
    worldloom("fetch", "covid", "--from", wheel)
    first = wl.definition(COVID)
    assert wl.registered()[COVID] is first and COVID in wl.list_all_envs() and first.rows["Governor"] == 51
    worldloom("fetch", "covid", "--from", wheel)
    assert wl.definition(COVID) is not first


@pytest.mark.parametrize(
    ("source", "words"),
    [("https://example.org/a.whl", "is an address, and worldloom downloads nothing"), ("", "say where the data")],
)
def test_what_names_no_file(worldloom, source, words):
    code, out, err = worldloom("fetch", "covid", "--from", source)
    assert (code, out) == (2, "") and words in err and err.count("\n") == 1
