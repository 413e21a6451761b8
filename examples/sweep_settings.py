"""A sweep: Optuna proposes the learning rate and the number of epochs, and trainings that fall behind end early.

Needs Optuna: pip install 'worldloom[sweep]'. On the command line:
worldloom sweep CartPole-v1 --search learning_rate=1e-5:1e-2:log epochs=2,4,8 --trials 8
"""

import tempfile
from pathlib import Path

from worldloom.learn import PPOConfig, SweepPlan, TrainingRequest, sweep

config = PPOConfig(num_envs=32, num_steps=32, total_steps=8192, device="cpu")
plan = SweepPlan(("learning_rate=1e-5:1e-2:log", "epochs=2,4,8"), trials=7)

with tempfile.TemporaryDirectory() as folder:
    # The folder holds a run for each trial. A sweep that was killed continues there with the same trials.
    request = TrainingRequest("CartPole-v1", "ppo", config, run_dir=Path(folder) / "sweep")
    finished = sweep(request, plan)
    for result in finished.ranked():
        rate, epochs = result.settings["learning_rate"], result.settings["epochs"]
        outcome = f"return {result.value:.0f}, {result.state}"
        print(f"trial {result.number}: learning rate {rate:.5f}, {epochs} epochs, {outcome}")
    print("best trial:", finished.best.number)
