"""The faces to the world outside: Gymnasium, pools, dm_env, PettingZoo, JAX, and adapters for other trainers."""
