"""Parameters of the COVID-19 economy: populations, fitted models and histories of 2020 and 2021."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from worldloom.core.base import tensor_file
from worldloom.core.base.errors import InputError
from worldloom.core.base.paths import expand_home

NOTICE = (
    "This is a simulation for research on learning. It is no tool for policy making, and its outcomes are no forecasts."
)
MISSING = (
    "the data of the COVID-19 economy must be fetched first, with `pip download --no-deps ai-economist` "
    "and `worldloom fetch covid --from FILE`; "
    "CovidEconomySynthetic-v0 needs none"
)
LEVELS = 10
"""The greatest stringency level; level 1 has no restrictions."""

_KIND, _VERSION, _MAX_BYTES = "COVID-19 data set", 1, 64 << 20


@dataclass(frozen=True, eq=False)
class Parameters:
    """All numbers of an economy of n states, float64 unless noted; row d of a history is day d after 2020-01-01.

    Instances are consistent: the constructor raises an InputError otherwise. Arrays are read-only.

    Attributes:
        states, postal: (n) Names and codes of two letters.
        population: (n) People.
        beta_slope, beta_intercept: (n) Infections per infected person and day at level L are ``intercept + slope * L``.
        gamma: Share of the infected who recover (or die) in a day.
        beta_delay: Days until a level acts on infections.
        mortality: Share of recoveries that are deaths.
        lambdas: (k) Time constants in days of the effect of a level change on unemployment, shared by all states.
        filter_weights: (n, k) Weight of each time constant in a state.
        unemployment_bias: (n) Percent.
        filter_length: Days after which a level change has no effect.
        gdp_per_capita: Dollars a year.
        value_of_life: Dollars.
        alphas, planner_alpha: (n) and one; fitted weight of health against the economy, 0 to 1.
        health_min, health_max, economy_min, economy_max: (n) Range of a governor's daily indices, scaled to 0 to 1.
        planner_health_min, planner_health_max, planner_economy_min, planner_economy_max: The same for the planner.
        policy: (days, n) int32; level of each state, 1 to 10.
        subsidy: (days) Dollars paid to the whole country that day.
        susceptible, infected, recovered, vaccinated, deaths, unemployed: (days, n) People; NaN where unknown.
        start_day: The day before the first step; all histories are known on it.
        synthetic: Whether the numbers are synthetic.
        source: Description of the source.
    """

    states: tuple[str, ...]
    postal: tuple[str, ...]
    population: np.ndarray
    beta_slope: np.ndarray
    beta_intercept: np.ndarray
    gamma: float
    beta_delay: int
    mortality: float
    lambdas: np.ndarray
    filter_weights: np.ndarray
    unemployment_bias: np.ndarray
    filter_length: int
    gdp_per_capita: float
    value_of_life: float
    alphas: np.ndarray
    planner_alpha: float
    health_min: np.ndarray
    health_max: np.ndarray
    economy_min: np.ndarray
    economy_max: np.ndarray
    planner_health_min: float
    planner_health_max: float
    planner_economy_min: float
    planner_economy_max: float
    policy: np.ndarray
    subsidy: np.ndarray
    susceptible: np.ndarray
    infected: np.ndarray
    recovered: np.ndarray
    vaccinated: np.ndarray
    deaths: np.ndarray
    unemployed: np.ndarray
    start_day: int
    synthetic: bool
    source: str

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _typed(field.name, field.type, getattr(self, field.name)))
        _check(self)

    @property
    def num_states(self) -> int:
        return len(self.states)

    @property
    def num_days(self) -> int:
        """Days of the histories."""
        return len(self.policy)


def load_real() -> Parameters:
    """The published data that ``worldloom fetch covid`` saved; InputError with instructions if there are none."""
    path = cache_path()
    if not path.is_file():
        raise InputError(MISSING)
    try:
        return load(path)
    except InputError as error:
        raise InputError(f"{error}; `worldloom fetch covid --from FILE` writes it again") from None


def load_synthetic() -> Parameters:
    """A synthetic country of 51 states; see :mod:`worldloom.envs.covid.synthetic`."""
    from worldloom.envs.covid.synthetic import synthetic

    return synthetic()


def cache_path() -> Path:
    """The file of the fetched data: in ``$WORLDLOOM_DATA``, or in the user's cache folder."""
    own = os.environ.get("WORLDLOOM_DATA")
    folder = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "worldloom"
    return expand_home(folder) / "covid.safetensors"


def save(parameters: Parameters, path: str | Path) -> Path:
    """Write ``parameters`` to ``path`` atomically and return the path. Missing folders are created."""
    import torch

    target = expand_home(path)
    values = {field.name: getattr(parameters, field.name) for field in fields(parameters)}
    tensors = {name: torch.tensor(value) for name, value in values.items() if isinstance(value, np.ndarray)}
    facts = {name: value for name, value in values.items() if name not in tensors}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {target.parent} cannot be made ({error.strerror}): set WORLDLOOM_DATA to another"
        ) from None
    tensor_file.write(target, _KIND, _VERSION, tensors, facts)
    return target


def load(path: str | Path) -> Parameters:
    """Read a file of :func:`save`; InputError if it is missing, altered or inconsistent."""
    target = expand_home(path)
    if target.is_file() and target.stat().st_size > _MAX_BYTES:
        raise InputError(f"{target} is too large for a {_KIND}: take another file")
    contents = tensor_file.read(target, _KIND, _VERSION)
    values = {**contents.facts, **{name: tensor.numpy() for name, tensor in contents.tensors.items()}}
    expected = {field.name for field in fields(Parameters)}
    if set(values) != expected:
        mismatched = ", ".join(sorted(expected ^ set(values)))
        raise InputError(f"{target} cannot be used, since it lacks or has too much of {mismatched}: take another file")
    try:
        return Parameters(**values)
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        raise InputError(f"{target} cannot be used ({error}): take another file") from None


def _typed(name: str, declared: Any, value: Any) -> Any:
    """``value`` converted to the declared type of its attribute; arrays become read-only copies."""
    if declared == "np.ndarray":
        return _array(name, value)
    if declared == "tuple[str, ...]":
        if isinstance(value, str) or not all(isinstance(item, str) for item in value):
            raise InputError(f"'{name}' must be a list of names")
        return tuple(value)
    if declared in ("str", "bool"):
        if type(value).__name__ != declared:
            raise InputError(f"'{name}' must be a {'text' if declared == 'str' else 'truth value'}, not {value!r}")
        return value
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not np.isfinite(value)
    ):
        raise InputError(f"'{name}' must be a finite number, not {value!r}")
    if declared == "int" and value != int(value):
        raise InputError(f"'{name}' must be a whole number, not {value!r}")
    return int(value) if declared == "int" else float(value)


def _array(name: str, value: Any) -> np.ndarray:
    try:
        array = np.array(value, np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"'{name}' must be an array of numbers") from None
    if name == "policy":
        if not (np.isfinite(array) & (array == np.floor(array)) & (array >= 1) & (array <= LEVELS)).all():
            raise InputError(f"'policy' must hold whole levels from 1 to {LEVELS}")
        array = array.astype(np.int32)
    array.setflags(write=False)
    return array


_PER_STATE = (
    "population",
    "beta_slope",
    "beta_intercept",
    "unemployment_bias",
    "alphas",
    "health_min",
    "health_max",
    "economy_min",
    "economy_max",
)
_HISTORIES = ("susceptible", "infected", "recovered", "vaccinated", "deaths", "unemployed")


def _check(p: Parameters) -> None:
    """InputError if shapes or values are inconsistent."""
    n, days, k = len(p.states), len(p.policy), len(np.atleast_1d(p.lambdas))
    if n == 0 or len(set(p.states)) != n or len(set(p.postal)) != n:
        raise InputError(
            f"every state needs a name and a code of its own, but there are {n} names and {len(set(p.postal))} codes"
        )
    shapes = {**dict.fromkeys(_PER_STATE, (n,)), "lambdas": (k,), "filter_weights": (n, k), "subsidy": (days,)}
    shapes |= dict.fromkeys(("policy", *_HISTORIES), (days, n))
    for name, shape in shapes.items():
        array = getattr(p, name)
        if array.shape != shape:
            raise InputError(f"'{name}' has the shape {array.shape}, but {n} states and {days} days need {shape}")
        if name not in _HISTORIES and not np.isfinite(array).all():
            raise InputError(f"'{name}' must hold finite numbers only")
    if not p.beta_delay >= 1 or not p.beta_delay - 1 <= p.start_day < days:
        raise InputError(
            f"'start_day' is {p.start_day}, but must lie from day {p.beta_delay - 1}, when the first level acts, "
            f"to day {days - 1}"
        )
    if p.start_day >= p.filter_length:
        raise InputError(
            f"'filter_length' is {p.filter_length}, but must cover all days up to the start day {p.start_day}: "
            "make it longer"
        )
    for name in _HISTORIES:
        row = getattr(p, name)[p.start_day]
        if not (np.isfinite(row) & (row >= 0.0)).all():
            raise InputError(f"'{name}' must be known and not negative on the start day {p.start_day}")
    for name in ("population", "lambdas", "gamma", "filter_length", "gdp_per_capita", "value_of_life"):
        if not (np.asarray(getattr(p, name)) > 0).all():
            raise InputError(f"'{name}' must be greater than 0")
    for name in ("gamma", "mortality", "alphas", "planner_alpha"):
        share = np.asarray(getattr(p, name))
        if not ((share >= 0.0) & (share < 1.0)).all():
            raise InputError(f"'{name}' must lie between 0 and 1")
    for name in ("health", "economy", "planner_health", "planner_economy"):
        if not (np.asarray(getattr(p, f"{name}_min")) < getattr(p, f"{name}_max")).all():
            raise InputError(f"'{name}_min' must be less than '{name}_max' everywhere")
