"""PPO, A2C, V-trace and DQN, their learners, and the registry of algorithms by name. Imports everything below."""
