"""Rollouts of any PyTorch policy: the policy and the worlds' steps as one CUDA graph, or as a loop on the CPU.

``rollout`` holds the public class and function, which import PyTorch on first use; ``result`` the tensors of a rollout.
"""
