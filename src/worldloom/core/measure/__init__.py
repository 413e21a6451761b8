"""Time per kernel and per system, tuning and explanations of one simulation. It imports runtime and what is below."""
