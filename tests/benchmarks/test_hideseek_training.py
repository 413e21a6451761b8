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
    short = ("max_steps=3", "preparation=1")
    settings = hideseek_training.Settings(tmp_path, device="cpu", seconds=0.01, pool=0.25, set=SMALL, config=short)
    hideseek_training.main(settings)
    hideseek_training.main(replace(settings, seconds=60.0, resume=True))
    rows = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [row["steps"] for row in rows] == [16, 32]
    moved = {f"episode/{kind}_moved_{when}" for kind in ("boxes", "ramps") for when in ("before", "after")}
    assert moved | {f"episode/{team}_{what}" for team in ("hider", "seeker") for what in ("locks", "entries")} <= (
        rows[-1].keys()
    )
    assert 0.0 <= rows[-1]["episode/spotted_fraction"] <= 1.0
