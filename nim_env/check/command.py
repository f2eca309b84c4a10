"""Runs the command ``python -m nim_env check FILE ...``, which examines each player in a process of its own.

:mod:`nim_env.check.options` describes the options of the command.
"""

from __future__ import annotations

import json
import signal
import sys

from nim_env.check.foreign_code import ProcessError, run_in_process
from nim_env.check.options import Options, parse, parser
from nim_env.check.report import Entry, FailedEntry, full_report, summary_line


def main(arguments: list[str] | None = None) -> int:
    """Runs the command: judges each file in a process of its own, and prints the results.

    Args:
        arguments: The arguments of the command line after ``python -m nim_env``, beginning with ``"check"``.
            ``None`` to take them from ``sys.argv``.

    Returns:
        The exit status. It is 2 if a file could not be judged. Otherwise it is 1 if a player's expert mastery, its
        average probability of a winning move in winning positions, is below ``--min-expert``. Otherwise it is 0.
    """
    options = parse(arguments)
    if options.json is not None:
        try:
            options.json.open("a").close()  # so an error comes now, not after all players were judged
        except OSError as error:
            parser().error(f"--json needs a file that can be written: {error}")
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so the child processes are ended too
    try:
        entries = _examine_all(options)
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)  # None if C code had set the handler
    judged = [entry for entry in entries if isinstance(entry, Entry)]
    if len(judged) < len(entries):
        return 2
    least = options.min_expert
    return int(least is not None and any(entry.metrics["expert"] < least for entry in judged))


def _examine_all(options: Options) -> list[Entry | FailedEntry]:
    """Examines the files one after another, and returns an entry for each.

    The result of a file is printed, and written to the file of ``--json``, before the next file is examined.
    """
    entries: list[Entry | FailedEntry] = []
    for name in options.files:
        entry = _examine_in_process(name, options)
        entries.append(entry)
        if isinstance(entry, FailedEntry):
            message = entry.error if entry.error.startswith(name) else f"{name}: {entry.error}"
            print(message, file=sys.stderr, flush=True)
        else:
            print(full_report(entry) if len(options.files) == 1 else summary_line(entry), flush=True)
        if options.json is not None:
            text = json.dumps([entry.to_json() for entry in entries], indent=1, ensure_ascii=False)
            options.json.write_text(f"{text}\n", encoding="utf-8")
    return entries


def _examine_in_process(name: str, options: Options) -> Entry | FailedEntry:
    """Examines a player in a new process, so a file that crashes or never ends does not stop the command.

    If the process crashes or exceeds the time limit, the result is a :class:`FailedEntry` that says so.
    """
    try:
        return run_in_process(_examine, name, options, time_limit=options.time_limit)
    except ProcessError as error:
        return FailedEntry(name, str(error))


def _examine(name: str, options: Options) -> Entry | FailedEntry:
    """Examines a player and returns its entry, or a :class:`FailedEntry` if this raises an error.

    :func:`_examine_in_process` calls this function in a new process.
    """
    sys.argv = [name]  # for a file that reads its arguments
    from nim_env.check.examination import examine  # not above, since the parent needs none of its imports

    try:
        return examine(name, options)
    except (ValueError, TypeError, OSError) as error:
        return FailedEntry(name, " ".join(str(error).split()))
