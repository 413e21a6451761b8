"""Whole games of a trained policy in ale-py's own emulator and preprocessing, not in worldloom's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from worldloom.atari.games.game_table import find_game
from worldloom.core.base.errors import InputError
from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.play.actors import PolicyActor

STREAM = 7
"""Stream of the samples of tests, apart from those of the training."""


@dataclass(frozen=True)
class AleTest:
    """How a policy is tested.

    Attributes:
        game: An id such as ``Pong-v5``.
        games: Games that are played, one in each of as many emulators.
        max_steps: Steps after which a game is cut off; its score so far counts.
        threads: Threads of ale-py; 0 for all cores.
    """

    game: str
    games: int
    max_steps: int
    threads: int = 0

    @torch.no_grad()
    def play(self, learner: Any, device: torch.device, seed: int) -> np.ndarray:
        """Scores of whole games with sampled actions, shape (games,).

        Games start with random no-ops and the fire button. Rewards are not clipped, and games have all their lives.

        Args:
            learner: The policy of a trainer, of ``trainer.learners``.
            device: The policy's device.
            seed: Seed of the no-ops and of the actions.
        """
        vector_env, name = _vector_env(), find_game(self.game).name
        emulators = vector_env.AtariVectorEnv(name, self.games, num_threads=self.threads, reward_clipping=False)
        (component,) = learner.agent_group.observations()
        actor = PolicyActor(
            learner.policy, Sampler(learner.agent_group.spec.action, self.games, device, seed, stream=STREAM)
        )
        state = actor.initial_state(self.games, device)
        scores, playing = np.zeros(self.games), np.ones(self.games, bool)
        try:
            screens, _ = emulators.reset(seed=seed)
            for _ in range(self.max_steps):
                observations = {component: torch.from_numpy(np.ascontiguousarray(screens)).to(device)}
                actions, state = actor.act(observations, state, None)
                screens, points, terminated, truncated, _ = emulators.step(actions.flatten().cpu().numpy())
                scores += points * playing
                playing &= ~(terminated | truncated)
                if not playing.any():
                    break
        finally:
            emulators.close()
        return scores


def _vector_env() -> Any:
    """The module of ale-py's vector environments; InputError where ale-py is not installed."""
    try:
        from ale_py import ALEInterface, LoggerMode, vector_env
    except ImportError:
        raise InputError("tests play in ale-py: install it with `pip install worldloom[atari]`") from None
    ALEInterface.setLoggerMode(LoggerMode.Error)
    return vector_env
