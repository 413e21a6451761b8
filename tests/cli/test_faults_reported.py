"""Every command that steps worlds reports faults and dropped entities, on standard error and in its JSON."""

import json
from pathlib import Path

import pytest

from worldloom.learn.runs.run_folder import read_metrics

pytestmark = pytest.mark.usefixtures("without_curves")

FAULTY = Path(__file__).parent / "faulty.py"
WORDS = "world 0, episode 0, step 2: the lamp went out"


def commands(folder: Path) -> dict[str, list[object]]:
    return {
        "train": [
            "train",
            FAULTY,
            "--run-dir",
            folder,
            "--num-envs",
            2,
            "--total-steps",
            256,
            "--device",
            "cpu",
            "--quiet",
            "--no-video",
        ],
        "check": ["check", FAULTY, "--steps", 4, "--num-worlds", 2],
        "bench": ["bench", "step", FAULTY, "--num-worlds", 2, "--seconds", 0.02],
        "batches": ["bench", "step", FAULTY, "--num-worlds", 2, "--batch-size", 1, "--seconds", 0.02],
        "profile": ["profile", FAULTY, "--num-worlds", 2, "--steps", 1, "--warm-up", 4],
    }


@pytest.mark.parametrize("name", list(commands(Path())))
def test_what_went_wrong_is_told(worldloom, tmp_path, name):
    code, out, err = worldloom(*commands(tmp_path / "run")[name], "--json")
    found = json.loads(out)
    assert code == 0
    assert found["faults"] > 0 and found["first_fault"].startswith(WORDS) and found["dropped"]["Spark"] > 0
    first = found["first_fault"]
    assert f"worldloom: {found['faults']:,} faults cut episodes short; the first: {first}. See docs/debug.md." in err
    assert f"{found['dropped']['Spark']:,} Spark did not fit and were dropped: raise wl.UpTo for Spark" in err
    if name in ("check", "profile"):  # four steps of two worlds, one of which fails
        assert (found["faults"], found["dropped"]) == (2, {"Spark": 4})
    if name == "train":
        assert read_metrics(tmp_path / "run")[-1]["episode/faults"] == found["faults"]


def test_an_evaluation_tells_them_and_a_training_counts_on(worldloom, tmp_path):
    train = commands(tmp_path)["train"]
    assert worldloom(*train)[0] == 0
    before = read_metrics(tmp_path)[-1]["episode/faults"]
    code, out, err = worldloom("eval", tmp_path, "--env", FAULTY, "--episodes", 4, "--json")
    assert (code, json.loads(out)["faults"]) == (0, 4)
    assert "worldloom: 4 faults cut episodes short" in err
    train[train.index("--total-steps") + 1] = 512
    assert worldloom(*train, "--resume")[0] == 0
    assert read_metrics(tmp_path)[-1]["episode/faults"] == pytest.approx(2 * before, abs=2)


def test_nothing_is_said_where_nothing_happened(worldloom):
    code, out, err = worldloom(
        "check", "CartPole-v1", "--steps", 2, "--num-worlds", 1, "--devices", "python,python", "--json"
    )
    found = json.loads(out)
    assert (code, err, found["faults"], found["first_fault"], found["dropped"]) == (0, "", 0, None, {})
