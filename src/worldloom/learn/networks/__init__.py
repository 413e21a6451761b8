"""Encoders, actor-critics, Q networks, recurrent cells, normalization, and the memory that networks need.

Imports ``config``, ``device`` and ``agents``. Attribute names of modules are checkpoint keys.
"""

from worldloom.learn.networks.convolution.grid_cnn import GridCNN
from worldloom.learn.networks.convolution.impala_cnn import ImpalaCNN
from worldloom.learn.networks.convolution.nature_cnn import NatureCNN
from worldloom.learn.networks.encoder import build_encoder
from worldloom.learn.networks.entities.entity_encoder import EntityEncoder
from worldloom.learn.networks.mlp import MLP
from worldloom.learn.networks.recurrent import RecurrentCell
from worldloom.learn.networks.two_branch import TwoBranch

__all__ = ["MLP", "EntityEncoder", "GridCNN", "ImpalaCNN", "NatureCNN", "RecurrentCell", "TwoBranch", "build_encoder"]
