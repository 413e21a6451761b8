"""CleanRL's programs for EnvPool with the old gym and the version of flax that they import, in a folder of their own.

``python tests/envpool_api/cleanrl_folder.py make FOLDER [--source CLONE]`` installs the packages into FOLDER and copies
the programs there, from a clone of github.com/vwxyzjn/cleanrl that git makes or that exists. Then
``WORLDLOOM_CLEANRL=FOLDER pytest tests/envpool_api/test_old_gym.py`` runs them; ``... run PROGRAM ARGUMENTS`` runs one.
Packages of the environment of the tests, such as NumPy, torch and jax, are not installed again.
"""

import argparse
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = ("ppo_atari_envpool", "ppo_atari_envpool_xla_jax", "ppo_atari_envpool_xla_jax_scan")
PACKAGES = (
    *("gym==0.23.1", "gym_notices", "cloudpickle", "flax", "optax", "chex", "orbax-checkpoint", "tensorstore"),
    *("treescope", "msgpack", "toolz"),
)
REPOSITORY = "https://github.com/vwxyzjn/cleanrl"


def make(folder, source):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder / "packages")]
    subprocess.run([*install, *PACKAGES], check=True)
    with tempfile.TemporaryDirectory() as clone:
        if source is None:
            subprocess.run(["git", "clone", "--quiet", "--depth", "1", REPOSITORY, clone], check=True)
        for program in PROGRAMS:
            shutil.copy(Path(source or clone) / "cleanrl" / f"{program}.py", folder)


def run(program, arguments):
    """Run a program with ``worldloom.envpool.gym_v21`` in the place of EnvPool."""
    from worldloom.envpool import gym_v21

    sys.modules["envpool"] = gym_v21
    if "jax" in program:
        _restore_old_jax()
    sys.argv = [program, *arguments]
    runpy.run_path(program, run_name="__main__")


def _restore_old_jax():
    """What the programs take from versions of jax and flax of 2023."""
    import flax
    import jax

    jax.tree_map = jax.tree_util.tree_map
    new = flax.struct.dataclass

    def dataclass(kind):
        kind.__contains__ = lambda self, key: False  # TrainState of new versions searches the parameters
        return new(kind)

    flax.struct.dataclass = dataclass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("make", "run"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--source", type=Path, default=None, help="a clone of CleanRL")
    given, rest = parser.parse_known_args()
    if given.action == "make":
        given.path.mkdir(parents=True, exist_ok=True)
        make(given.path, given.source)
    else:
        run(str(given.path), rest)
