"""Random states of the console under AddressSanitizer: native code stays in bounds, whatever a file contains."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import sanitized
from thorough import THOROUGH, only_thorough

from worldloom.atari.env.game_selection import game_specs, rom_bank_of
from worldloom.atari.env.settings import resolve_settings

TRIALS = 300 if THOROUGH else 100


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if sanitized.compiler() is None:
        pytest.skip("there is no g++ to build the console with sanitizers")
    folder = tmp_path_factory.mktemp("sanitized")
    probe = folder / "probe.cpp"
    probe.write_text("int main() { return 0; }")
    command = [str(sanitized.compiler()), "-fsanitize=address,undefined", str(probe), "-o", str(folder / "probe")]
    if subprocess.run(command, capture_output=True).returncode or subprocess.run([folder / "probe"]).returncode:
        pytest.skip("this g++ has no sanitizers")
    return sanitized.build(folder)


@only_thorough  # g++ builds the whole console with sanitizers
@pytest.mark.parametrize("games", [["breakout", "pong"], ["pitfall2", "asteroids", "hero"]])
def test_random_states_stay_inside(program: Path, games: list[str], tmp_path: Path) -> None:
    rom_bank = rom_bank_of(game_specs(games, resolve_settings({})))
    ended = sanitized.run(program, rom_bank, rom_bank.power_on, TRIALS, tmp_path)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert ended.stdout == f"{TRIALS} states\n"
