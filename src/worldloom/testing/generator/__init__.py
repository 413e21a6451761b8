"""The generator of random worlds: the text of world files, and the initial values of their columns.

It imports the types of the reference and nothing of ``worldloom.core``.
"""
