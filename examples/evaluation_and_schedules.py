"""Evaluation on separate worlds during training, numbers that change over its steps, and KL early stopping."""

from worldloom.learn import PPO, Callback, PiecewiseLinear, PPOConfig, Progress, Trainer

config = PPOConfig(
    num_envs=32,
    num_steps=64,
    epochs=8,
    total_steps=24_576,
    device="cpu",
    learning_rate=PiecewiseLinear((0, 3e-3), (20_000, 1e-3)),  # points: environment steps, value
    entropy_weight=PiecewiseLinear((0, 0.01), (10_000, 0.0)),
    reward_scale=0.1,  # reported returns are unscaled
    normalize_values=True,  # the critic predicts normalized returns
    max_kl=0.03,  # skip the rest of an update that has changed the policy this much
    stagger=True,  # the first episodes end at different times
    eval_every=8_192,
    eval_episodes=20,
)


class Show(Callback):
    """Prints every evaluation."""

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        if "eval/return" in progress.metrics:
            rate, score = progress.metrics["update/learning_rate"], progress.metrics["eval/return"]
            print(f"after {progress.steps} steps: learning rate {rate:.4f}, evaluated return {score:.0f}")


trainer = PPO("CartPole-v1", config).learn(callbacks=[Show()])
unfinished = trainer.unfinished_episodes()
print(f"{unfinished.episodes} episodes are under way, {unfinished.mean_length:.0f} steps each on average")
