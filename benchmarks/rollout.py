"""World steps per second of ``wl.Rollout`` on CartPole beside those of the trainer's rollouts, and of whole trainings.

python benchmarks/rollout.py --device cuda:0 --worlds 2048 65536 --out rollout.json
python benchmarks/rollout.py --device cpu --worlds 64 --seconds 4 --iterations 10

Every policy is an actor and a critic of 64 and 64 units that samples actions, with their log-probabilities and values.

* trainer: rollouts of ``worldloom.learn.PPO``, with its fused network and sampler.
* parts: ``wl.Rollout`` of the same network and sampler, ``Policy`` and ``Sampler`` of ``worldloom.learn``.
* fused: ``wl.Rollout`` of the agent in ``examples/ppo_rollout.py``: layers of PyTorch with ``FusedLayers``, and
  draws by operations of PyTorch.
* layers: the same without ``FusedLayers``.
* steps: the agent without ``FusedLayers`` in a loop over ``env.step`` of ``wl.make(..., env_type="torch")``.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import tyro
import warp as wp
from rich.console import Console
from run import describe_machine, show
from torch import Tensor, nn

import worldloom as wl
from worldloom.core.base.device import resolve
from worldloom.core.measure.timing import Run, median_rates
from worldloom.learn import PPO, ActionSpec, ObservationSpec, Policy, PolicyConfig, PolicySpec, PPOConfig, Sampler
from worldloom.learn.device.torch_settings import use_torch_settings

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from ppo_rollout import Agent, train

WORLD = "CartPole-v1"
UNITS = 64
"""Units of each hidden layer."""


@dataclass
class Settings:
    """Measure rollouts and trainings of CartPole with policies of two kinds."""

    device: str = "cpu"
    """Device: cpu or cuda:N."""
    worlds: tuple[int, ...] = (2048, 65536)
    """Numbers of worlds, one measurement each."""
    steps: int = 32
    """Steps of a rollout."""
    seconds: float = 8.0
    """Approximate time of the rollouts of one number of worlds."""
    iterations: int = 60
    """Iterations of each training; 0 for none."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Rate:
    """World steps per second of a rollout or of a training.

    Attributes:
        what: ``rollout`` or ``training``.
        policy: As described above.
        of_trainer: The rate over that of the trainer, in the same run.
    """

    what: str
    worlds: int
    policy: str
    steps_per_second: float
    of_trainer: float


class PartsAgent(nn.Module):
    """Network and sampler of ``worldloom.learn`` with the methods of the agent of ``examples/ppo_rollout.py``."""

    def __init__(self, worlds: int, device: str) -> None:
        super().__init__()
        action = ActionSpec("categorical", sizes=(2,))
        self.policy = Policy(PolicySpec({"sight": ObservationSpec((4,))}, action), PolicyConfig(hidden=(UNITS, UNITS)))
        self.to(device)
        self.sampler = Sampler(action, worlds, torch.device(device), seed=0)
        self.actions = torch.zeros((worlds, 1), dtype=torch.int32, device=device)
        self.log_probs, self.entropies = (torch.zeros(worlds, device=device) for _ in range(2))

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """[..., 4] -> log-probabilities [..., 2] and values [...]."""
        logits, values = self._outputs(observations.flatten(0, -2))
        shape = observations.shape[:-1]
        return logits.log_softmax(-1).unflatten(0, shape), values.unflatten(0, shape)

    def act(self, observations: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        logits, values = self._outputs(observations)
        self.sampler.sample(logits, action=self.actions, log_prob=self.log_probs, entropy=self.entropies)
        self.sampler.advance()
        return self.actions.squeeze(1).long(), {"log_prob": self.log_probs, "value": values}

    def _outputs(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """[N, 4] -> logits [N, 2] and values [N]."""
        logits, values, _ = self.policy({"sight": observations}, self.policy.initial_state(0, observations.device))
        return logits, values


class LayersAgent(Agent):
    """The agent of ``examples/ppo_rollout.py``, computed layer by layer."""

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        return self.actor(observations).log_softmax(-1), self.critic(observations).squeeze(-1)


def repeat(call: Callable[[], Any], device: str) -> Run:
    """A function that repeats ``call`` and returns after the device has finished."""

    def run(calls: int) -> None:
        for _ in range(calls):
            call()
        wp.synchronize_device(device)

    return run


def make_trainer(settings: Settings, worlds: int) -> PPO:
    config = PPOConfig(
        num_envs=worlds,
        num_steps=settings.steps,
        epochs=4,
        minibatches=4,
        learning_rate=2.5e-3,
        device=settings.device,
        policy=PolicyConfig(hidden=(UNITS, UNITS)),
    )
    return PPO(WORLD, config)


def make_agents(settings: Settings, worlds: int) -> dict[str, Any]:
    return {
        "parts": PartsAgent(worlds, settings.device),
        "fused": Agent().to(settings.device),
        "layers": LayersAgent().to(settings.device),
    }


def loop_over_steps(settings: Settings, worlds: int, agent: Agent) -> Callable[[], None]:
    env = wl.make(WORLD, worlds, device=settings.device, env_type="torch", seed=0)
    observations, _ = env.reset()

    @torch.no_grad()
    def roll() -> None:
        nonlocal observations
        for _ in range(settings.steps):
            actions, _ = agent.act(observations)
            observations, *_ = env.step(actions)

    return roll


def measure_rollouts(settings: Settings, worlds: int) -> list[Rate]:
    agents = make_agents(settings, worlds)
    contenders: dict[str, Callable[[], Any]] = {"trainer": make_trainer(settings, worlds)._roll}
    for name, agent in agents.items():
        env = wl.make(WORLD, worlds, device=settings.device, env_type="torch", seed=0)
        contenders[name] = wl.Rollout(env, agent.act, settings.steps)
    contenders["steps"] = loop_over_steps(settings, worlds, agents["layers"])
    for call in contenders.values():  # captures the graphs
        for _ in range(3):
            call()
    runs = {name: repeat(call, settings.device) for name, call in contenders.items()}
    rates = median_rates(runs, settings.seconds)
    return [
        Rate("rollout", worlds, name, rate * worlds * settings.steps, rate / rates["trainer"])
        for name, rate in rates.items()
    ]


def measure_trainings(settings: Settings, worlds: int) -> list[Rate]:
    trainer = make_trainer(settings, worlds)
    iteration = worlds * settings.steps
    trainer.learn(3 * iteration)
    wp.synchronize_device(settings.device)
    begin = time.perf_counter()
    trainer.learn((3 + settings.iterations) * iteration)
    wp.synchronize_device(settings.device)
    rates = {"trainer": settings.iterations * iteration / (time.perf_counter() - begin)}
    for iterations in (3, settings.iterations):  # the first is a warm-up
        for name, agent in make_agents(settings, worlds).items():
            _, rates[name] = train(worlds, settings.steps, iterations, settings.device, agent)
    return [Rate("training", worlds, name, rate, rate / rates["trainer"]) for name, rate in rates.items()]


def main(settings: Settings) -> None:
    rates: list[Rate] = []
    for worlds in settings.worlds:
        with use_torch_settings(torch.device(settings.device), worlds * UNITS):  # those of the trainer
            rates += measure_rollouts(settings, worlds)
            if settings.iterations:
                rates += measure_trainings(settings, worlds)
    machine = {**describe_machine(resolve(settings.device)[0]), "torch": torch.__version__}
    show(Console(), f"CartPole on {machine['hardware']}, PyTorch {torch.__version__}", [asdict(rate) for rate in rates])
    if settings.out is not None:
        settings.out.write_text(
            json.dumps({"what": "rollout", "machine": machine, "rows": [asdict(rate) for rate in rates]}, indent=1)
        )


if __name__ == "__main__":
    main(tyro.cli(Settings))
