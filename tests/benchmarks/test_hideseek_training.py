"""The training benchmark of HideSeek runs in parts, and records the stages of play."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from thorough import only_thorough

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import hideseek_training

SMALL = (
    "num_envs=4",
    "num_steps=4",
    "minibatches=1",
    "epochs=1",
    "total_steps=32",
    "policy.attention_size=8",
    "policy.attention_heads=2",
    "policy.hidden=(8,)",
)


@only_thorough  # compiles the game for its configuration
def test_a_training_continues_where_it_stopped(tmp_path: Path, quick_compilation: None) -> None:
    short, folder = ("max_steps=3", "preparation=1"), tmp_path / "run"
    settings = hideseek_training.Settings(folder, device="cpu", seconds=0.01, pool=0.25, set=SMALL, config=short)
    hideseek_training.main(settings)
    assert not (folder / "video.mp4").exists()
    hideseek_training.main(replace(settings, seconds=60.0))
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["steps"] for row in rows] == [16, 32]
    moved = {f"episode/{kind}_moved_{when}" for kind in ("boxes", "ramps") for when in ("before", "after")}
    assert moved | {f"episode/{team}_{what}" for team in ("hider", "seeker") for what in ("locks", "entries")} <= (
        rows[-1].keys()
    )
    assert {f"episode/{name}" for names in hideseek_training.STAGES.values() for name in names} <= rows[-1].keys()
    assert 0.0 <= rows[-1]["episode/spotted_fraction"] <= 1.0
    hideseek_training.main(replace(settings, seconds=0.0, video=True))
    for name in ("curve.png", "stages.png", "video.mp4"):
        assert (folder / name).stat().st_size > 1000
    assert len(rows) == len((folder / "metrics.jsonl").read_text().splitlines())
