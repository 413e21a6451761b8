"""Native CPU kernels for the training of fully connected policies and Q networks.

One call computes a minibatch: gather, forward pass, loss, backward pass, gradient clipping and Adam. PyTorch's small
operations would cost several times as much as the arithmetic. :mod:`~worldloom.learn.native.support` decides which
networks qualify; everything else, and every GPU, uses PyTorch.

Imports up to ``losses`` and ``training``. Does not depend on the algorithms.
"""
