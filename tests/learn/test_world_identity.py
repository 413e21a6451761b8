"""A world that was changed under a training: what is refused, what is allowed, and what is logged."""

from __future__ import annotations

import json
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import pytest

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.experiments.population.member_job import train_member
from worldloom.learn.experiments.population.population_folder import PopulationFolder, PopulationPlan
from worldloom.learn.experiments.population.population_run import train_population
from worldloom.learn.experiments.seed_folder import SeedFolder, open_seed_folder
from worldloom.learn.experiments.sweep.sweep_folder import SweepFolder, SweepPlan
from worldloom.learn.experiments.sweep.sweep_run import sweep
from worldloom.learn.experiments.sweep.trial_job import train_trial
from worldloom.learn.runs import training_run
from worldloom.learn.runs.saved_policies import load_opponents, load_starts
from worldloom.learn.runs.saved_run import open_run
from worldloom.learn.runs.training_run import TrainingRequest, run_training
from worldloom.learn.training.world_identity import ChangedWorldError, identity_of

CONFIG = PPOConfig(num_envs=2, num_steps=4, epochs=1, total_steps=8, device="cpu", policy=PolicyConfig(hidden=(4,)))


class Ball(wl.Entity):
    height: float
    push: wl.Action(wl.Discrete(2))
    sight: wl.Observation(2)
    reward: wl.Reward


class Room(wl.World):
    wind: wl.Config = 0.5


def pond(reward: float = 1.0, **changes: object) -> wl.Definition:
    """A world that pays ``reward`` per step."""

    @wl.system
    def score(ball: Ball, world: Room) -> None:
        ball.height += float(ball.push) * world.wind
        ball.reward = reward

    @wl.system
    def look(ball: Ball) -> None:
        ball.sight = wl.vec2(ball.height, 0.0)

    return replace(wl.Definition("Pond-test", Room, {Ball: 1}, step=(score,), observe=(look,), max_steps=5), **changes)


def saved(definition: wl.Definition):
    """The state of a training of a few steps, as a checkpoint holds it."""
    tensors, plain = PPO(definition, CONFIG).learn().state()
    return {name: tensor.clone() for name, tensor in tensors.items()}, json.loads(json.dumps(plain))


@pytest.fixture(scope="module")
def state():
    return saved(pond())


def registered(monkeypatch: pytest.MonkeyPatch, definition: wl.Definition) -> None:
    """Put ``definition`` in the place of the world of its id, as an edit of its file between two commands does."""
    from worldloom.core.registry import registry

    monkeypatch.setitem(registry._REGISTRY, definition.id, definition)


# -- Python -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        (pond(5.0), "the constant `reward` (1.0, now 5.0)"),
        (pond(max_steps=6), "the configuration `max_steps` (5, now 6)"),
        (pond(id="Lake-test"), "the id ('Pond-test', now 'Lake-test')"),
    ],
)
def test_other_rules_are_refused(state, changed, name):
    trainer = PPO(changed, CONFIG)
    with pytest.raises(ChangedWorldError) as error:
        trainer.load_state(*state)
    assert name in str(error.value) and f"world '{changed.id}'" in str(error.value)
    assert "has changed since this run was trained" in str(error.value) and "--allow-changed-world" in str(error.value)
    assert trainer.steps == 0


def test_the_same_rules_continue_without_a_word(state):
    trainer = PPO(pond(), CONFIG)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trainer.load_state(*state)
    assert trainer.steps == 8 and trainer.world_history.changes == []


def test_a_former_version_with_the_same_results_continues(state):
    trainer = PPO(pond(5.0, former_hashes=(pond().hash,)), CONFIG)
    trainer.load_state(*state)
    assert trainer.steps == 8


def test_another_configuration_is_refused(state):
    worlds = wl.Simulation(pond(), 2, seed=0, config={"wind": 0.75})
    with pytest.raises(ChangedWorldError, match=r"the configuration `wind` \(0.5, now 0.75\) of world 'Pond-test'"):
        PPO(worlds, CONFIG).load_state(*state)


def test_a_configuration_that_changed_during_the_training_is_no_change():
    trainer = PPO(pond(), CONFIG)
    trainer.simulation.set_config("wind", 0.9)
    tensors, plain = trainer.learn().state()
    resumed = PPO(pond(), CONFIG)
    resumed.load_state({name: tensor.clone() for name, tensor in tensors.items()}, plain)
    assert resumed.simulation.world.wind.numpy().item() == pytest.approx(0.9)


def test_an_allowed_change_starts_new_episodes_and_is_logged(state):
    trainer = PPO(pond(5.0), CONFIG)
    with pytest.warns(UserWarning, match="`reward`.* has changed since this run was trained, which was allowed"):
        trainer.load_state(*state, allow_changed_world=True)
    assert trainer.steps == 8 and trainer.simulation.world.step.numpy().max() == 0
    (change,) = trainer.world_history.changes
    assert change["steps"] == 8 and change["changed"] == ["the constant `reward` (1.0, now 5.0)"]
    assert change["from"] == pond().hash
    tensors, plain = trainer.learn(16).state()
    again = PPO(pond(5.0), CONFIG)
    again.load_state(tensors, json.loads(json.dumps(plain)))  # the new rules are those of the run now
    assert again.world_history.changes == [change]


def test_an_allowed_change_leaves_a_replay_of_the_old_rules_out():
    config = DQNConfig(num_envs=2, total_steps=40, device="cpu", replay_capacity=64, policy=PolicyConfig(hidden=(4,)))
    tensors, plain = DQN(pond(), config).learn().state()
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    for allowed, count in ((pond(), 20), (pond(5.0), 0)):
        trainer = DQN(allowed, config)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trainer.load_state(tensors, plain, allow_changed_world=True)
        assert int(trainer.learners["Ball"].replay.cursor.item()) == count


def test_a_state_of_an_earlier_version_continues_with_a_note(state):
    tensors, plain = state
    trainer = PPO(pond(5.0), CONFIG)
    with pytest.warns(UserWarning, match="does not say which rules world 'Pond-test' had"):
        trainer.load_state(tensors, {name: value for name, value in plain.items() if name != "world"})
    assert trainer.steps == 8


def test_another_version_of_worldloom_with_the_same_rules_is_noted(state):
    tensors, plain = state
    world = {**plain["world"], "versions": {"worldloom": "0.0.1"}}
    trainer = PPO(pond(), CONFIG)
    with pytest.warns(
        UserWarning, match="trained with worldloom 0.0.1, and this is .*: the rules of the world are the same"
    ):
        trainer.load_state(tensors, {**plain, "world": world})
    with pytest.raises(ChangedWorldError, match=r"trained \(saved with worldloom 0.0.1, now "):
        PPO(pond(5.0), CONFIG).load_state(tensors, {**plain, "world": world})


@pytest.mark.parametrize(
    "damage",
    [
        [],
        5,
        {"rules": 3},
        {"rules": {"max_steps": 5}},
        {"config": {"World.wind": "\x1b[2J"}},
        {"id": None},
        {"format": "1"},
        {"rules": {"x" * 5000: "1"}},
        {"changes": [{"iteration": -1, "steps": 0, "changed": [], "from": ""}]},
        {"changes": 3},
    ],
)
def test_a_damaged_identity_is_refused(state, damage):
    tensors, plain = state
    world = {**plain["world"], **damage} if isinstance(damage, dict) else damage
    with pytest.raises(InputError, match=r"damaged: use another checkpoint"):
        PPO(pond(), CONFIG).load_state(tensors, {**plain, "world": world}, allow_changed_world=True)


def test_rules_in_another_format_are_compared_by_their_hash(state):
    tensors, plain = state
    world = {**plain["world"], "format": 2, "rules": {"all": "1"}}
    PPO(pond(), CONFIG).load_state(tensors, {**plain, "world": world})
    with pytest.raises(ChangedWorldError, match=r"the definition of world 'Pond-test' .*has changed"):
        PPO(pond(5.0), CONFIG).load_state(tensors, {**plain, "world": world})


# -- runs -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A run with the first rules."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patch:
        registered(patch, pond())
        run_training(TrainingRequest("Pond-test", "ppo", CONFIG, run_dir=folder))
    return folder


@pytest.fixture
def run(original, tmp_path):
    shutil.copytree(original, tmp_path / "run")
    return tmp_path / "run"


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("resume", ["yes", "auto"])
def test_a_run_is_not_resumed_with_other_rules(run, resume, monkeypatch):
    registered(monkeypatch, pond(5.0))
    request = TrainingRequest("Pond-test", "ppo", replace(CONFIG, total_steps=16), run_dir=run, resume=resume)
    before = content(run)
    with pytest.raises(
        ChangedWorldError, match=r"cannot be resumed from checkpoint .* and was not changed: the constant `reward`"
    ):
        run_training(request)
    assert content(run) == before
    with pytest.warns(UserWarning, match="which was allowed"):
        assert run_training(replace(request, allow_changed_world=True)).steps == 16
    log = json.loads((run / "world.json").read_text())
    assert log["hash"] == pond(5.0).hash and [change["steps"] for change in log["changes"]] == [8]
    assert "allow_changed_world" not in json.loads((run / "config.json").read_text())
    run_training(replace(request, config=replace(CONFIG, total_steps=24)))  # without another word


def test_a_restart_of_torchrun_is_refused_too(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "launch")
    registered(monkeypatch, pond())
    request = TrainingRequest("Pond-test", "ppo", CONFIG, run_dir=tmp_path / "run")
    run_training(request)
    registered(monkeypatch, pond(5.0))
    with pytest.raises(ChangedWorldError, match="the constant `reward`"):
        run_training(replace(request, config=replace(CONFIG, total_steps=16)))


def test_policies_are_not_played_under_other_rules(run, monkeypatch):
    registered(monkeypatch, pond(5.0))
    with pytest.raises(
        ChangedWorldError, match=r"`reward` \(1.0, now 5.0\) of world .* has changed since the run in .* was trained"
    ):
        open_run(run)
    with pytest.warns(UserWarning, match="which was allowed"):
        assert open_run(run, allow_changed_world=True).changed_world == ("the constant `reward` (1.0, now 5.0)",)
    registered(monkeypatch, pond())
    assert open_run(run).changed_world == ()


# -- experiments, and policies of other runs --------------------------------------------------------------------------


def folders(path: Path, request: TrainingRequest):
    """How each experiment of several trainings is continued, and the message or request of its first training."""
    sweep_plan = SweepPlan(("learning_rate=1e-4:1e-3",), trials=1, sampler="random", pruner="none")
    population_plan = PopulationPlan(("learning_rate=1e-4:1e-3",), population=2, generation_steps=8)
    trial = SweepFolder(path / "sweep", request, sweep_plan)
    member = PopulationFolder(path / "pbt", request, population_plan)
    seeds = SeedFolder(path / "seeds", request, [0])
    return {"sweep": (trial, sweep_plan), "pbt": (member, population_plan), "seeds": (seeds, None)}


def continued(kind: str, folder, plan, allow: bool):
    """Continue an experiment; the content of its file afterwards."""
    request = replace(folder.request, run_dir=folder.path, resume="auto", allow_changed_world=allow)
    if kind == "seeds":
        with open_seed_folder(request, folder.seeds):
            pass
    elif kind == "sweep":
        sweep(request, plan)
    else:
        train_population(request, plan)
    return json.loads(next(folder.path.glob("*.json")).read_text())


@pytest.mark.parametrize("kind", ["seeds", "sweep", "pbt"])
def test_an_experiment_is_not_continued_with_other_rules(kind, tmp_path, monkeypatch):
    if kind == "sweep":
        pytest.importorskip("optuna")
    registered(monkeypatch, pond())
    folder, plan = folders(tmp_path, TrainingRequest("Pond-test", "ppo", replace(CONFIG, schedule="constant")))[kind]
    folder.path.mkdir()
    folder.world = identity_of(pond()).as_dict()
    folder.write()
    registered(monkeypatch, pond(5.0))
    with pytest.raises(ChangedWorldError, match=r"the constant `reward` .* since the trainings in .* were started"):
        continued(kind, folder, plan, allow=False)
    with pytest.warns(UserWarning, match="which was allowed"):
        content = continued(kind, folder, plan, allow=True)
    assert content["world"]["hash"] == pond(5.0).hash
    assert content["world"]["changes"] == [
        {"changed": ["the constant `reward` (1.0, now 5.0)"], "from": folder.world["hash"]}
    ]


def test_a_training_ends_where_the_world_was_edited_during_its_experiment(tmp_path, monkeypatch):
    registered(monkeypatch, pond(5.0))
    experiments = folders(tmp_path, TrainingRequest("Pond-test", "ppo", CONFIG))
    for folder, _ in experiments.values():
        folder.world = identity_of(pond()).as_dict()
    trial, member, seeds = (folder for folder, _ in experiments.values())
    answer = train_trial(trial.message(0, {"learning_rate": 1e-3}, {"names": []}))
    assert answer["state"] == "unwritable" and "has changed since the experiment was started" in answer["error"]
    answer = train_member(member.message(0, 0, member.starts(0)[0]))
    assert "has changed since the experiment was started" in answer["unusable"]
    with pytest.raises(ChangedWorldError, match="or start again with --resume"):
        run_training(seeds.request_of(0))


def test_processes_of_one_training_have_one_world(monkeypatch, tmp_path):
    registered(monkeypatch, pond(5.0))
    leaders = identity_of(pond()).as_dict()
    monkeypatch.setattr(training_run, "_broadcast_object", lambda value, ranks: (*value[:2], leaders))
    with pytest.raises(ChangedWorldError, match="since the leading process read it: train with the same files"):
        run_training(TrainingRequest("Pond-test", "ppo", CONFIG, run_dir=tmp_path / "run"))


def test_policies_of_a_run_with_other_rules_are_used_with_a_note(run, monkeypatch):
    registered(monkeypatch, pond(5.0))
    request = TrainingRequest("Pond-test", "ppo", CONFIG, start_from=str(run))
    with pytest.warns(UserWarning, match="`reward` .* has changed since policy 'Ball' of .* was trained"):
        assert list(load_starts(request)) == ["Ball"]
    with pytest.warns(UserWarning, match="`reward` .* has changed since policy 'Ball' of .* was trained"):
        load_opponents(replace(request, start_from="", opponents={"Ball": str(run)}), None)
