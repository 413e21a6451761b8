"""Reads the published data of the COVID-19 economy from a copy of the package ai-economist: a wheel, a zip or a folder.

Only three data files are read: two JSON files and one of NumPy arrays. No code of the package is run or imported.
Archives are read member by member and never unpacked, and the size of every member is limited.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import io
import json
import lzma
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.base.paths import expand_home
from worldloom.envs.covid.data import LEVELS, Parameters

PACKAGE = "ai-economist"
HOW = f"`pip download --no-deps {PACKAGE}` gets the wheel that holds it"
CONSTANTS, FITTED, HISTORY = "model_constants.json", "fitted_params.json", "real_world_data.npz"
FOLDER = "ai_economist/datasets/covid19_datasets/data_and_fitted_params"

_MAX_BYTES = {CONSTANTS: 1 << 20, FITTED: 1 << 20, HISTORY: 32 << 20}
_MAX_ARCHIVE_BYTES = 64 << 20
_HISTORIES = (
    "policy",
    "subsidy",
    "susceptible",
    "infected",
    "recovered",
    "vaccinated",
    "smoothed_deaths",
    "unemployed",
)
"""The arrays that are read; all others are ignored."""
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    tokenize.TokenError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    OSError,
    ValueError,
)
"""Exceptions of damaged, encrypted or unsupported archives."""

_CODES = (
    "Alabama=AL,Alaska=AK,Arizona=AZ,Arkansas=AR,California=CA,Colorado=CO,Connecticut=CT,Delaware=DE,"
    "District of Columbia=DC,Florida=FL,Georgia=GA,Hawaii=HI,Idaho=ID,Illinois=IL,Indiana=IN,Iowa=IA,Kansas=KS,"
    "Kentucky=KY,Louisiana=LA,Maine=ME,Maryland=MD,Massachusetts=MA,Michigan=MI,Minnesota=MN,Mississippi=MS,"
    "Missouri=MO,Montana=MT,Nebraska=NE,Nevada=NV,New Hampshire=NH,New Jersey=NJ,New Mexico=NM,New York=NY,"
    "North Carolina=NC,North Dakota=ND,Ohio=OH,Oklahoma=OK,Oregon=OR,Pennsylvania=PA,Rhode Island=RI,"
    "South Carolina=SC,South Dakota=SD,Tennessee=TN,Texas=TX,Utah=UT,Vermont=VT,Virginia=VA,Washington=WA,"
    "West Virginia=WV,Wisconsin=WI,Wyoming=WY"
)
POSTAL = dict(pair.split("=") for pair in _CODES.split(","))
"""Postal codes by the names of states."""

Read = Callable[[str], bytes]
"""Returns the bytes of one of the three files by its name."""


def read_published(path: str | Path) -> Parameters:
    """The parameters in a wheel, a zip, the folder of the installed package, or a folder with the data or the wheel."""
    source = expand_home(path)
    if source.is_dir():
        folder = _data_folder(source)
        if folder is not None:
            return _parameters(lambda name: _read_file(folder / name), str(folder))
        wheels = sorted(source.glob("ai_economist-*.whl"))
        if not wheels:
            raise InputError(
                f"the folder {source} holds no data of the COVID-19 economy ({FITTED} and two more): {HOW}"
            )
        source = wheels[-1]
    if not source.is_file():
        raise InputError(f"there is no file or folder {source}: {HOW}")
    try:
        if source.stat().st_size > _MAX_ARCHIVE_BYTES:
            raise InputError(
                f"{source} is larger than {_MAX_ARCHIVE_BYTES >> 20} MiB, which the wheel of {PACKAGE} is not: {HOW}"
            )
        with zipfile.ZipFile(source) as archive:
            return _parameters(lambda name: _read_member(archive, name, source), source.name)
    except InputError:
        raise
    except _DAMAGED:
        raise InputError(f"{source} is no wheel or zip that can be read: {HOW}") from None


def installed() -> Path | None:
    """The data folder of the installed package, located without importing it; None if it is not installed."""
    try:
        folder = Path(str(importlib.metadata.distribution(PACKAGE).locate_file(FOLDER)))
    except importlib.metadata.PackageNotFoundError:
        return None
    return folder if (folder / FITTED).is_file() else None


def _data_folder(root: Path) -> Path | None:
    """The folder of the files: ``root``, or below it at any level of the package."""
    parts = Path(FOLDER).parts
    candidates = [root, *(root.joinpath(*parts[start:]) for start in range(len(parts)))]
    return next((folder for folder in candidates if (folder / FITTED).is_file()), None)


def _read_file(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES[path.name] + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): {HOW}") from None
    return _bounded(path.name, data)


def _read_member(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    members = [info for info in archive.infolist() if info.filename.split("/")[-1] == name]
    if len(members) != 1:
        raise InputError(f"{path} holds {'no' if not members else 'more than one'} {name}: {HOW}")
    with archive.open(members[0]) as member:
        return _bounded(name, member.read(_MAX_BYTES[name] + 1))


def _bounded(name: str, data: bytes) -> bytes:
    if len(data) > _MAX_BYTES[name]:
        raise InputError(f"{name} is larger than {_MAX_BYTES[name] >> 20} MiB, which the published one is not: {HOW}")
    return data


def _parameters(read: Read, source: str) -> Parameters:
    constants, fitted = _json(read, CONSTANTS), _json(read, FITTED)
    history = _arrays(read(HISTORY))
    try:
        return _assemble(constants, fitted, history, source)
    except InputError:
        raise
    except KeyError as error:
        raise InputError(f"the data in {source} lacks {error}: {HOW}") from None
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise InputError(f"the data in {source} has another form than the published one ({error}): {HOW}") from None


def _assemble(
    constants: dict[str, Any], fitted: dict[str, Any], history: dict[str, np.ndarray], source: str
) -> Parameters:
    if constants["NUM_STRINGENCY_LEVELS"] != LEVELS:
        raise InputError(
            f"the data in {source} has {constants['NUM_STRINGENCY_LEVELS']!r} levels of stringency, and not {LEVELS}"
        )
    named = constants["US_STATE_IDX_TO_STATE_NAME"]
    states = tuple(named[str(number)] for number in range(len(named)))
    first, start = (
        datetime.date.fromisoformat(day)
        for day in (fitted["POLICY_START_DATE"], fitted["settings"]["env"]["start_date"])
    )
    return Parameters(
        states=states,
        postal=tuple(POSTAL[name] for name in states),
        population=constants["US_STATE_POPULATION"],
        beta_slope=fitted["BETA_SLOPES"],
        beta_intercept=fitted["BETA_INTERCEPTS"],
        gamma=constants["SIR_GAMMA"],
        beta_delay=fitted["BETA_DELAY"],
        mortality=constants["SIR_MORTALITY"],
        lambdas=fitted["CONV_LAMBDAS"],
        filter_weights=np.asarray(fitted["GROUPED_CONVOLUTIONAL_FILTER_WEIGHTS"], np.float64).reshape(
            len(states), len(fitted["CONV_LAMBDAS"])
        ),
        unemployment_bias=fitted["UNEMPLOYMENT_BIAS"],
        filter_length=fitted["FILTER_LEN"],
        gdp_per_capita=constants["GDP_PER_CAPITA"],
        value_of_life=fitted["VALUE_OF_LIFE"],
        alphas=fitted["INFERRED_WEIGHTAGE_ON_AGENT_HEALTH_INDEX"],
        planner_alpha=fitted["INFERRED_WEIGHTAGE_ON_PLANNER_HEALTH_INDEX"],
        health_min=fitted["MIN_MARGINAL_AGENT_HEALTH_INDEX"],
        health_max=fitted["MAX_MARGINAL_AGENT_HEALTH_INDEX"],
        economy_min=fitted["MIN_MARGINAL_AGENT_ECONOMIC_INDEX"],
        economy_max=fitted["MAX_MARGINAL_AGENT_ECONOMIC_INDEX"],
        planner_health_min=fitted["MIN_MARGINAL_PLANNER_HEALTH_INDEX"],
        planner_health_max=fitted["MAX_MARGINAL_PLANNER_HEALTH_INDEX"],
        planner_economy_min=fitted["MIN_MARGINAL_PLANNER_ECONOMIC_INDEX"],
        planner_economy_max=fitted["MAX_MARGINAL_PLANNER_ECONOMIC_INDEX"],
        policy=history["policy"],
        subsidy=history["subsidy"].reshape(-1),
        susceptible=history["susceptible"],
        infected=history["infected"],
        recovered=history["recovered"],
        vaccinated=history["vaccinated"],
        deaths=history["smoothed_deaths"],  # the basis of susceptible, infected and recovered
        unemployed=history["unemployed"],
        start_day=(start - first).days,
        synthetic=False,
        source=f"{PACKAGE}: {source}",
    )


def _json(read: Read, name: str) -> dict[str, Any]:
    data = read(name)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):  # no text, no JSON, or a number of thousands of digits
        content = None
    if not isinstance(content, dict):
        raise InputError(f"{name} holds no JSON object: {HOW}")
    return content


def _arrays(data: bytes) -> dict[str, np.ndarray]:
    """The arrays of an .npz file. Object arrays and arrays above the size limit are refused."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members: dict[str, np.ndarray] = {}
            for name in _HISTORIES:
                with archive.open(f"{name}.npy") as member:
                    members[name] = _array(_bounded(HISTORY, member.read(_MAX_BYTES[HISTORY] + 1)))
            return members
    except KeyError as error:
        raise InputError(f"{HISTORY} lacks an array ({error}): {HOW}") from None
    except InputError:
        raise
    except _DAMAGED:
        raise InputError(f"{HISTORY} holds no plain arrays of numbers: {HOW}") from None


def _array(data: bytes) -> np.ndarray:
    """One .npy file. The size in its header is checked before NumPy allocates memory."""
    file = io.BytesIO(data)
    reader = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(
        np.lib.format.read_magic(file)
    )
    if reader is None:
        raise ValueError("an unknown version of .npy")
    shape, _, kind = reader(file)
    if kind.kind not in "iuf" or int(np.prod(shape, dtype=object)) * kind.itemsize != len(data) - file.tell():
        raise ValueError("no plain numbers, or fewer or more than declared")
    return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))
