"""Files of JSON and arrays: written whole or not at all, read within limits, never with pickle."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import stat
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_JSON_BYTES = 2**16
MAX_MEMBERS = 256
MAX_NAME_LENGTH = 100
MAX_HEADER_BYTES = 2**10  # of one array
MAGIC = b"\x93NUMPY\x01\x00"  # the format of NumPy, version 1.0
MAX_READ_BYTES = 2**17  # the list of so many members is shorter
MAX_COMPRESSION = 1032  # of the deflate method


def write(path: str | os.PathLike[str], about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Writes a file, first under another name.

    Args:
        path: The file, or a link to it.
        about: What JSON can express.
        arrays: Arrays by name, none of them ``"about"``.

    Raises:
        OSError: The file cannot be written.
        ValueError: There are too many arrays, or the JSON is too long.
    """
    text = json.dumps(about).encode()
    if len(text) > MAX_JSON_BYTES or len(arrays) >= MAX_MEMBERS:
        raise ValueError(
            f"a file holds at most {MAX_JSON_BYTES:,} bytes of JSON (spaces and arguments) and {MAX_MEMBERS - 1} "
            f"arrays; got {len(text):,} bytes and {len(arrays)} arrays"
        )
    target = _target(path)
    temporary = _temporary_file(target)
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file:  # the layout of numpy.savez_compressed
            for name, array in {**arrays, "about": np.frombuffer(text, dtype=np.uint8)}.items():
                with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _target(path: str | os.PathLike[str]) -> Path:
    """The file that ``path`` leads to, through symbolic links; an OSError if it cannot be replaced."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder to save to", str(target.parent))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target
    if not stat.S_ISREG(mode):
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        raise OSError(number, "path must be a regular file or new", str(target))
    return target


def _temporary_file(target: Path) -> Path:
    """Where to write before the file gets its name; removes what killed processes have left for the same file."""
    prefix = f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}"  # as short for the longest name
    for left in target.parent.glob(f"{prefix}.*.tmp"):
        if not _is_running(int(left.name.split(".")[2])):
            left.unlink(missing_ok=True)
    return target.with_name(f"{prefix}.{os.getpid()}.tmp")


def _is_running(process: int) -> bool:
    if os.name != "posix":
        return True  # elsewhere os.kill would end the process
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class ArrayHeader(NamedTuple):
    """Shape and dtype of an array in a file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """The size of the array in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


class ArrayFile:
    """A file of :func:`write`, of which the JSON and the headers of the arrays are read and checked.

    Args:
        stream: What :func:`open_file` returns.

    Attributes:
        about: The JSON.
        headers: The header of each array by name.

    Raises:
        Exception: The file is damaged or exceeds a limit; NumPy, zipfile, zlib and json raise a dozen kinds.
    """

    def __init__(self, stream: io.BufferedReader) -> None:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file")
        self._zip = zipfile.ZipFile(stream)
        members = self._zip.infolist()
        if len({member.filename for member in members}) < len(members) or len(members) > MAX_MEMBERS:
            raise ValueError(f"it has more than {MAX_MEMBERS} members, or two of one name")
        if any(member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for member in members):
            raise ValueError("it has a member that is not compressed by deflate")
        if sum(member.file_size for member in members) > MAX_COMPRESSION * status.st_size:
            raise ValueError("its members are larger than a file of its size can hold")
        self.headers = {member.filename.removesuffix(".npy"): self._read_header(member) for member in members}
        n_bytes = self.headers.pop("about").nbytes
        if n_bytes > MAX_JSON_BYTES:
            raise ValueError(f"its description has {n_bytes:,} bytes")
        self.about: Any = json.loads(self._read("about").tobytes())

    def read_arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name."""
        return {name: self._read(name) for name in self.headers}

    def _read(self, name: str) -> NDArray[Any]:
        with self._zip.open(f"{name}.npy") as stream:
            array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
        return array

    def _read_header(self, member: zipfile.ZipInfo) -> ArrayHeader:
        name = member.filename
        if not name.endswith(".npy"):
            raise ValueError(f"{name} is not an array")
        with self._zip.open(member) as stream:
            start = stream.read(len(MAGIC) + 2)
            n_bytes = int.from_bytes(start[len(MAGIC) :], "little")
            if not start.startswith(MAGIC) or n_bytes > MAX_HEADER_BYTES:
                raise ValueError(f"{name} is no array of NumPy with a header of up to {MAX_HEADER_BYTES} bytes")
            text = io.BytesIO(start[len(MAGIC) :] + stream.read(n_bytes))
        shape, _, dtype = np.lib.format.read_array_header_1_0(text)
        header = ArrayHeader(shape, dtype)
        if not is_plain(dtype) or dtype.itemsize == 0 or min(shape, default=0) < 0:
            raise ValueError(f"{name} holds objects, structures or nothing, or has a negative shape")
        if header.nbytes != member.file_size - len(start) - n_bytes:
            raise ValueError(f"{name} does not have the size of its header")
        return header


def open_file(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Opens a file for :class:`ArrayFile`; an OSError if it cannot be read."""
    return _ShortReads(io.FileIO(os.fspath(path), opener=_open_at_once))


class _ShortReads(io.BufferedReader):
    """Reads less at once than asked for: ``zipfile`` asks for the list of all members, however long it is."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(MAX_READ_BYTES if size is None or size < 0 else min(size, MAX_READ_BYTES))


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # a FIFO would wait for a writer


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of numbers, text or time, neither of objects nor a structure."""
    return dtype.kind not in "OV"
