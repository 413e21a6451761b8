"""Networks: encoders of observations, memories, and the actors and critics on top of them."""

from worldloom.learn.networks.build import build_encoder
from worldloom.learn.networks.impala import ImpalaCNN
from worldloom.learn.networks.memory import Memory
from worldloom.learn.networks.mlp import MLP
from worldloom.learn.networks.nature import NatureCNN
from worldloom.learn.networks.two_branch import TwoBranch

__all__ = ["MLP", "ImpalaCNN", "Memory", "NatureCNN", "TwoBranch", "build_encoder"]
