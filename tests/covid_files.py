"""The published files of the COVID-19 economy with made-up numbers in them, for tests of what reads them."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np

from worldloom.envs.covid.published import CONSTANTS, FITTED, FOLDER, HISTORY, POSTAL
from worldloom.envs.covid.synthetic import synthetic


def published_files() -> dict[str, bytes]:
    """The three files by name."""
    p = synthetic()
    constants = {
        "NUM_STRINGENCY_LEVELS": 10,
        "SIR_MORTALITY": p.mortality,
        "SIR_GAMMA": p.gamma,
        "US_STATE_IDX_TO_STATE_NAME": {str(i): name for i, name in enumerate(POSTAL)},
        "US_STATE_POPULATION": p.population.tolist(),
        "GDP_PER_CAPITA": p.gdp_per_capita,
    }
    fitted = {
        "settings": {"env": {"start_date": "2020-03-22"}},
        "POLICY_START_DATE": "2020-01-01",
        "BETA_DELAY": p.beta_delay,
        "BETA_SLOPES": p.beta_slope.tolist(),
        "BETA_INTERCEPTS": p.beta_intercept.tolist(),
        "FILTER_LEN": p.filter_length,
        "CONV_LAMBDAS": p.lambdas.tolist(),
        "UNEMPLOYMENT_BIAS": p.unemployment_bias.tolist(),
        "GROUPED_CONVOLUTIONAL_FILTER_WEIGHTS": p.filter_weights.reshape(-1, 1, 1).tolist(),
        "VALUE_OF_LIFE": p.value_of_life,
        "INFERRED_WEIGHTAGE_ON_AGENT_HEALTH_INDEX": p.alphas.tolist(),
        "INFERRED_WEIGHTAGE_ON_PLANNER_HEALTH_INDEX": p.planner_alpha,
    }
    for word, bound in (("MIN", "min"), ("MAX", "max")):
        for index, name in (("HEALTH", "health"), ("ECONOMIC", "economy")):
            fitted[f"{word}_MARGINAL_AGENT_{index}_INDEX"] = getattr(p, f"{name}_{bound}").tolist()
            fitted[f"{word}_MARGINAL_PLANNER_{index}_INDEX"] = getattr(p, f"planner_{name}_{bound}")
    names = ("policy", "susceptible", "infected", "recovered", "vaccinated", "unemployed")
    arrays = {"subsidy": p.subsidy[:, None], "smoothed_deaths": p.deaths, **{name: getattr(p, name) for name in names}}
    return {CONSTANTS: json.dumps(constants).encode(), FITTED: json.dumps(fitted).encode(), HISTORY: npz(**arrays)}


def npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def write_wheel(path: Path, files: dict[str, bytes]) -> Path:
    """A wheel of the published package's form that holds ``files``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ai_economist/__init__.py", "raise SystemExit('nothing of the package may be run')")
        for name, data in files.items():
            archive.writestr(f"{FOLDER}/{name}", data)
    return path
