"""Locomotion tasks of the GPU-locomotion paper (Liang et al., 2018), with models of our own: one module per task."""
