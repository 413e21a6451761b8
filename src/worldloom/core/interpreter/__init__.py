"""The device 'python': a schedule run row by row in plain Python. It imports runtime and what is below."""
