"""The reference interpreter: a world file run by its syntax tree over NumPy scalars.

It is written from the documentation and imports nothing of ``worldloom.core``, so that a fault of the engine is not
repeated here.
"""
