"""Callbacks: what others do between the iterations of a training, such as looking at it, changing it and ending it."""

from worldloom.learn import PPO, Callback, PPOConfig, Progress
from worldloom.learn.training.trainer import Trainer


class Watch(Callback):
    """Prints how it stands now and then, and ends the training when the poles stay up for 100 steps."""

    def on_start(self, trainer: Trainer) -> None:
        print(f"training {trainer.simulation.num_worlds} worlds on {trainer.device}")

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        mean = progress.metrics["episode/return"]  # worldloom.learn.training.progress.METRICS names them all
        if progress.iteration % 5 == 0:
            print(f"iteration {progress.iteration}: return {mean:.0f}")
        if mean >= 100.0:
            trainer.stop()

    def on_end(self, trainer: Trainer) -> None:
        print(f"ended before its time: {trainer.steps < trainer.config.total_steps}")


config = PPOConfig(
    num_envs=64, num_steps=32, epochs=8, gamma=0.98, learning_rate=3e-3, total_steps=200_000, device="cpu"
)
PPO("CartPole-v1", config).learn(callbacks=[Watch()])
