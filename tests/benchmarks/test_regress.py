"""The comparison of two versions: both are stepped, in alternation, and a wrong version is refused in a sentence."""

import json
import subprocess
import sys
from pathlib import Path

from thorough import only_thorough

ROOT = Path(__file__).parents[2]


def regress(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "regress.py", *arguments], capture_output=True, text=True, cwd=ROOT
    )


@only_thorough  # a whole benchmark
def test_a_version_against_itself(tmp_path: Path):
    out = tmp_path / "ratios.json"
    done = regress(
        str(ROOT), "--cases", "cartpole", "--rounds", "3", "--pairs", "1", "--seconds", "0.01", "--out", str(out)
    )
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(out.read_text())["cases"]
    assert found["rounds"] == 3
    assert 0.01 < found["from"] <= found["ratio"] <= found["to"] < 100.0


def test_no_such_version():
    done = regress("no-such-commit", "--cases", "cartpole")
    assert done.returncode == 1
    assert "'no-such-commit' is neither a folder" in done.stderr
