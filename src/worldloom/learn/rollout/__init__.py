"""Acting in worlds and keeping what happens: the rollout actor, rollout storage, minibatches, episode statistics, replay buffer and its priorities. Imports up to networks."""
