"""The ``worldloom`` command: ``main`` parses the arguments, runs one command and maps errors to an exit code.

May import every other package.
"""
