"""The device ``python``: a schedule run row by row in plain Python. Imports runtime and the layers below."""
