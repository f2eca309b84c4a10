"""The command ``python -m nim_env check FILE``, which says how good a player is and what is wrong with it.

In the order of one run:

- :mod:`nim_env.check.command` runs the command, and :mod:`nim_env.check.options` reads its command line.
- :mod:`nim_env.check.foreign_code` runs other people's code, in a process of its own and with a time limit.
- :mod:`nim_env.check.examination` examines one player in this process, with the modules below.
- :mod:`nim_env.check.players` loads a player from any file, as a policy with its values.
- :mod:`nim_env.check.programs` finds the player in a program, says how to call it, and describes the errors of
  programs. The project's web page "Your own program" uses it too.
- :mod:`nim_env.check.values` reads the values of a player.
- :mod:`nim_env.check.specification` tests the functions of a program that follows CS50's project Nim.
- :mod:`nim_env.check.report` defines the entry of a player in the report, with its results, and converts it to
  text.

This package imports the game, the policies, the evaluation, the rendering and, for the file of a model,
:mod:`nim_env.sb3`. Only ``nim_env.__main__`` imports this package.
"""
