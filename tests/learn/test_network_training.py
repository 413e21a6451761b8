"""Training with every network: resumption bit for bit, types in the storage, saved runs, and rules of version 0.1."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from thorough import covering
from torch import nn
from worlds import HILL, Dog, Hill, bark, look_over

import worldloom as wl
from worldloom.core.registry import registry
from worldloom.learn import (
    A2C,
    DQN,
    PPO,
    A2CConfig,
    DQNConfig,
    PolicyConfig,
    PPOConfig,
    RunFolder,
    RunRecorder,
    TrainingRequest,
    VTrace,
    VTraceConfig,
    config_from_dict,
    config_to_dict,
    evaluate,
    open_run,
    run_training,
)

SMALL: dict[str, Any] = {"num_envs": 4, "device": "cpu", "seed": 3}
POLICIES = {
    "attention": PolicyConfig(attention_size=8, attention_heads=2, attention_layers=2, hidden=(8,)),
    "separate gru, normalized": PolicyConfig(
        attention_size=8, hidden=(8,), memory="gru", memory_size=6, normalize_observations=True, layer_norm=True
    ),
    "symmetric two branches": PolicyConfig(network="two_branch", hidden=(8,), asymmetric=False, trunks="separate"),
    "mlp": PolicyConfig(network="mlp", hidden=(8,)),
}
ALGORITHMS: dict[str, tuple[Any, Any]] = {
    "ppo": (PPO, PPOConfig(num_steps=8, minibatches=2, epochs=2, **SMALL)),
    "a2c": (A2C, A2CConfig(num_steps=4, **SMALL)),
    "vtrace": (VTrace, VTraceConfig(num_steps=4, steps_per_update=2, batches=2, **SMALL)),
}


class Listener(nn.Module):
    """A recurrent module over observations by name."""

    state_size = 5

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.actor, self.critic = nn.GRUCell(3, 5), nn.Linear(5, 3), nn.Linear(5, 1)

    def forward(self, observations: Any, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        mood = nn.functional.one_hot(observations["mood"].long(), 3).float()
        state = self.cell(mood, state)
        return self.actor(state), self.critic(state), state


def assert_resumes_exactly(make: Any) -> None:
    """A training of four iterations equals one that is saved after two and continued by a new trainer."""
    straight, stopped, fresh = make(), make(), make()
    for _ in range(4):
        straight.iterate()
    for _ in range(2):
        stopped.iterate()
    tensors, plain = stopped.state()
    fresh.load_state({name: tensor.clone() for name, tensor in tensors.items()}, plain)
    for _ in range(2):
        fresh.iterate()
    wanted, have = straight.state()[0], fresh.state()[0]
    assert set(wanted) == set(have)
    for name, tensor in wanted.items():
        assert torch.equal(tensor.nan_to_num(), have[name].nan_to_num()), name


@pytest.mark.parametrize(("algorithm", "policy"), covering(ALGORITHMS, POLICIES))
def test_a_stopped_training_continues_bit_for_bit(algorithm: str, policy: str) -> None:
    kind, config = ALGORITHMS[algorithm]
    assert_resumes_exactly(lambda: kind(HILL, replace(config, policy=POLICIES[policy])))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_stopped_training_of_a_recurrent_module_continues_bit_for_bit(algorithm: str) -> None:
    kind, config = ALGORITHMS[algorithm]

    def make() -> Any:
        torch.manual_seed(0)
        return kind(HILL, config, network=Listener())

    assert_resumes_exactly(make)


def test_dqn_learns_from_sets_without_the_observations_of_a_critic() -> None:
    config = DQNConfig(batch_size=8, learning_starts=16, replay_capacity=64, policy=POLICIES["attention"], **SMALL)
    trainer = DQN(HILL, config)
    for _ in range(8):
        trainer.iterate()
    assert trainer.learning
    stored = trainer.learners["Dog"].replay.tensors()
    assert any(name.endswith("sheep") for name in stored) and not any(name.endswith("weather") for name in stored)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_observations_are_stored_in_their_own_type_and_float64_as_float32(algorithm: str) -> None:
    kind, config = ALGORITHMS[algorithm]
    trainer = kind(HILL, replace(config, policy=POLICIES["mlp"]))
    trainer.iterate()
    stored = trainer.learners["Dog"].actor.storage.observations
    assert {name: values.dtype for name, values in stored.items()} == {
        "sheep": torch.float32,
        "awake": torch.bool,
        "plane": torch.uint8,
        "far": torch.float32,
        "mood": torch.int32,
        "weather": torch.float32,
    }


def test_a_saved_run_is_evaluated_from_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    wl.register("HillSaved-test", world=Hill, entities={Dog: 1}, step=[bark], observe=[look_over], max_steps=7)
    config = replace(ALGORITHMS["ppo"][1], policy=POLICIES["separate gru, normalized"], total_steps=64)
    request = TrainingRequest("HillSaved-test", "ppo", config, run_dir=tmp_path / "run")
    run_training(request)
    run = open_run(tmp_path / "run")
    assert run.request.config.policy == config.policy
    with run.worlds(4, "cpu", seed=1) as worlds:
        actors = run.actors(worlds)
        assert evaluate(worlds, actors, episodes=4).episodes == 4
        agents, actor = actors["Dog"]
        seen = {name: values for name, values in agents.observations().items() if name != "weather"}
        actions, _ = actor.act(seen, actor.initial_state(agents.rows, "cpu"), None)
        assert actions.shape == (4, 1)


class Painter(wl.Entity):
    stroke: wl.Action(wl.Discrete(2))
    canvas: wl.Observation(3, 9, 8, dtype=wl.uint8, low=0, high=1)
    reward: wl.Reward


PAINTING = wl.Definition("Painting-test", wl.World, {Painter: 1}, max_steps=5)


def test_settings_of_version_0_1_keep_its_rules(tmp_path: Path) -> None:
    config = PPOConfig(num_steps=4, minibatches=2, **SMALL, total_steps=32)
    written = config_to_dict(config)
    assert config_from_dict(PPOConfig, written) == config
    new_fields = ("trunks", "layer_norm", "attention_size", "attention_heads", "attention_layers", "asymmetric")
    for name in (*new_fields, "input_rules"):
        del written["policy"][name]
    old = config_from_dict(PPOConfig, written)
    assert old == replace(config, policy=PolicyConfig(input_rules="0.1"))
    assert config_from_dict(PPOConfig, {"policy": {"hidden": [8]}}).policy == PolicyConfig(hidden=(8,))

    networks = {}
    for rules, settings in (("0.1", old), ("declared", config)):
        with RunFolder(tmp_path / rules, config_to_dict(settings)) as folder:
            trainer = PPO(PAINTING, settings)
            trainer.learn(callbacks=[RunRecorder(folder)])
        networks[rules] = trainer.learners["Painter"].policy.network.encoder
    assert networks["0.1"].inputs.shape == (3, 9, 8) and networks["0.1"].inputs.byte_scale == 1.0 / 255.0
    assert networks["declared"].inputs.shape == (8, 3, 9) and networks["declared"].inputs.byte_scale == 1.0
    assert [type(networks[rules].network).__name__ for rules in ("0.1", "declared")] == ["ImpalaCNN", "GridCNN"]
