"""SAC and TD3: a stopped training resumes bit for bit; runs are evaluated, exported and refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from continuous_worlds import ALGORITHMS, RANGE, make_trainer, only
from thorough import covering

from worldloom.core.base.errors import InputError
from worldloom.core.registry import registry
from worldloom.learn import TrainingRequest, evaluate, export_run, load_policy, open_run, run_training
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

OPTIONS: dict[str, dict[str, Any]] = {
    "sac": {"noise_correlation": 0.9, "atoms": 11, "v_min": -20.0, "v_max": 0.0},
    "td3": {
        "updates": 1,
        "policy_delay": 2,
        "prioritized": True,
        "policy": PolicyConfig(hidden=(8,), normalize_observations=True),
    },
}


class StopAtStep(Callback):
    def __init__(self, steps: int) -> None:
        self.steps = steps

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        if progress.steps == self.steps:
            trainer.stop()


@pytest.mark.parametrize(("name", "stop_at"), covering(ALGORITHMS, [24, 132]))
def test_a_stopped_training_continues_bit_for_bit(name: str, stop_at: int) -> None:
    """Stopped before the first update, or between two steps of a delayed actor."""
    straight, stopped = (make_trainer(name, **OPTIONS[name]) for _ in range(2))
    straight.learn()
    stopped.learn(callbacks=[StopAtStep(stop_at)])
    assert stopped.steps == stop_at
    tensors, plain = stopped.state()
    saved = {k: v.clone() for k, v in tensors.items()}, json.loads(json.dumps(plain))
    resumed = make_trainer(name, **OPTIONS[name])
    resumed.load_state(*saved)
    resumed.learn()
    expected, found = straight.state(), resumed.state()
    assert expected[0].keys() == found[0].keys() and any("critics/" in key for key in found[0])
    for key, tensor in expected[0].items():
        assert torch.equal(tensor, found[0][key]), key
    assert {**expected[1], "seconds": 0.0} == {**found[1], "seconds": 0.0}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_training_adopts_the_critics_and_the_temperature_of_another(name: str) -> None:
    source, trainer = (make_trainer(name, seed=seed, total_steps=60) for seed in (1, 2))
    source.learn(), trainer.learn()
    before = {key: tensor.clone() for key, tensor in trainer.tensors().items()}
    trainer.adopt(source.state()[0])
    for key, tensor in trainer.tensors().items():
        kept = key.startswith(("Archer/rows/", "Archer/explorer", "Archer/noise", "Archer/metrics"))
        assert torch.equal(tensor, (before if kept else source.tensors())[key]), key


def test_a_fixed_temperature_is_that_of_the_settings() -> None:
    source = make_trainer("sac", auto_temperature=False, temperature=0.5)
    trainer = make_trainer("sac", auto_temperature=False, temperature=0.2)
    trainer.load_state(*source.state())
    assert only(trainer).log_temperature.exp().item() == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("Archer/rows/replay/actions", 1.5, "is not between -1 and 1"),
        ("Archer/critics/network.layers.0.weight", float("nan"), "is not finite"),
        ("Archer/critic_optimizer/square", -1.0, "critic_optimizer/square"),
        ("Archer/temperature", float("inf"), "is not finite"),
    ],
)
def test_an_altered_state_is_refused(key: str, value: float, match: str) -> None:
    tensors, plain = make_trainer("sac").state()
    altered = {k: v.clone() for k, v in tensors.items()}
    altered[key].fill_(value)
    with pytest.raises(InputError, match=match):
        make_trainer("sac").load_state(altered, plain)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """The folder of a finished run of each algorithm."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._REGISTRY, RANGE.id, RANGE)
        folders = {}
        for name, (_, config) in ALGORITHMS.items():
            folders[name] = tmp_path_factory.mktemp("runs") / name
            run_training(TrainingRequest(env=RANGE.id, algorithm=name, config=config, run_dir=folders[name]))
        yield folders


@pytest.mark.parametrize("name", ALGORITHMS)
def test_runs_are_evaluated(name: str, runs: dict[str, Path]) -> None:
    saved = open_run(runs[name])
    with saved.worlds(8, "cpu", seed=3) as worlds:
        result = evaluate(worlds, saved.actors(worlds), 8)
        assert -60.0 < result.mean_return < 0.0
        if name == "td3":
            with pytest.raises(InputError, match="a policy of td3 is deterministic: omit --stochastic"):
                saved.actors(worlds, stochastic=True)
        else:
            assert evaluate(worlds, saved.actors(worlds, stochastic=True), 8).mean_return != result.mean_return


@pytest.mark.parametrize("name", ALGORITHMS)
def test_exported_actions_are_those_of_the_actor(name: str, runs: dict[str, Path], tmp_path: Path) -> None:
    exported = export_run(runs[name], "torchscript", tmp_path / "policy.pt")
    assert [info.name for info in exported.inputs] == ["sight"], "the critic's observation is not needed"
    function = torch.jit.load(str(exported.path))
    sight = torch.tensor([[0.3, 0.4], [1.5, 0.2]])
    action, mean = function(sight)
    saved = {key.removeprefix("network."): tensor for key, tensor in load_policy(runs[name]).tensors.items()}
    hidden = torch.relu(sight @ saved["encoder.network.layers.0.weight"].T + saved["encoder.network.layers.0.bias"])
    outputs = (hidden @ saved["actor.weight"].T + saved["actor.bias"])[:, :2]
    torch.testing.assert_close(mean, outputs)
    low, high = torch.tensor([-1.0, 0.0]), torch.tensor([3.0, 1.0])
    torch.testing.assert_close(action, low + (high - low) * (outputs.tanh() + 1.0) / 2.0)


def test_policies_of_other_algorithms_are_refused_as_a_start(runs: dict[str, Path], tmp_path: Path) -> None:
    _, config = ALGORITHMS["td3"]
    request = TrainingRequest(
        env=RANGE.id, algorithm="td3", config=config, run_dir=tmp_path / "run", start_from=str(runs["sac"])
    )
    with pytest.raises(InputError, match="it was trained by sac, and this training needs one trained by td3"):
        run_training(request)
    started = replace(request, start_from=str(runs["td3"]), config=replace(config, total_steps=8))
    run_training(started)
    first, second = (load_policy(run).tensors for run in (runs["td3"], tmp_path / "run"))
    assert all(torch.equal(first[key], second[key]) for key in first), "no update follows 8 steps"
