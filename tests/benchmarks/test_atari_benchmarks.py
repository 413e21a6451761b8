"""The Atari training benchmarks run end to end with small sizes, and every preset is valid."""

import json
import sys
from pathlib import Path

import pytest
from thorough import only_thorough

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import atari_split
import atari_training


def test_every_preset_has_settings_that_can_be_used():
    assert set(atari_training.PRESETS) == set(atari_training.Name.__args__)
    for preset in atari_training.PRESETS.values():
        config = atari_training.settings_of(preset, atari_training.Settings(overlap=True, seed=7), "cpu")
        assert config.seed == 7 and config.overlap
        assert {name: getattr(config, name) for name in preset.changes} == preset.changes


@pytest.mark.parametrize("judged", [False, True])
def test_a_training_leaves_its_curve_and_its_weights(tmp_path, judged):
    pytest.importorskip("ale_py", reason="needs the ROMs of ale-py")
    small = {
        "num_envs": 2,
        "num_steps": 4,
        "batches": 2,
        "total_steps": 8 if not judged else 600,
        "judged": 1,
        "judged_steps": 3,
        "device": "cpu",
    }
    settings = atari_training.Settings(
        ("breakout-vtrace",), target=0.0, out=tmp_path, judge_every=1e-3 if judged else 0.0, **small
    )
    atari_training.main(settings)
    found = json.loads((tmp_path / "breakout-vtrace.json").read_text())
    assert found["curve"] and found["drawn"]["mean_length"] == 3.0
    assert (
        found["reached"] is judged and bool(found["judged"]) is judged
    )  # a game ended, and its score of 0 or more is enough
    assert all(
        point["games"] > 0 for point in found["curve"] if point["score"] is not None
    )  # scores of evaluations are not part of the curve
    assert all((tmp_path / f"breakout-vtrace.{ending}").is_file() for ending in ("png", "safetensors"))


@only_thorough  # a whole benchmark
def test_every_part_is_measured(tmp_path):
    pytest.importorskip("ale_py", reason="needs the ROMs of ale-py")
    sizes = {
        "emulated": [2],
        "inferred": [2],
        "trained": [16],
        "seconds": 0.05,
        "iterations": 1,
        "rounds": 1,
        "apart": 2,
    }
    parts = ["emulation", "inference", "a2c", "vtrace"]
    atari_split.main(atari_split.Settings("cpu", games=["Pong-v5"], parts=parts, out=tmp_path / "split.json", **sizes))
    found = json.loads((tmp_path / "split.json").read_text())
    assert [row["part"] for row in found["rates"]] == parts and not found["failed"]
    assert all(row["frames_per_second"] > 0.0 for row in found["rates"])
    emulation = found["rates"][0]
    assert emulation["public_frames_per_second"] > 0.0 and emulation["env_frames_per_second"] > 0.0
