"""ROM images: files and their search path, bank-switching kinds, images as words for the CPU, memory at power-on.

May import games.
"""
