"""What one step moves between a client's arrays and the columns of the worlds, resolved when a batch is made.

Imports core, ``vector.env_layout`` and ``vector.observation_types``. PyTorch is imported only by batches that return
tensors.
"""
