"""Compressed files: damaged ones, and those that would fill the memory."""

import gzip
import io
import lzma

import pytest
from problem_files import UAI, refusal

from neuralfactors.inference._formats import compression


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
@pytest.mark.parametrize("cut", [12, 40, -1, -9])
def test_truncated_archives(tmp_path, compress, cut):
    path = tmp_path / "cut.uai.gz"
    path.write_bytes(compress(UAI.encode())[:cut])
    assert refusal("uai", path) == "{} is truncated or altered: it cannot be decompressed"


def test_an_archive_whose_checksum_is_wrong(tmp_path):
    path = tmp_path / "altered.uai.gz"
    data = bytearray(gzip.compress(UAI.encode()))
    data[-6] ^= 1
    path.write_bytes(data)
    assert refusal("uai", path) == "{} is truncated or altered: it cannot be decompressed"


def test_a_small_archive_that_unpacks_to_any_size(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "MAX_BYTES", 2**26)
    path, packed = tmp_path / "bomb.uai.gz", io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for _ in range(65):
            file.write(b"1 " * 2**19)
    path.write_bytes(packed.getvalue())
    assert path.stat().st_size < 2**17
    assert refusal("uai", path) == "{} contains more than 0.0625 GiB of text, which is the limit"
