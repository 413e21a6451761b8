"""A run in a folder: stopped, resumed, and equal bit for bit to one that was never stopped."""

import tempfile
from pathlib import Path

import torch

from worldloom.learn import PPO, PPOConfig, RunFolder, RunRecorder, config_to_dict, read_metrics

CONFIG = PPOConfig(num_envs=32, num_steps=16, total_steps=20 * 32 * 16, device="cpu")


def train(path: Path, iterations: int, resume: bool = False) -> dict[str, torch.Tensor]:
    """Train up to ``iterations`` in total, from the folder's last checkpoint; returns all tensors of the trainer."""
    with RunFolder(path, config_to_dict(CONFIG), resume=resume) as folder:
        trainer = PPO("CartPole-v1", CONFIG)
        if folder.resumed_from is not None:
            saved = folder.checkpoints.load(folder.resumed_from)
            trainer.load_state(saved.tensors, saved.state)
        trainer.learn(iterations * 32 * 16, callbacks=[RunRecorder(folder)])
        return trainer.state()[0]


with tempfile.TemporaryDirectory() as root:
    stopped = Path(root, "stopped")
    train(stopped, iterations=10)
    print("in the folder:", ", ".join(sorted(path.name for path in stopped.iterdir() if not path.name.startswith("."))))
    resumed = train(stopped, iterations=20, resume=True)
    straight = train(Path(root, "straight"), iterations=20)
    equal = all(torch.equal(resumed[name], straight[name]) for name in straight)
    print(f"{len(read_metrics(stopped))} iterations noted, {len(straight)} tensors, equal bit for bit: {equal}")
