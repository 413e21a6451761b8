"""Memory and execution of a simulation: columns, tables, configuration, actions, faults and recorded graphs.

Imports codegen and the layers below.
"""
