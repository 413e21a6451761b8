"""What is minimized, and its targets: advantages, V-trace targets, policy and TD losses.

Imports up to ``rollout``. Does not depend on trainers.
"""
