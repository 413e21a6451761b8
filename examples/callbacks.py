"""Callbacks: code that runs between the iterations of a training, here to print its progress and to stop it."""

from worldloom.learn import PPO, Callback, PPOConfig, Progress, Trainer


class Watch(Callback):
    """Prints the return every five iterations, and stops once the poles stay up for 100 steps."""

    def on_start(self, trainer: Trainer) -> None:
        print(f"training {trainer.simulation.num_worlds} worlds on {trainer.device}")

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        mean = progress.metrics["episode/return"]  # worldloom.learn.METRICS names them all
        if progress.iteration % 5 == 0:
            print(f"iteration {progress.iteration}: return {mean:.0f}")
        if mean >= 100.0:
            trainer.stop()

    def on_end(self, trainer: Trainer) -> None:
        print(f"stopped early: {trainer.steps < trainer.config.total_steps}")


config = PPOConfig(
    num_envs=64, num_steps=32, epochs=8, gamma=0.98, learning_rate=3e-3, total_steps=200_000, device="cpu"
)
PPO("CartPole-v1", config).learn(callbacks=[Watch()])
