"""Systems and helpers: from the user's Python to typed, race-checked code.

It imports kernels, arithmetic, model and base.
"""
