"""Settings of PPO that all robots share where thousands of them train on a GPU."""

from __future__ import annotations

from typing import Any

ROBOT_PPO: dict[str, Any] = {
    "schedule": "kl",
    "target_kl": 0.008,
    "max_gradient_norm": 1.0,
    "reward_scale": 0.01,
    "value_weight": 1.0,
    "normalize_values": True,
    "policy.activation": "elu",
    "policy.shared": True,
    "policy.normalize_observations": True,
}
"""Settings that differ from PPO's defaults; ``policy.*`` for the network."""
