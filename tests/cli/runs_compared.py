"""Short training runs for the tests of the command line, and their comparison."""

from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import read_metrics

FEW = ("--device", "cpu", "--num-envs", "8", "--no-video", "--quiet")
"""Settings of a very short training run."""
REPLAY = (
    *("--learning-starts", "64", "--steps-per-update", "4", "--batch-size", "32", "--replay-capacity", "1000"),
    *("--policy.hidden", "16"),
)
SMALL = {
    "ppo": ("--num-steps", "16", "--policy.hidden", "16", "--schedule", "constant"),
    "a2c": ("--num-steps", "8", "--policy.hidden", "16", "--schedule", "constant"),
    "vtrace": ("--num-steps", "8", "--steps-per-update", "4", "--policy.hidden", "16", "--schedule", "constant"),
    "dqn": REPLAY,
    "sac": (*REPLAY, "--updates", "3"),
    "td3": (*REPLAY, "--updates", "3"),
}
STEPS = {"ppo": 128, "a2c": 64, "vtrace": 32, "dqn": 32, "sac": 32, "td3": 32}
"""World steps of an iteration with these settings."""


def ended(folder):
    """Tensors and state of the last checkpoint of a run, and its metrics, without values that depend on time."""
    checkpoints = Checkpoints(folder / "checkpoints")
    saved = checkpoints.load(checkpoints.latest())
    rows = [{k: v for k, v in row.items() if "second" not in k} for row in read_metrics(folder)]
    return saved.tensors, {k: v for k, v in saved.state.items() if k != "seconds"}, rows


def assert_equal_runs(one, other):
    (tensors, state, rows), (tensors_, state_, rows_) = ended(one), ended(other)
    assert tensors.keys() == tensors_.keys()
    for name, tensor in tensors.items():
        assert tensor.numpy().tobytes() == tensors_[name].numpy().tobytes(), name
    assert state == state_
    assert [str(row) for row in rows] == [str(row) for row in rows_]  # as text, since NaN equals nothing
