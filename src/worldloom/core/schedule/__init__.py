"""What runs in a step and in a reset, and in which order. It imports registry and what is below."""
