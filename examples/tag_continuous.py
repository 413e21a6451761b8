"""Continuous Tag of custom size: taggers that run straight at the nearest runner, and settings per world."""

import numpy as np

import worldloom as wl
from worldloom.envs.tag.continuous import continuous_tag

TURNS = np.concatenate([[0.0], np.linspace(-np.pi / 2.0, np.pi / 2.0, 10)])  # rad, of each choice

game = continuous_tag("SmallTag-v0", taggers=2, runners=5, neighbours=3, episode_length=60, tagging_distance=0.05)
skills = np.array([1.5, 0.25], np.float32)  # of the taggers, one per world
sim = wl.Simulation(
    game, num_worlds=2, device="python", seed=1, autoreset="disabled", config={"skill_level_tagger": skills}
)


def chase(sim: wl.Simulation) -> np.ndarray:
    """Full speed towards the nearest runner in the game; choices of shape (worlds, taggers, 2)."""
    tagger, runner = sim["Tagger"], sim["Runner"]
    way = runner.position.numpy()[:, None] - tagger.position.numpy()[:, :, None]  # (worlds, taggers, runners, 2)
    far = np.where(runner.in_game.numpy()[:, None], np.hypot(way[..., 0], way[..., 1]), np.inf)
    way = np.take_along_axis(way, far.argmin(axis=2)[..., None, None], axis=2)[:, :, 0]
    miss = np.arctan2(way[..., 1], way[..., 0])[..., None] - tagger.direction.numpy()[..., None] - TURNS
    turn = np.abs((miss + np.pi) % (2.0 * np.pi) - np.pi).argmin(axis=2)
    return np.stack([np.full(turn.shape, 10), turn], axis=2).astype(np.int32)


rng = np.random.default_rng(0)
rewards = np.zeros(2)
for _ in range(60):
    sim.step({"Tagger.steer": chase(sim), "Runner.steer": rng.integers(0, 11, (2, 5, 2)).astype(np.int32)})
    rewards += sim["Tagger"].reward.numpy().sum(axis=1)
    if sim.terminated.numpy()[0]:
        break
left = sim.world.runners_left.numpy()
print(
    f"fast taggers caught all {5 - left[0]} runners in {sim.world.step.numpy()[0]} steps, "
    f"slow ones {5 - left[1]} in that time"
)
print(f"each tag was paid once: {rewards[0] == 5.0}")
print(f"the picture of a world: {wl.definition('SmallTag-v0').render(sim, 0).shape}")
