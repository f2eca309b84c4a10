"""The command ``python -m nim_env check FILE``: how good somebody's player is, and what is wrong with it.

:mod:`nim_env.check.command` holds the command line and runs each file in a process of its own.
:mod:`nim_env.check.report` examines one player, :mod:`nim_env.check.players` loads it from its file, and
:mod:`nim_env.check.specification` tests the functions of a program that follows CS50's project Nim. The package
may import every other part of ``nim_env``; within it, only ``__main__`` imports this one.
"""
