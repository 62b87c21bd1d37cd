"""Text files, plain or compressed: read up to a limit, written in one step."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

from neuralfactors._common.files import FileFormatError, check_regular, write_atomically

MAX_BYTES = 2**30  # of text; a small file can unpack to any size
_CHUNK = 2**24


class _Compression(NamedTuple):
    magic: bytes  # how such files begin
    open: Callable[[IO[bytes]], IO[bytes]]
    compress: Callable[[bytes], bytes]


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)  # the same problem makes the same file, whatever the time


_COMPRESSIONS: dict[str, _Compression] = {
    ".gz": _Compression(b"\x1f\x8b", gzip.open, _gzip),  # type: ignore[arg-type]
    ".xz": _Compression(b"\xfd7zXZ\x00", lzma.open, lzma.compress),
    ".bz2": _Compression(b"BZh", bz2.open, bz2.compress),
}
COMPRESSED = tuple(_COMPRESSIONS)


def read_text(path: Path) -> bytes:
    """The ASCII text in a file; how it is compressed shows in its first bytes, whatever the file is called."""
    with check_regular(path).open("rb") as file:
        head = file.peek(8)
        opener = next((c.open for c in _COMPRESSIONS.values() if head.startswith(c.magic)), None)
        try:
            text = _read(opener(file) if opener else file, path)
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's fault, not the file's
            raise FileFormatError(f"{path} is truncated or altered: it cannot be decompressed") from error
    if not text.isascii() or b"\0" in text:
        raise FileFormatError(f"{path} is not a text file")
    if not text or text.isspace():
        raise FileFormatError(f"{path} is empty")
    return text


def write_text(path: Path, text: str) -> None:
    """Write ASCII text in one step, compressed if the suffix is one of `COMPRESSED`."""
    data, compression = text.encode("ascii"), _COMPRESSIONS.get(path.suffix)
    write_atomically(path, compression.compress(data) if compression else data)


def _read(file: IO[bytes], path: Path) -> bytes:
    chunks, size = [], 0
    while chunk := file.read(_CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BYTES:
            raise FileFormatError(f"{path} contains more than {MAX_BYTES / 2**30:g} GiB of text, which is the limit")
    return b"".join(chunks)
