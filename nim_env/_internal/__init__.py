"""Helpers that the modules of ``nim_env`` share: limits on sizes, checks, caches and random draws.

They are not public. They import no other part of ``nim_env``, so every part can import them.
"""
