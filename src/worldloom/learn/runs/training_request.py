"""The request of a training: what to train and where, its JSON form in ``config.json``, and its world."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from worldloom.core.base.errors import InputError
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.world_files import file_and_id, find, reference
from worldloom.learn.agents.agent_group import agent_counts
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.registry import algorithm
from worldloom.learn.config.json_files import as_float, short_repr
from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.learn.config.serialization import config_from_dict, config_to_dict, settings_from_dict
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.opponents.saved_policy import SavedPolicy
from worldloom.learn.runs.known_worlds import is_known_world
from worldloom.learn.training.world_identity import require_same_world

FORMAT = 1
"""Version of the layout of ``config.json``."""

POOL_PREFIX = "pool."
"""Prefix of the settings of a policy's pool among those of the policy."""
COMMON_SETTINGS = (
    "num_envs",
    "total_steps",
    "seed",
    "device",
    "graphs",
    "num_steps",
    "steps_per_update",
    "overlap",
    "learning_starts",
    "target_update",
    "save_replay",
    "save_rollout",
    "save_window",
    "batch_size",
    "stagger",
    "eval_every",
    "eval_episodes",
    "eval_worlds",
    "eval_seed",
    "eval_stochastic",
    "eval_max_steps",
)
"""Settings that a single policy cannot have of its own."""

UNSTORED = ("run_dir", "resume", "allow_changed_world", "expected_world")
"""Parts of a request that are not stored in ``config.json``."""

Resume = Literal["no", "yes", "auto"]


@dataclass(frozen=True)
class TrainingRequest:
    """A training to run.

    Attributes:
        env: The world: its id, or ``/path/to/file.py:Id``.
        algorithm: The algorithm's name.
        config: The algorithm's settings.
        world_config: Values of the world's own configuration.
        policies: Which agents share which policy, such as ``{"hunters": "Wolf[0:2]"}``; empty for a policy per kind.
        frozen: Names of policies that act but are not trained.
        opponents: Policies of earlier runs that act but are not trained, by the name of the policy that they become:
            ``RUN``, ``RUN:CHECKPOINT``, ``RUN:POLICY`` or ``RUN:CHECKPOINT:POLICY``. They are copied into the folder.
        self_play: Names of policies with a pool of past selves.
        pool: Settings of these pools.
        policy_settings: Settings of single policies that differ from ``config``, such as ``{"prey": {"learning_rate":
            1e-4, "policy.hidden": [32]}}``; ``pool.`` is the prefix of those of its pool.
        stop_at: The mean return at which the training stops early; None for no early stop.
        checkpoint_every: Seconds between two checkpoints; 0 for only the last.
        keep: How many of the last checkpoints to keep.
        slim_checkpoints: Whether checkpoints leave out the worlds and what was seen in them. A resumed run then starts
            new episodes.
        run_dir: The run's folder; None for the next free one in ``runs/``.
        resume: Whether the folder must hold a run to continue (yes), must not (no), or may (auto).
        video: Whether the command line records a video at the end.
        start_from: A run of the same world with whose policies all but the opponents start, named as in
            ``opponents``; empty for random ones.
        allow_changed_world: Whether a run may be resumed although the rules of its world have changed. The change is
            logged in the run. It is not stored.
        expected_world: The identity of the world, as JSON values, that the experiment of this training was started
            with; None for any. It is not stored either.
    """

    env: str
    algorithm: str
    config: TrainConfig
    world_config: dict[str, Any] = field(default_factory=dict)
    policies: dict[str, str] = field(default_factory=dict)
    frozen: tuple[str, ...] = ()
    stop_at: float | None = None
    checkpoint_every: float = 30.0
    keep: int = 3
    run_dir: Path | None = None
    resume: Resume = "no"
    opponents: dict[str, str] = field(default_factory=dict)
    self_play: tuple[str, ...] = ()
    pool: OpponentPool = field(default_factory=OpponentPool)
    policy_settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    video: bool = True
    start_from: str = ""
    allow_changed_world: bool = False
    expected_world: dict[str, Any] | None = None
    slim_checkpoints: bool = False

    def __post_init__(self) -> None:
        self._check_types()
        if not 0.0 <= self.checkpoint_every < math.inf:
            raise InputError(
                f"checkpoint_every must be 0 or more seconds and finite, not {short_repr(self.checkpoint_every)}"
            )
        if self.keep < 1:
            raise InputError(f"keep must be 1 checkpoint or more, not {short_repr(self.keep)}")
        if self.pool != OpponentPool() and not self.self_play:
            raise InputError("settings of a pool have no effect without past selves: add --self-play POLICY")
        if self.stop_at is not None and not -math.inf < self.stop_at < math.inf:
            raise InputError(f"stop_at must be a finite return, not {short_repr(self.stop_at)}")

    def _check_types(self) -> None:
        """InputError for a value of another type."""
        if isinstance(self.run_dir, str):
            object.__setattr__(self, "run_dir", Path(self.run_dir))
        checks = {name: (is_valid(getattr(self, name)), text) for name, (is_valid, text) in _CONFIG_CHECKS.items()}
        for name in ("frozen", "self_play"):
            value = getattr(self, name)
            checks[name] = (isinstance(value, (tuple, list)) and _is_texts(list(value)), "a tuple of names")
        checks |= {
            "config": (isinstance(self.config, TrainConfig), "the settings of an algorithm"),
            "pool": (isinstance(self.pool, OpponentPool), "an OpponentPool"),
            "resume": (self.resume in get_args(Resume), "'no', 'yes' or 'auto'"),
            "allow_changed_world": (isinstance(self.allow_changed_world, bool), "True or False"),
            "run_dir": (self.run_dir is None or isinstance(self.run_dir, Path), "a path"),
        }
        for name, (is_valid, description) in checks.items():
            if not is_valid:
                raise InputError(f"{name} must be {description}, not {short_repr(getattr(self, name))}")

    def policy_groups(self, saved: Mapping[str, SavedPolicy] | None = None) -> dict[str, PolicyGroup] | None:
        """The policy groups by name; None for one trained policy per kind of agent with the same settings.

        Args:
            saved: The policies of ``opponents`` and ``start_from``, by name.
        """
        if not any((self.policies, self.frozen, self.opponents, self.self_play, self.policy_settings, saved)):
            return None
        names = self.agents_by_policy()
        self._require_effect()
        untrained = {*self.frozen, *self.opponents}
        if len(untrained) == len(names):
            raise InputError(
                "every policy is frozen, so nothing would be learned: leave one out of --frozen and --opponent"
            )
        return {
            name: PolicyGroup(
                agents,
                config=self.config_of(name) if name in self.policy_settings else None,
                train=name not in untrained,
                pool=self._pool_of(name) if name in self.self_play else None,
                saved=None if saved is None else saved.get(name),
            )
            for name, agents in names.items()
        }

    def agents_by_policy(self) -> dict[str, str]:
        """The agents of every policy, by its name; InputError where a flag names a policy that does not exist."""
        names = self.policies or {kind: kind for kind in agent_counts(find(self.env))}
        for flag, chosen in (
            ("--frozen", self.frozen),
            ("--opponent", self.opponents),
            ("--self-play", self.self_play),
            ("--set", self.policy_settings),
        ):
            unknown = [name for name in chosen if name not in names]
            if unknown:
                what = f"policy '{unknown[0]}' to freeze" if flag == "--frozen" else f"policy '{unknown[0]}' for {flag}"
                raise InputError(f"there is no {what}: there are {', '.join(names)}")
        return names

    def _require_effect(self) -> None:
        """InputError for a setting of a single policy that would have no effect."""
        for policy, own in self.policy_settings.items():
            pooled = [name for name in own if name.startswith(POOL_PREFIX)]
            if pooled and policy not in self.self_play:
                raise InputError(
                    f"{pooled[0]} is set for policy '{policy}', which has no pool of past selves: "
                    f"add --self-play {policy}, or omit --set {policy}:{pooled[0]}"
                )
            built = [name for name in own if name.startswith("policy.") or name == "action_masks"]
            if built and policy in self.opponents:
                raise InputError(
                    f"{built[0]} is set for policy '{policy}', whose network is that of {self.opponents[policy]}: "
                    f"omit --set {policy}:{built[0]}"
                )

    def config_of(self, policy: str) -> TrainConfig:
        """The settings of one policy: ``config`` with those of ``policy_settings``."""
        own = {k: v for k, v in self.policy_settings.get(policy, {}).items() if not k.startswith(POOL_PREFIX)}
        common = [name for name in own if name in COMMON_SETTINGS]
        if common:
            raise InputError(
                f"policy '{policy}' cannot have its own {common[0]}, which all policies share: "
                f"set it for all with --{common[0].replace('_', '-')}"
            )
        values = config_to_dict(self.config)
        for name, value in own.items():
            group, _, rest = name.partition(".")
            if rest and isinstance(values.get(group), dict):
                values[group] = {**values[group], rest: value}
            else:
                values[name] = value
        return config_from_dict(type(self.config), values)

    def _pool_of(self, policy: str) -> OpponentPool:
        """The settings of a policy's pool."""
        own = self.policy_settings.get(policy, {})
        values = {k.removeprefix(POOL_PREFIX): v for k, v in own.items() if k.startswith(POOL_PREFIX)}
        return settings_from_dict(OpponentPool, {**asdict(self.pool), **values})


def request_to_dict(request: TrainingRequest) -> dict[str, Any]:
    """The content of ``config.json`` for a request: everything except its folder and how it was resumed."""
    plain = {f.name: getattr(request, f.name) for f in fields(request) if f.name not in ("config", *UNSTORED)}
    plain |= {"frozen": list(request.frozen), "self_play": list(request.self_play), "pool": asdict(request.pool)}
    if not request.self_play:
        del plain["pool"]
    if request.video:
        del plain["video"]
    # Without them, earlier versions read the file.
    for name in ("opponents", "self_play", "policy_settings", "start_from", "slim_checkpoints"):
        if not plain[name]:
            del plain[name]
    return {"format": FORMAT, **plain, "config": config_to_dict(request.config)}


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(as_float(value))
    except ValueError:
        return False


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


_CONFIG_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "env": (lambda value: isinstance(value, str) and value != "" and value.isprintable(), "the name of a world"),
    "algorithm": (lambda value: isinstance(value, str), "the name of an algorithm"),
    "config": (lambda value: isinstance(value, dict), "an object with settings"),
    "world_config": (lambda value: isinstance(value, dict), "an object with values by name"),
    "policies": (
        lambda value: isinstance(value, dict) and _is_texts(list(value.values())),
        "an object with the agents of each policy as text",
    ),
    "frozen": (_is_texts, "a list of names"),
    "opponents": (
        lambda value: isinstance(value, dict) and _is_texts(list(value.values())),
        "an object with the run of each opponent as text",
    ),
    "self_play": (_is_texts, "a list of names"),
    "pool": (lambda value: isinstance(value, dict), "an object with settings"),
    "policy_settings": (
        lambda value: isinstance(value, dict) and all(isinstance(settings, dict) for settings in value.values()),
        "an object with settings by policy",
    ),
    "stop_at": (lambda value: value is None or _is_number(value), "a finite number or null"),
    "checkpoint_every": (_is_number, "a finite number of seconds"),
    "slim_checkpoints": (lambda value: isinstance(value, bool), "true or false"),
    "video": (lambda value: isinstance(value, bool), "true or false"),
    "start_from": (lambda value: isinstance(value, str), "the folder of a run as text"),
    "keep": (lambda value: type(value) is int and value < 2**31, "a whole number below 2**31"),
}
"""For each part of ``config.json``: a check, and its description."""


def request_from_dict(
    values: Mapping[str, Any], run_dir: Path | None = None, resume: Resume = "no", file: Path | str = ""
) -> TrainingRequest:
    """The request from the output of :func:`request_to_dict`; InputError, which names the file, where it is not one.

    No code is run. The world may be in a Python file, which only :func:`resolve_world` imports.

    Args:
        values: The output.
        run_dir: The run's folder.
        resume: As in the request.
        file: The file with the values, for error messages; by default config.json in ``run_dir``.
    """
    file = str(file or ("config.json" if run_dir is None else Path(run_dir).expanduser() / "config.json"))
    names = {f.name for f in fields(TrainingRequest)} - set(UNSTORED)
    arguments = {name: value for name, value in values.items() if name != "format"}
    version = values.get("format", FORMAT)
    if type(version) is not int:
        raise InputError(f"'format' in {file} must be a whole number, not {short_repr(version)}")
    if version > FORMAT:
        raise InputError(
            f"{file} has format {short_repr(version)}, and this version of worldloom reads up to {FORMAT}: "
            "update worldloom to use the run"
        )
    missing = sorted({"env", "algorithm", "config"} - set(arguments))
    if missing or set(arguments) - names:
        what = f"has no '{missing[0]}'" if missing else f"has {short_repr(min(set(arguments) - names))}"
        raise InputError(
            f"{file} {what}, so it is not that of a training from the command line: load its checkpoints from Python"
        )
    for name, (is_valid, description) in _CONFIG_CHECKS.items():
        if name in arguments and not is_valid(arguments[name]):
            raise InputError(f"'{name}' in {file} must be {description}, not {short_repr(arguments[name])}")
    try:
        config = config_from_dict(algorithm(arguments["algorithm"])[1], arguments["config"])
        lists = {name: tuple(arguments.get(name, ())) for name in ("frozen", "self_play")}
        pool = settings_from_dict(OpponentPool, arguments.get("pool", {}))
        request = TrainingRequest(
            **{**arguments, "config": config, "pool": pool, **lists, "run_dir": run_dir, "resume": resume}
        )
        for policy in request.policy_settings:
            request.config_of(policy)
        return request
    except InputError as error:
        raise InputError(f"{file} cannot be used: {error}") from None


def find_world(request: TrainingRequest) -> Definition:
    """The world of a request; ChangedWorldError where it is not the expected one, since its file was edited."""
    definition = find(request.env)
    if request.expected_world is not None:
        require_same_world(
            request.expected_world,
            definition,
            "the request",
            since="the experiment was started",
            fix="undo the change, or start again with --resume",
        )
    return definition


def resolve_world(request: TrainingRequest, env: str = "", how: str = "--env {file}") -> TrainingRequest:
    """``request``, as read from a run's folder, with a world that may be imported.

    A folder is data, and a file that it names is a program. So the file is only imported where ``env`` names it, or
    where this user trained in the folder with that file before.

    Args:
        request: The request read from the folder.
        env: The world as the user names it: a file that registers the run's world, or its id; empty to use the run's
            registered world.
        how: How the user names the file, for the error message that asks for it.
    """
    file, id_ = file_and_id(request.env)
    if not env:
        if file and request.run_dir is not None and is_known_world(request.run_dir, file):
            if not Path(file).is_file():
                raise InputError(
                    f"the world of this run was in {file}, which is no longer there: "
                    f"say {how.replace('{file}', 'FILE')} with its new path"
                )
            return replace(request, env=reference(request.env, find(request.env)))
        if file:
            raise InputError(
                f"the world of this run is in {file}, which is a program: "
                f"say {how.replace('{file}', shlex.quote(file))} to run it"
            )
        return request
    named, named_id = file_and_id(env)
    if named_id and id_ and named_id != id_:
        raise InputError(
            f"{env} is another world than that of the run, which is {id_}: omit it, or name what registers {id_}"
        )
    world = f"{named}:{id_}" if named and id_ else env
    return replace(request, env=reference(world, find(world)))
