"""The command ``python -m nim_env check FILE``, which says how good a player is and what is wrong with it.

- :mod:`nim_env.check.command` reads the command line, and prints the results.
- :mod:`nim_env.check.options` has the options of the command line.
- :mod:`nim_env.check.entries` has the results.
- :mod:`nim_env.check.processes` runs a function in a process of its own, with a time limit.
- :mod:`nim_env.check.report` examines one player.
- :mod:`nim_env.check.players` loads a player: it finds out in which form a file has one.
- :mod:`nim_env.check.values` reads the values of a player.
- :mod:`nim_env.check.foreign_code` runs code that other people wrote.
- :mod:`nim_env.check.programs` imports their programs and describes their errors. The page uses it too.
- :mod:`nim_env.check.specification` tests the functions of a program that follows CS50's project Nim.

This package imports the game, the policies, the evaluation, the rendering and, for the file of a model,
:mod:`nim_env.sb3`. Only ``nim_env.__main__`` imports this package.
"""
