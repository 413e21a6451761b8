"""Co-play: taggers are trained against frozen runners, then both together; how many runners are caught each time."""

import torch

import worldloom as wl
from worldloom.learn import PPO, Evaluation, PolicyGroup, PPOConfig, make_actors

WORLD = "TagContinuous-v0"  # one tagger and ten runners
RULES = {
    "tagging_distance": 0.05,
    "skill_level_tagger": 2.0,
    "max_acceleration": 0.1,
    "min_acceleration": -0.1,
    "max_turn": 0.8,
    "min_turn": -0.8,
}
config = PPOConfig(
    num_steps=50,
    epochs=2,
    minibatches=5,
    gamma=0.9,
    learning_rate=3e-3,
    normalize_rewards=True,
    total_steps=32 * 50 * 10,
)


def trained(learning: tuple[str, ...]) -> PPO:
    """A trainer in which the kinds of ``learning`` are trained; the others keep their initial, nearly random policy."""
    worlds = wl.Simulation(WORLD, 32, "cpu", seed=0, config=RULES)
    groups = {kind: PolicyGroup(kind, train=kind in learning) for kind in ("Tagger", "Runner")}
    return PPO(worlds, config, policy_groups=groups)


def caught(learners: dict) -> float:
    """The fraction of runners that are caught at the end of an episode, over 64 worlds."""
    with wl.Simulation(WORLD, 64, "cpu", seed=1, config=RULES, autoreset="disabled") as worlds, torch.no_grad():
        evaluation = Evaluation(worlds, make_actors(learners, worlds, stochastic=True))
        for _ in range(worlds.definition.max_steps):
            evaluation.step()
        return 1.0 - float(worlds["Runner"].in_game.numpy().mean())


chase = trained(("Tagger",))
random = caught(chase.learners)
chase.learn()
both = trained(("Tagger", "Runner"))
both.learn()
mixed = {"Tagger": chase.learners["Tagger"], "Runner": both.learners["Runner"]}  # policies of two trainers
print(f"random players: {random:.0%} caught")
alone = caught(chase.learners)
print(f"a trained tagger: {alone:.0%} caught, {'more' if alone > random else 'no more'} than at first")
print(f"both trained: {caught(both.learners):.0%}; that tagger after these runners: {caught(mixed):.0%}")
