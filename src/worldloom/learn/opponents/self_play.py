"""Self-play: every pool of a training, the worlds in which its past selves act, and the ratings of all policies.

The last worlds of a process are divided into blocks, one for each past self that acts. In such a block a past self
controls agents of its policy, and their steps have weight 0 in the update. All other worlds are block 0, in which the
current policies meet.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.opponents.elo import INITIAL_RATING, rating_change
from worldloom.learn.opponents.outcomes import Outcomes
from worldloom.learn.opponents.pool_players import PoolPlayers, SelfPlayLearner
from worldloom.learn.opponents.snapshots import RATING_RANGE
from worldloom.learn.training.restore_checks import COUNTER_RANGE, load_checked

ELO_METRICS = ("elo/rating", "elo/pool", "elo/score")
"""Metrics of each policy: its rating, the mean rating of its past selves, and the mean score against them."""


class SelfPlay:
    """The pools of a trainer.

    Args:
        simulation: The worlds.
        learners: Every policy, by name; at least one has a pool.
        seed: The random seed.
        ranks: The processes that train together.

    Attributes:
        ratings: Elo rating of every current policy, float64 [policies].
        pools: The players of each pool, by policy.
    """

    def __init__(
        self, simulation: Simulation, learners: Mapping[str, SelfPlayLearner], seed: int, ranks: Ranks
    ) -> None:
        self.learners, self.ranks, self._names = dict(learners), ranks, list(learners)
        device = next(iter(learners.values())).agent_group.device
        self.ratings = torch.full((len(learners),), INITIAL_RATING, dtype=torch.float64, device=device)
        self.pools: dict[str, PoolPlayers] = {}
        blocks = self._make_pools(simulation.num_worlds, seed)
        self._rivals = {name: self._rival_policies(players) for name, players in self.pools.items()}
        self.outcomes = self._make_outcomes(simulation, blocks)

    def _make_pools(self, worlds: int, seed: int) -> Tensor:
        """Make the players of all pools; returns the block of each world, int64 [worlds]."""
        pools = {name: learner.pool for name, learner in self.learners.items() if learner.pool is not None}
        counts = {name: _worlds(name, pool, worlds) for name, pool in pools.items()}
        first_world, first_block = worlds - sum(counts.values()), 1
        if first_world < 0:
            raise InputError(
                f"the shares of the pools of past selves are more than all {worlds} worlds: make them at most 1 in sum"
            )
        blocks = torch.zeros(worlds, dtype=torch.int64, device=self.ratings.device)
        for number, (name, pool) in enumerate(pools.items()):
            parts = torch.arange(counts[name], device=blocks.device) * pool.simultaneous // counts[name]
            blocks[first_world : first_world + counts[name]] = first_block + parts
            own = range(first_block, first_block + pool.simultaneous)
            stream = len(self.learners) + own.start  # streams below are those of the policies
            self.pools[name] = PoolPlayers(self.learners[name], pool, number, seed, stream, blocks, own)
            if counts[name] == worlds and self.pools[name].agents == self.learners[name].agent_group.agents:
                raise InputError(
                    f"past selves of policy '{name}' act in its place in all {worlds} worlds, so that it would never "
                    "be trained: make the share of its pool smaller than 1, or name some of its agents, as in "
                    "OpponentPool(agents='Player[1]') or --pool.agents 'Player[1]'"
                )
            first_world, first_block = first_world + counts[name], own.stop
        return blocks

    def before_rollout(self, iteration: int) -> None:
        """Take snapshots and draw past selves where they are due, without a device synchronization."""
        self.outcomes.update_presence()
        for name, players in self.pools.items():
            changed = torch.full_like(players.drawn, iteration % players.config.swap_every == 0, dtype=torch.bool)
            snapshot = iteration % players.config.every == 0
            if snapshot:
                changed |= players.take_snapshot(iteration, self.ratings[self._names.index(name)])
            if snapshot or iteration % players.config.swap_every == 0:
                players.draw(iteration, self.ratings.index_select(0, self._rivals[name]).mean(), changed)
                self.outcomes.invalidate(players.blocks, changed)

    def record_step(self) -> None:
        """Record the outcomes of a step of the worlds."""
        self.outcomes.record()

    def rate(self) -> None:
        """Update all ratings from the episodes that ended, and write them into the learners' summaries."""
        sums = self.ranks.sum_(self.outcomes.sums)
        scores, games = sums[:, 0], sums[:, 1]
        changes = torch.zeros_like(self.ratings)
        if len(self.ratings) == 2:
            first = rating_change(self.ratings[0], self.ratings[1], scores[0], games[0])
            changes += torch.stack([first, -first])
        for name, players in self.pools.items():
            own, rivals = slice(players.blocks.start, players.blocks.stop), self._rivals[name]
            rival = self.ratings.index_select(0, rivals).mean()
            change = rating_change(players.drawn_ratings(), rival, scores[own], games[own])
            players.add_to_ratings(change)
            changes.index_add_(0, rivals, (-change.sum()).expand(len(rivals)))
        self.ratings += changes
        self._write_metrics(scores, games)
        self.outcomes.sums.zero_()

    def _write_metrics(self, scores: Tensor, games: Tensor) -> None:
        """Write ELO_METRICS into the learners' summaries, from the scores and games of all blocks."""
        for index, (name, learner) in enumerate(self.learners.items()):
            pool, score = torch.full((2,), torch.nan, dtype=torch.float64, device=self.ratings.device)
            if name in self.pools:
                own = slice(self.pools[name].blocks.start, self.pools[name].blocks.stop)
                pool, score = self.pools[name].snapshots.mean_rating(), 1.0 - scores[own].sum() / games[own].sum()
            learner.summary[-len(ELO_METRICS) :].copy_(torch.stack([self.ratings[index], pool, score]))

    def notice(self, steps: int) -> str:
        """Warnings about the pools, one per line; ``steps`` is the number of steps of an iteration."""
        return "\n".join(filter(None, (self._absence_notice(), self._length_notice(steps))))

    def _absence_notice(self) -> str:
        """A warning where past selves act in all worlds."""
        if bool((self.outcomes.blocks == 0).any()):
            return ""
        return (
            "past selves act in every world, so that no episode is played by current policies only: "
            "make the shares of the pools less than 1 in sum to train against the current self too"
        )

    def _length_notice(self, steps: int) -> str:
        """A warning where episodes may be too long to be rated."""
        limit = int(self.outcomes.simulation.world["max_steps"].numpy().max())  # 0 for none
        for name, players in self.pools.items():
            held = players.config.swap_every * steps
            if held < limit:
                return (
                    f"past selves of policy '{name}' act for {held:,} steps, and episodes may last {limit:,}: "
                    "longer ones are not rated; raise --pool.swap-every to rate them"
                )
        return ""

    # -- sides -------------------------------------------------------------------------------------------------------

    def _rival_policies(self, players: PoolPlayers) -> Tensor:
        """Indices of the policies that control the other agents where past selves of a pool act, int64."""
        shared = players.agents < players.learner.agent_group.agents  # the current policy controls its other agents
        names = [name for name in self._names if shared or name != players.learner.name]
        if not names:
            raise InputError(
                f"policy '{players.learner.name}' controls every agent, so its past selves would have no rivals: "
                "name the agents that they control, as in OpponentPool(agents='Player[1]') or --pool.agents 'Player[1]'"
            )
        return torch.tensor([self._names.index(name) for name in names], device=self.ratings.device)

    def _make_outcomes(self, simulation: Simulation, blocks: Tensor) -> Outcomes:
        groups = {name: learner.agent_group for name, learner in self.learners.items()}
        first = {
            name: torch.zeros((len(blocks), group.agents), dtype=torch.float64, device=blocks.device)
            for name, group in groups.items()
        }
        first[self._names[0]][blocks == 0] = 1.0
        for name, players in self.pools.items():
            for past_self in players.past_selves:
                first[name].view(-1)[past_self.rows] = 1.0
        total = sum(group.agents for group in groups.values())
        ours = torch.stack([sides.sum(1) for sides in first.values()]).sum(0)[:, None]
        coefficients = {
            name: side / ours.clamp_min(1.0) - (1.0 - side) / (total - ours).clamp_min(1.0)
            for name, side in first.items()
        }
        margins = [self._current_margin(), *(p.config.margin for p in self.pools.values() for _ in p.blocks)]
        return Outcomes(
            simulation, groups, coefficients, blocks, torch.tensor(margins, dtype=torch.float64, device=blocks.device)
        )

    def _current_margin(self) -> float:
        """The margin of the first policy in games of the current policies, from the pools' margins."""
        margins = [
            players.config.margin * (1 if name == self._names[0] else -1) for name, players in self.pools.items()
        ]
        return margins[0]

    # -- saved state -------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        """The state that the next iteration depends on, by name."""
        state = {"ratings": self.ratings, **self.outcomes.tensors()}
        for name, players in self.pools.items():
            state |= {f"pools/{name}/{key}": value for key, value in players.tensors().items()}
        return state

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore what :meth:`tensors` returned. Missing rows start at 0; InputError for anything else missing."""
        if "rows/difference" in tensors:  # float32 in earlier checkpoints
            tensors = {**tensors, "rows/difference": tensors["rows/difference"].double()}
        own, ranges = self.tensors(), {"ratings": RATING_RANGE, "sums": COUNTER_RANGE}
        for name, players in self.pools.items():
            ranges |= {f"pools/{name}/{key}": value for key, value in players.ranges().items()}
        load_checked("self-play", own, tensors, ranges, optional=("rows/", *(f"pools/{n}/rows/" for n in self.pools)))
        for key, value in own.items():
            if key not in tensors:
                value.zero_()
        for players in self.pools.values():
            players.load_drawn()


def _worlds(name: str, pool: OpponentPool, worlds: int) -> int:
    """Worlds of this process in which past selves of a pool act."""
    count = round(pool.share * worlds)
    if count < pool.simultaneous:
        raise InputError(
            f"a share of {pool.share:g} of {worlds} worlds is too little for {pool.simultaneous} past selves "
            f"of policy '{name}': raise share or num_envs"
        )
    return count
