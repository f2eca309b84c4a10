"""The command ``python -m nim_env check FILE``, which says how good a player is and what is wrong with it.

:mod:`nim_env.check.command` has the command line, and runs each file in a process of its own.
:mod:`nim_env.check.report` examines one player, :mod:`nim_env.check.players` loads it from its file, and
:mod:`nim_env.check.specification` tests the functions of a program that follows CS50's project Nim.
:mod:`nim_env.check.programs` imports programs and describes their errors. This package imports the other parts of
``nim_env``. Only ``nim_env.__main__`` imports this package.
"""
