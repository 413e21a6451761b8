"""Experiment trackers: callbacks that send the metrics of a training to Weights & Biases and MLflow, both optional."""
