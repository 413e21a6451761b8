"""Population-based training: two of four members start with a learning rate that is far too low.

After each generation the worst member continues with the weights of the best one, and with a changed learning rate. On
the command line: worldloom pbt CartPole-v1 --search learning_rate=1e-6:1e-2:log --population 8
"""

import tempfile
from pathlib import Path

from worldloom.learn import PopulationPlan, PPOConfig, TrainingRequest, train_population

config = PPOConfig(num_envs=32, num_steps=32, total_steps=5 * 4096, seed=3, device="cpu")
plan = PopulationPlan(("learning_rate=1e-6:1e-2:log",), population=4, generation_steps=4096)

with tempfile.TemporaryDirectory() as folder:
    request = TrainingRequest("CartPole-v1", "ppo", config, run_dir=Path(folder) / "population")
    trained = train_population(request, plan)
    for number in range(trained.generations):
        results = trained.generation(number)
        rates = ", ".join(f"{result.settings['learning_rate']:.0e}" for result in results)
        print(f"generation {number + 1}: learning rates {rates}; best return {max(r.score for r in results):.0f}")
    copies = sum(result.source != result.member for result in trained.results.values())
    print(f"{copies} times a member went on with the weights of another")
