"""A policy that comes with worldloom plays 100 episodes."""

from worldloom.learn import evaluate, open_run, pretrained

run = open_run(pretrained("CartPole-v1"))
with run.worlds(100, "cpu", seed=0) as worlds:
    result = evaluate(worlds, run.actors(worlds), episodes=100)
print(f"{run.definition.id} after {run.checkpoint.steps:,} steps of {run.request.algorithm}: {result.mean_return:.1f}")
