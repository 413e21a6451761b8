"""Policies of earlier runs as frozen opponents: in Python, in requests, and after a resume without the earlier run."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import duel
import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.policy import Policy
from worldloom.learn.runs.saved_policies import load_policy, parse_source
from worldloom.learn.runs.saved_run import open_run
from worldloom.learn.runs.training_request import TrainingRequest, request_from_dict
from worldloom.learn.runs.training_run import run_training
from worldloom.learn.training.callbacks import Callback

CONFIG = PPOConfig(
    num_envs=4, num_steps=4, minibatches=1, epochs=1, total_steps=32, device="cpu", policy=PolicyConfig(hidden=(8,))
)
REQUEST = TrainingRequest("Duel-test-v0", "ppo", CONFIG)
assert duel.DUEL.id == REQUEST.env


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with another network and with statistics of observations."""
    folder = tmp_path_factory.mktemp("runs") / "earlier"
    policy = PolicyConfig(hidden=(5, 3), activation="relu", normalize_observations=True)
    run_training(replace(REQUEST, config=replace(CONFIG, policy=policy, seed=7), run_dir=folder))
    return folder


@pytest.fixture
def opponent_run(earlier: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A run against the earlier defender, of which the earlier run's copy was removed, and its folder."""
    copied = tmp_path / "copied"
    shutil.copytree(earlier, copied)
    request = replace(REQUEST, opponents={"Defender": str(copied)}, run_dir=tmp_path / "run", checkpoint_every=0.0)
    run_training(request)
    shutil.rmtree(copied)
    return tmp_path / "run", earlier


def test_a_frozen_opponent_keeps_its_weights_and_statistics_while_others_train(earlier: Path) -> None:
    saved = load_policy(earlier, "Defender")
    assert any("normalizer" in name for name in saved.tensors)
    groups = {"Attacker": PolicyGroup("Attacker"), "Defender": PolicyGroup("Defender", train=False, saved=saved)}
    trainer = PPO(duel.DUEL, CONFIG, policy_groups=groups)
    before = trainer.learners["Attacker"].optimizer.flat.clone()
    trainer.learn()
    frozen = trainer.learners["Defender"].policy
    assert frozen.config.hidden == (5, 3) and trainer.learners["Attacker"].policy.config.hidden == (8,)
    assert all(torch.equal(value, saved.tensors[name]) for name, value in frozen.state_dict().items())
    assert not torch.equal(before, trainer.learners["Attacker"].optimizer.flat)


def test_a_recurrent_opponent_meets_a_plain_policy(earlier: Path) -> None:
    plain = PPO(duel.DUEL, CONFIG)
    config = PolicyConfig(hidden=(6,), memory="gru", memory_size=3)
    network = Policy(plain.learners["Defender"].agent_group.spec, config)
    saved = replace(load_policy(earlier, "Defender"), config=config, tensors=network.state_dict())
    groups = {"Attacker": PolicyGroup("Attacker"), "Defender": PolicyGroup("Defender", train=False, saved=saved)}
    trainer = PPO(duel.DUEL, CONFIG, policy_groups=groups)
    trainer.learn()
    assert trainer.learners["Defender"].actor.state.shape == (4, 3)
    assert trainer.learners["Attacker"].actor.state.shape == (4, 0)


def test_training_continues_from_a_saved_policy_that_is_trained(earlier: Path) -> None:
    saved = load_policy(earlier, "Defender")
    groups = {"Attacker": PolicyGroup("Attacker"), "Defender": PolicyGroup("Defender", saved=saved)}
    trainer = PPO(duel.DUEL, CONFIG, policy_groups=groups)
    assert all(
        torch.equal(value, saved.tensors[name])
        for name, value in trainer.learners["Defender"].policy.state_dict().items()
    )
    before = trainer.learners["Defender"].optimizer.flat.clone()
    trainer.learn()
    assert not torch.equal(before, trainer.learners["Defender"].optimizer.flat)


def test_training_continues_with_the_moments_of_the_value_targets(tmp_path: Path) -> None:
    config = replace(CONFIG, normalize_values=True)
    run_training(replace(REQUEST, config=config, run_dir=tmp_path / "run"))
    saved = load_policy(tmp_path / "run", "Defender")
    assert float(saved.value_moments["count"]) > 0.0
    groups = {"Attacker": PolicyGroup("Attacker"), "Defender": PolicyGroup("Defender", saved=saved)}
    learners = PPO(duel.DUEL, config, policy_groups=groups).learners
    assert all(
        torch.equal(value, saved.value_moments[name])
        for name, value in learners["Defender"].value_moments.state_dict().items()
    )
    assert float(learners["Attacker"].value_moments.count) == 0.0
    groups["Defender"] = PolicyGroup("Defender", saved=replace(saved, value_moments={"mean": torch.zeros(())}))
    with pytest.raises(InputError, match="has no 'values/count'"):
        PPO(duel.DUEL, config, policy_groups=groups)


def test_the_opponent_is_copied_so_that_its_run_may_go(opponent_run: tuple[Path, Path]) -> None:
    folder, earlier = opponent_run
    request = replace(
        request_from_dict(json.loads((folder / "config.json").read_text()), folder, "yes"),
        config=replace(CONFIG, total_steps=64),
    )
    final: dict[str, torch.Tensor] = {}

    class Note(Callback):
        def on_end(self, trainer: PPO) -> None:
            final.update(trainer.learners["Defender"].policy.state_dict())

    assert run_training(request, [Note()]).steps == 64
    expected = load_policy(earlier, "Defender").tensors
    assert final.keys() == expected.keys()
    assert all(torch.equal(value, expected[name]) for name, value in final.items())
    with open_run(folder).worlds(4, "cpu", seed=0) as worlds:  # its policies have different networks
        actors = open_run(folder).actors(worlds)
        assert actors["Defender"][1].policy.config.hidden == (5, 3)
        assert actors["Attacker"][1].policy.config.hidden == (8,)
    nested = load_policy(folder, "Defender")  # an opponent of an opponent's run
    assert nested.config.hidden == (5, 3)


def test_an_altered_copy_is_refused(opponent_run: tuple[Path, Path]) -> None:
    folder, _ = opponent_run
    file = folder / "opponents" / "Defender.policy" / "tensors.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(bytes(data))
    request = request_from_dict(json.loads((folder / "config.json").read_text()), folder, "yes")
    with pytest.raises(InputError, match="was altered"):
        run_training(replace(request, config=replace(CONFIG, total_steps=64)))


def test_a_name_that_leads_out_of_the_folder_is_refused(opponent_run: tuple[Path, Path]) -> None:
    folder, _ = opponent_run
    config = json.loads((folder / "config.json").read_text())
    config["opponents"] = {"../Defender": "x"}
    with pytest.raises(InputError, match=r"an opponent cannot be called '\.\./Defender'"):
        run_training(request_from_dict(config, folder, "yes"))


def test_sources_name_run_checkpoint_and_policy(earlier: Path) -> None:
    assert parse_source("a/b") == parse_source("a/b:last") and str(parse_source("a/b").run) == "a/b"
    named = parse_source(f"{earlier}:best:Defender")
    assert (named.run, named.checkpoint, named.policy) == (earlier, "best", "Defender")
    assert parse_source(f"{earlier}:iteration_00000002").checkpoint == "iteration_00000002"
    assert parse_source(f"{earlier}:Attacker").policy == "Attacker"


def test_unsuitable_opponents_are_refused(earlier: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no policy 'Runner' in .*: name one of Attacker, Defender"):
        load_policy(earlier, "Runner")
    with pytest.raises(InputError, match="has several policies: name one of Attacker, Defender"):
        load_policy(earlier)
    with pytest.raises(InputError, match="holds no run"):
        load_policy(tmp_path)
    saved = load_policy(earlier, "Defender")

    def used(policy: object, world: object = duel.DUEL) -> None:
        groups = {"Attacker": PolicyGroup("Attacker"), "Defender": PolicyGroup("Defender", train=False, saved=policy)}
        PPO(world, CONFIG, policy_groups=groups)

    with pytest.raises(InputError, match="was trained in world 'Twins-test-v0', not in 'Duel-test-v0'"):
        used(replace(saved, world="Twins-test-v0"))
    with pytest.raises(InputError, match="it was trained by dqn, and this training needs one trained by ppo"):
        used(replace(saved, algorithm="dqn"))
    with pytest.raises(InputError, match="is not the network that its settings describe"):
        used(replace(saved, config=replace(saved.config, hidden=(5, 4))))
    scouts = {"Scout": PolicyGroup("Scout"), "Walker": PolicyGroup("Walker", train=False, saved=None)}
    wrong = replace(saved, world=duel.SCOUTS.id, agents="Scout")
    with pytest.raises(InputError, match="its agents Scout have other observations or actions than Walker"):
        PPO(duel.SCOUTS, CONFIG, policy_groups={**scouts, "Walker": replace(scouts["Walker"], saved=wrong)})
    with pytest.raises(InputError, match="and this training needs one trained by dqn"):
        config = DQNConfig(num_envs=4, device="cpu", replay_capacity=1000)
        groups = {"Attacker": PolicyGroup("Attacker"), "Defender": PolicyGroup("Defender", train=False, saved=saved)}
        DQN(duel.DUEL, config, policy_groups=groups)


def test_a_dqn_policy_is_an_opponent_in_dqn(tmp_path: Path) -> None:
    config = DQNConfig(num_envs=4, total_steps=64, device="cpu", replay_capacity=1000, learning_starts=16)
    run_training(TrainingRequest("Duel-test-v0", "dqn", config, run_dir=tmp_path / "first"))
    saved = load_policy(tmp_path / "first", "Defender")
    groups = {"Attacker": PolicyGroup("Attacker"), "Defender": PolicyGroup("Defender", train=False, saved=saved)}
    trainer = DQN(duel.DUEL, replace(config, seed=3), policy_groups=groups)
    trainer.learn()
    frozen = trainer.learners["Defender"].policy.state_dict()
    assert all(torch.equal(value, saved.tensors[name]) for name, value in frozen.items())


def test_every_policy_has_its_settings_and_its_pool() -> None:
    request = replace(
        REQUEST,
        self_play=("Attacker", "Defender"),
        pool=OpponentPool(size=4),
        policy_settings={"Defender": {"learning_rate": 1e-5, "policy.hidden": [4, 4], "pool.share": 0.5}},
    )
    groups = request.policy_groups()
    assert groups["Attacker"].config is None and groups["Attacker"].pool == OpponentPool(size=4)
    assert groups["Defender"].config.learning_rate == 1e-5 and groups["Defender"].config.policy.hidden == (4, 4)
    assert groups["Defender"].pool == OpponentPool(size=4, share=0.5)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"policy_settings": {"Defender": {"num_steps": 3}}}, "cannot have its own num_steps"),
        ({"policy_settings": {"Defender": {"eval_every": 3}}}, "eval_every, which all policies share: set it for all"),
        ({"policy_settings": {"Defender": {"stagger": True}}}, "cannot have its own stagger"),
        ({"policy_settings": {"Defender": {"eval_seed": 3}}}, "cannot have its own eval_seed"),
        ({"policy_settings": {"Defender": {"pool.size": 3}}}, "no pool of past selves: add --self-play Defender"),
        (
            {"opponents": {"Defender": "x"}, "policy_settings": {"Defender": {"policy.hidden": [3]}}},
            "whose network is that of x: omit --set Defender:policy.hidden",
        ),
        ({"policy_settings": {"Defender": {"speed": 3}}}, "there is no setting 'speed'"),
        ({"policy_settings": {"Defender": {"gamma": "high"}}}, "setting 'gamma' cannot be 'high'"),
        ({"policy_settings": {"Ghost": {"gamma": 0.5}}}, "there is no policy 'Ghost' for --set"),
        ({"self_play": ("Ghost",)}, "there is no policy 'Ghost' for --self-play"),
        ({"opponents": {"Ghost": "x"}}, "there is no policy 'Ghost' for --opponent"),
        ({"opponents": {"Attacker": "x", "Defender": "y"}}, "every policy is frozen"),
        ({"self_play": ("Attacker",), "frozen": ("Attacker",)}, "is not trained, so it has no past selves"),
    ],
)
def test_invalid_requests_are_refused(changes: dict[str, object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        request = replace(REQUEST, **changes)
        PPO(duel.DUEL, CONFIG, policy_groups=request.policy_groups())
