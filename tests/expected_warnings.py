"""Warnings are errors, but for those that are expected by their text."""

import contextlib
import warnings


@contextlib.contextmanager
def no_warning_but(expected):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    unexpected = [str(warning.message) for warning in caught if str(warning.message) not in expected]
    assert not unexpected
