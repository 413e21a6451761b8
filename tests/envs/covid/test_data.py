"""Data of the COVID-19 economy: inconsistent data are refused, and saved data load bit for bit."""

import hashlib
import io
import json
import os
import zipfile
from dataclasses import fields, replace

import numpy as np
import pytest
from covid_files import npz, published_files, write_wheel

import worldloom as wl
from worldloom.core.base import tensor_file
from worldloom.envs.covid import data, published
from worldloom.envs.covid.published import CONSTANTS, FITTED, FOLDER, HISTORY, read_published


@pytest.fixture(scope="module")
def made_up():
    return data.load_synthetic()


@pytest.fixture(scope="module")
def files():
    return published_files()


def same(first, second) -> bool:
    values = [(getattr(first, f.name), getattr(second, f.name)) for f in fields(first)]
    return all(
        np.array_equal(a, b, equal_nan=True) and a.dtype == b.dtype if isinstance(a, np.ndarray) else a == b
        for a, b in values
    )


def test_the_made_up_country_is_the_same_everywhere(made_up):
    digest = hashlib.sha256()
    for field in fields(made_up):
        value = getattr(made_up, field.name)
        digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    assert digest.hexdigest()[:16] == "7aab58746b804d5d"
    assert made_up.synthetic and made_up.num_states == 51 and made_up.states[0] == "State 01"


def test_level_1_spreads_and_level_10_contains(made_up):
    at_one, at_ten = (made_up.beta_intercept + made_up.beta_slope * level for level in (1, 10))
    assert (at_one > 1.5 * made_up.gamma).all() and (at_ten < 0.75 * made_up.gamma).all() and (at_ten > 0.0).all()
    assert (made_up.beta_slope < 0.0).all()
    people = made_up.susceptible + made_up.infected + made_up.recovered
    np.testing.assert_allclose(people[made_up.start_day], made_up.population)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"population": np.ones(50)}, r"'population' has the shape \(50,\), but 51 states and 518 days need \(51,\)"),
        ({"population": np.zeros(51)}, "'population' must be greater than 0"),
        ({"beta_slope": np.full(51, np.nan)}, "'beta_slope' must hold finite numbers only"),
        ({"beta_slope": ["a"] * 51}, "'beta_slope' must be an array of numbers"),
        ({"policy": np.full((518, 51), 11)}, "'policy' must hold whole levels from 1 to 10"),
        ({"policy": np.full((518, 51), 1.5)}, "'policy' must hold whole levels from 1 to 10"),
        ({"infected": np.full((518, 51), np.nan)}, "'infected' must be known and not negative on the start day 81"),
        ({"start_day": 518}, "'start_day' is 518"),
        ({"start_day": 27}, "'start_day' is 27"),
        (
            {"filter_length": 81},
            "'filter_length' is 81, but must cover all days up to the start day 81",
        ),
        ({"alphas": [10**400] * 51}, "'alphas' must be an array of numbers"),
        ({"alphas": np.ones(51)}, "'alphas' must lie between 0 and 1"),
        ({"health_min": np.zeros(51)}, "'health_min' must be less than 'health_max' everywhere"),
        ({"gamma": float("inf")}, "'gamma' must be a finite number, not inf"),
        ({"gamma": "0.1"}, "'gamma' must be a finite number, not '0.1'"),
        ({"beta_delay": 2.5}, "'beta_delay' must be a whole number, not 2.5"),
        ({"synthetic": 1}, "'synthetic' must be a truth value, not 1"),
        ({"states": ("A",) * 51}, "every state needs a name and a code of its own"),
    ],
)
def test_what_does_not_hold_together_is_refused(made_up, change, words):
    with pytest.raises(wl.InputError, match=words):
        replace(made_up, **change)


def test_arrays_cannot_be_written_to(made_up):
    with pytest.raises(ValueError, match="read-only"):
        made_up.population[0] = 1.0


def test_what_is_kept_is_found_again(made_up, tmp_path):
    path = data.save(made_up, tmp_path / "new" / "covid.safetensors")
    assert same(data.load(path), made_up)
    spoilt = bytearray(path.read_bytes())
    spoilt[-1] ^= 1
    path.write_bytes(spoilt)
    with pytest.raises(wl.InputError, match="cut short or altered"):
        data.load(path)


def test_a_whole_file_with_too_little_in_it_is_refused(tmp_path):
    tensor_file.write(tmp_path / "covid.safetensors", data._KIND, 1, {}, {"states": []})
    with pytest.raises(wl.InputError, match="lacks or has too much of alphas"):
        data.load(tmp_path / "covid.safetensors")


def test_where_it_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLDLOOM_DATA", str(tmp_path))
    assert data.cache_path() == tmp_path / "covid.safetensors"
    monkeypatch.delenv("WORLDLOOM_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data.cache_path() == tmp_path / "worldloom" / "covid.safetensors"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data.cache_path() == data.Path.home() / ".cache" / "worldloom" / "covid.safetensors"


def test_a_spoilt_file_says_how_to_write_it_anew(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLDLOOM_DATA", str(tmp_path))
    (tmp_path / "covid.safetensors").write_bytes(b"nothing")
    with pytest.raises(wl.InputError, match="`worldloom fetch covid --from FILE` writes it again"):
        data.load_real()


def test_the_same_is_read_from_a_wheel_and_from_every_folder(files, made_up, tmp_path):
    wheel = write_wheel(tmp_path / "ai_economist-1.7.1-py3-none-any.whl", files)
    folder = tmp_path / "site-packages" / FOLDER
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    places = [
        wheel,
        tmp_path,
        folder,
        folder.parent,
        tmp_path / "site-packages",
        tmp_path / "site-packages" / "ai_economist",
    ]
    for place in places:
        read = read_published(place)
        assert read.postal[:2] == ("AL", "AK") and not read.synthetic
        assert same(
            replace(read, states=made_up.states, postal=made_up.postal, synthetic=True, source=made_up.source), made_up
        ), place


def changed(files, name, **values):
    return {**files, name: json.dumps({**json.loads(files[name]), **values}).encode()}


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda f: {n: d for n, d in f.items() if n != HISTORY}, "holds no real_world_data.npz"),
        (lambda f: {**f, f"again/{FITTED}": b"{}"}, "holds more than one fitted_params.json"),
        (lambda f: {**f, CONSTANTS: b"{"}, "model_constants.json holds no JSON object"),
        (lambda f: {**f, CONSTANTS: b"[" * 100_000}, "model_constants.json holds no JSON object"),
        (lambda f: {**f, FITTED: b"{}"}, "lacks 'POLICY_START_DATE'"),
        (lambda f: {**f, FITTED: b" " * ((1 << 20) + 1)}, "fitted_params.json is larger than 1 MiB"),
        (lambda f: changed(f, CONSTANTS, NUM_STRINGENCY_LEVELS=5), "has 5 levels of stringency, and not 10"),
        (lambda f: changed(f, CONSTANTS, SIR_GAMMA=None), "'gamma' must be a finite number, not None"),
        (lambda f: changed(f, CONSTANTS, US_STATE_IDX_TO_STATE_NAME=7), "has another form than the published one"),
        (lambda f: changed(f, FITTED, POLICY_START_DATE="yesterday"), "has another form than the published one"),
        (lambda f: {**f, HISTORY: b"nothing"}, "holds no plain arrays of numbers"),
        (lambda f: {**f, HISTORY: npz(policy=np.array([{}], object))}, "holds no plain arrays of numbers"),
        (lambda f: {**f, HISTORY: npz(policy=np.zeros((33 << 20) // 8))}, "real_world_data.npz is larger than 32 MiB"),
        (lambda f: {**f, HISTORY: npz(policy=np.ones((2, 51)))}, "real_world_data.npz lacks an array"),
        (
            lambda f: {**f, CONSTANTS: b'{"SIR_GAMMA": ' + b"1" * 5000 + b"}"},
            "model_constants.json holds no JSON object",
        ),
    ],
)
def test_spoilt_files_are_refused_in_a_sentence(files, tmp_path, spoil, words):
    wheel = write_wheel(tmp_path / "spoilt.whl", spoil(files))
    with pytest.raises(wl.InputError, match=words) as caught:
        read_published(wheel)
    assert "\n" not in str(caught.value)


def test_an_array_that_says_more_than_it_holds_is_refused(files, tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 50,)})
    lying = io.BytesIO()
    with zipfile.ZipFile(lying, "w") as archive:
        archive.writestr("policy.npy", header.getvalue() + bytes(8))
    with pytest.raises(wl.InputError, match="holds no plain arrays of numbers"):
        read_published(write_wheel(tmp_path / "lying.whl", {**files, HISTORY: lying.getvalue()}))


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "text.whl").write_text("text")
    os.truncate(tmp_path / "text.whl", 65 << 20)
    with pytest.raises(wl.InputError, match="larger than 64 MiB"):
        read_published(tmp_path / "text.whl")
    os.truncate(tmp_path / "text.whl", 4)
    with pytest.raises(wl.InputError, match="is no wheel or zip that can be read"):
        read_published(tmp_path / "text.whl")
    with pytest.raises(wl.InputError, match="there is no file or folder"):
        read_published(tmp_path / "none.whl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(wl.InputError, match="holds no data of the COVID-19 economy"):
        read_published(tmp_path / "empty")


def test_the_published_data_itself():
    folder = published.installed()
    if folder is None:
        pytest.skip("the published data is not here: pip install --no-deps ai-economist==1.7.1")
    read = read_published(folder)
    assert (read.num_states, read.num_days, read.start_day, read.beta_delay, read.filter_length) == (
        51,
        518,
        81,
        29,
        600,
    )
    assert read.population.sum() == 328_737_916
    assert read.planner_alpha == 0.757 and read.value_of_life == 1e7 and read.gdp_per_capita == 65_300
    assert np.nonzero(read.subsidy)[0].tolist() == [105, 361, 435]
    np.testing.assert_allclose(
        read.deaths[81:486], read.mortality * (read.recovered - read.vaccinated)[81:486], rtol=1e-9
    )
