"""Convolutional networks for images and grids."""
