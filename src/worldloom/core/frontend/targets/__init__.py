"""The forms of translated code: kernel text for Warp, or Python for the interpreter.

It imports syntax-tree helpers, values and bounds of the frontend, and the packages below.
"""
