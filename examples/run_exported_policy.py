"""An ONNX policy in Gymnasium's own environment, without worldloom; the argument is the file."""

import sys

import gymnasium
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
observed = session.get_inputs()[0].name
env = gymnasium.make("CartPole-v1")
returns = []
for seed in range(10):
    observation, _ = env.reset(seed=seed)
    score, over = 0.0, False
    while not over:
        (action,) = session.run(["action"], {observed: observation[np.newaxis]})
        observation, reward, terminated, truncated, _ = env.step(action[0])
        score, over = score + reward, terminated or truncated
    returns.append(score)
print(f"mean return {np.mean(returns):.1f} over {len(returns)} episodes")
