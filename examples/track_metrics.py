"""Metrics in MLflow, here in a file; WandbCallback(mode="offline") does the same for Weights & Biases."""

import tempfile

from mlflow import MlflowClient

from worldloom.learn import PPO, MlflowCallback, PPOConfig

config = PPOConfig(num_envs=16, num_steps=32, total_steps=4096, device="cpu")
with tempfile.TemporaryDirectory() as folder:
    store = f"sqlite:///{folder}/mlflow.db"
    tracker = MlflowCallback("poles", "first", tracking_uri=store, folder=folder, every_s=0.0)
    PPO("CartPole-v1", config).learn(callbacks=[tracker])

    client = MlflowClient(store)
    (run,) = client.search_runs([client.get_experiment_by_name("poles").experiment_id])
    history = client.get_metric_history(run.info.run_id, "episode/return")
    print(f"{run.info.run_name}: {run.info.status}, learning rate {run.data.params['learning_rate']}")
    print(f"{len(history)} returns recorded, the last after {history[-1].step} steps")
