"""A trainer that is killed at any moment leaves checkpoints that load, and goes on from them."""

import multiprocessing
import random
import signal
import time

from thorough import THOROUGH

from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.training_run import TrainingRequest, run_training

KILLS = 10 if THOROUGH else 3
"""A sample; ``python tests/fuzz/kill_runs.py --kills 200`` kills more often."""


def train(folder):
    """Train for ever, with a checkpoint after every iteration."""
    config = PPOConfig(num_envs=8, num_steps=8, minibatches=2, epochs=1, device="cpu", total_steps=10**9)
    run_training(
        TrainingRequest("CartPole-v1", "ppo", config, run_dir=folder, resume="auto", checkpoint_every=1e-6, keep=2)
    )


def test_checkpoints_outlive_kills_at_random_moments(tmp_path):
    starter = multiprocessing.get_context("forkserver")
    starter.set_forkserver_preload(["worldloom.learn.runs.training_run"])
    saved, chance, last, moved = Checkpoints(tmp_path / "checkpoints"), random.Random(0), 0, 0
    for _ in range(KILLS):
        trainer = starter.Process(target=train, args=(tmp_path,))
        trainer.start()
        begin = time.monotonic()
        while time.monotonic() < begin + 60.0 and not newer(saved, last):
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.2))
        assert trainer.is_alive(), "the trainer ended by itself"
        trainer.kill()
        trainer.join()
        assert trainer.exitcode == -signal.SIGKILL
        found = [saved.load(path) for path in saved.all()]  # raises for a checkpoint that is not whole
        assert found
        moved += found[-1].iteration > last
        last = found[-1].iteration
    assert moved == KILLS, "every start went on from the checkpoint before"


def newer(saved, iteration):
    """Whether a checkpoint beyond ``iteration`` exists, by names only: the trainer may remove one meanwhile."""
    return any(int(path.name.rpartition("_")[2]) > iteration for path in saved.all())
