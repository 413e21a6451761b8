"""WarpDrive 2.7.1 on Tag: world steps per second with random actions, and of its A2C end to end, on one NVIDIA GPU.

pip install rl-warp-drive==2.7.1 tyro     # with nvcc on the path, since it requires PyCUDA
python benchmarks/peers/warpdrive_tag.py --out warpdrive.json
python benchmarks/peers/warpdrive_tag.py --cases grid-5 --worlds 100 --steps 200 --iterations 2

Steps: for each step WarpDrive's sampler draws uniform actions of all agents, then come ``step_all_envs`` and
``reset_only_done_envs``, with one synchronization at the end. Training: ``TrainerA2C`` with the settings of its
run_configs and rollouts of 100 steps in 2,000 worlds; the rate is its own "Mean steps per sec (total)" after a warm-up.
Grid: 101 x 101 cells, one runner; five agents observe all others, a thousand the nearest. Continuous: a square of side
20, one tagger for every ten agents, at least one. The cases are those of benchmarks/tag.py and
benchmarks/tag_training.py, which show these figures beside their own with ``--peers warpdrive.json``.
"""

from __future__ import annotations

import importlib.metadata
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro
from peer import describe, require, write_rates

INSTALL = "pip install rl-warp-drive==2.7.1 tyro"
EPISODE_LENGTH = 100
FIELD = {
    "grid_length": 20.0,
    "max_acceleration": 0.1,
    "min_acceleration": -0.1,
    "max_turn": 2.356,
    "min_turn": -2.356,
    "num_acceleration_levels": 20,
    "num_turn_levels": 20,
    "tagging_distance": 0.02,
}
"""The square and the players of run_configs/tag_continuous.yaml."""


@dataclass(frozen=True)
class Case:
    """One variant of Tag.

    Attributes:
        agents: All players of a world.
        full: Whether a player observes all others; otherwise the nearest one on the grid, the ten nearest on the plane.
        parts: What is measured.
    """

    world: Literal["grid", "continuous"]
    agents: int
    full: bool
    parts: tuple[str, ...] = ("steps", "training")


CASES = {
    "grid-5": Case("grid", 5, full=True),
    "grid-1000": Case("grid", 1000, full=False),
    "continuous-5": Case("continuous", 5, full=True, parts=("steps",)),
    "continuous-5-nearest": Case("continuous", 5, full=False, parts=("training",)),
    "continuous-45-nearest": Case("continuous", 45, full=False, parts=("training",)),
}


@dataclass
class Settings:
    """Measure WarpDrive on Tag."""

    cases: tuple[
        Literal["grid-5", "grid-1000", "continuous-5", "continuous-5-nearest", "continuous-45-nearest"], ...
    ] = tuple(CASES)
    """What to measure."""
    worlds: int = 2000
    """Worlds of the batch."""
    backend: Literal["numba", "pycuda"] = "numba"
    """WarpDrive's backend: kernels compiled by Numba, or CUDA C."""
    steps: int = 2000
    """Steps with random actions in each of three rounds, after a warm-up of the same length."""
    num_steps: int = 100
    """Steps of a rollout of the training."""
    iterations: int = 10
    """Iterations of the training in each of three rounds, after a warm-up of three."""
    out: Path | None = None
    """A file for the figures as JSON."""


def make_env(case: Case, settings: Settings) -> Any:
    """The wrapped worlds."""
    if case.world == "grid":
        grid = require("example_envs.tag_gridworld.tag_gridworld", INSTALL).CUDATagGridWorld
        env = grid(
            num_taggers=case.agents - 1,
            grid_length=100,
            episode_length=EPISODE_LENGTH,
            seed=20,
            use_full_observation=case.full,
        )
    else:
        taggers = max(1, case.agents // 10)
        env = require("example_envs.tag_continuous.tag_continuous", INSTALL).TagContinuous(
            num_taggers=taggers,
            num_runners=case.agents - taggers,
            episode_length=EPISODE_LENGTH,
            seed=274880,
            use_full_observation=case.full,
            num_other_agents_observed=min(10, case.agents - 1),
            **FIELD,
        )
    wrapper = require("warp_drive.env_wrapper", INSTALL).EnvWrapper
    return wrapper(env, num_envs=settings.worlds, env_backend=settings.backend)


def policy_config(hidden: list[int], max_grad_norm: float) -> dict[str, Any]:
    """A policy of its run_configs."""
    return {
        "to_train": True,
        "algorithm": "A2C",
        "vf_loss_coeff": 1,
        "entropy_coeff": 0.05,
        "clip_grad_norm": True,
        "max_grad_norm": max_grad_norm,
        "normalize_advantage": False,
        "normalize_return": False,
        "gamma": 0.98,
        "lr": 0.001,
        "model": {"type": "fully_connected", "fc_dims": hidden, "model_ckpt_filepath": ""},
    }


def make_trainer(case: Case, settings: Settings, folder: str) -> Any:
    """Its trainer: one policy for all on the grid, one for each kind on the plane."""
    wrapper = make_env(case, settings)
    taggers, runners = list(wrapper.env.taggers), list(wrapper.env.runners)
    if case.world == "grid":
        agents, policies = {"shared": taggers + runners}, {"shared": policy_config([32, 32], 3.0)}
    else:
        agents = {"tagger": taggers, "runner": runners}
        policies = {name: policy_config([256, 256], 0.5) for name in agents}
    batch = settings.worlds * settings.num_steps
    config = {
        "name": f"tag_{case.world}",
        "env": {},
        "trainer": {
            "num_envs": settings.worlds,
            "num_episodes": -(-batch // EPISODE_LENGTH),  # one iteration; the number is set anew for every round
            "train_batch_size": batch,
            "env_backend": settings.backend,
            "seed": 0,
        },
        "policy": policies,
        "saving": {
            "metrics_log_freq": 10**9,
            "model_params_save_freq": 10**9,
            "basedir": folder,
            "name": "tag",
            "tag": "benchmark",
        },
    }
    trainer_class = require("warp_drive.training.trainers.trainer_a2c", INSTALL).TrainerA2C
    return trainer_class(env_wrapper=wrapper, config=config, policy_tag_to_agent_id_map=agents, verbose=False)


def random_stepper(trainer: Any, torch: Any) -> Any:
    """A function that takes steps with uniform actions of WarpDrive's sampler, and then synchronizes."""
    envs, sampler = trainer.cuda_envs, trainer.cuda_sample_controller
    data, name = envs.cuda_data_manager, require("warp_drive.utils.constants", INSTALL).Constants.ACTIONS
    space = envs.env.action_space[0]
    choices = [int(n) for n in space.nvec] if hasattr(space, "nvec") else [int(space.n)]
    shape = envs.n_envs, envs.n_agents
    uniform = [torch.full((*shape, n), 1.0 / n, dtype=torch.float32, device="cuda") for n in choices]

    def run(steps: int) -> None:
        for _ in range(steps):
            if len(uniform) == 1:
                sampler.sample(data, uniform[0], name)
            else:
                for number, probabilities in enumerate(uniform):
                    sampler.sample(data, probabilities, f"{name}_{number}")
                    drawn = data.data_on_device_via_torch(f"{name}_{number}")
                    data.data_on_device_via_torch(name)[:, :, number] = drawn[:, :, 0]
            envs.step_all_envs()
            envs.reset_only_done_envs()
        torch.cuda.synchronize()

    return run


def step_rate(trainer: Any, settings: Settings, torch: Any) -> float:
    """World steps per second with random actions: the median of three rounds."""
    run, found = random_stepper(trainer, torch), []
    trainer.cuda_envs.reset_all_envs()
    run(settings.steps)
    for _ in range(3):
        start = time.perf_counter()
        run(settings.steps)
        found.append(settings.worlds * settings.steps / (time.perf_counter() - start))
    return sorted(found)[1]


def training_rate(trainer: Any, settings: Settings) -> float:
    """World steps per second of whole iterations, by WarpDrive's own statistics: the median of three rounds."""
    found = []
    for iterations in (3, *[settings.iterations] * 3):
        trainer.perf_stats = type(trainer.perf_stats)()
        trainer.num_iters = iterations
        trainer.train()
        found.append(trainer.perf_stats.get_perf_stats()["Mean steps per sec (total)"])
    return sorted(found[1:])[1]


def main(settings: Settings) -> None:
    torch = require("torch", "pip install torch")
    require("warp_drive", INSTALL)
    if not torch.cuda.is_available():
        raise SystemExit("WarpDrive needs an NVIDIA GPU, and PyTorch finds none: run this on a machine that has one.")
    version = importlib.metadata.version("rl-warp-drive")
    machine = describe(torch.cuda.get_device_name(), warpdrive=version, backend=settings.backend)
    print(machine)
    rates: list[dict[str, Any]] = []
    for name in settings.cases:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            trainer = make_trainer(case, settings, folder)
            for part in case.parts:
                rate = step_rate(trainer, settings, torch) if part == "steps" else training_rate(trainer, settings)
                rates.append({"part": part, "world": case.world, "agents": case.agents, "steps_per_second": rate})
                print(f"{name}, {part}, {settings.worlds:,} worlds: {rate:.3g} world steps/s", flush=True)
                write_rates(settings.out, f"WarpDrive {version}", machine | {"worlds": settings.worlds}, rates)
            trainer.graceful_close()
        del trainer
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main(tyro.cli(Settings, description=__doc__))
