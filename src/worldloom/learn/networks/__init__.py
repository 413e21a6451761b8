"""Networks: encoders of observations, memories, and the actors and critics on top of them."""

from worldloom.learn.networks.encoder import build_encoder
from worldloom.learn.networks.impala_cnn import ImpalaCNN
from worldloom.learn.networks.mlp import MLP
from worldloom.learn.networks.nature_cnn import NatureCNN
from worldloom.learn.networks.recurrent import RecurrentCell
from worldloom.learn.networks.two_branch import TwoBranch

__all__ = ["MLP", "ImpalaCNN", "NatureCNN", "RecurrentCell", "TwoBranch", "build_encoder"]
