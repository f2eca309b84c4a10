"""What the modules of ``nim_env`` share but users do not need: limits, checks of arguments and weighted draws.

These modules import no other part of ``nim_env``, so any part may import them. Nothing here is public.
"""
