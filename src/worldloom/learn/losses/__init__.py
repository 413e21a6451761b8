"""What is minimized and its targets: advantages (GAE, n-step returns), V-trace targets, policy and TD losses. Imports up to rollout; knows no trainer."""
