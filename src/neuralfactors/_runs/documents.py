"""Typed records as JSON files with a format and a digest; what does not fit its type is refused in one sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from neuralfactors._common.files import (
    DIGEST,
    FileFormatError,
    check_regular,
    parse_json,
    read_records,
    sealed,
    unsealed,
    write_atomically,
    write_records,
)
from neuralfactors._common.parameters import Parameter

FORMAT = 4  # of all files of a run; a reader refuses any other
_FORMAT = "format"
SCALARS = (bool, int, float, str, NoneType)
T = TypeVar("T")


@dataclass(frozen=True)
class Document(Generic[T]):
    """A JSON file of one record, with format and digest."""

    kind: type[T]
    path: Path

    def write(self, record: T) -> None:
        """Write `record` in one step; the folder is created if needed."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(sealed({_FORMAT: FORMAT, **encode(record)}), indent=1, allow_nan=False, ensure_ascii=False)
        # A damaged name may hold what UTF-8 cannot: an escape may.
        write_atomically(self.path, f"{text}\n".encode(errors="backslashreplace"))

    def read(self, *, by_hand: bool = False) -> T | None:
        """The record, None where there is no file; refused where it is altered, of another format or shape.

        A file that people may write `by_hand` need not have a digest, but one that it has must be right.
        """
        if not self.path.exists():
            return None
        body = parse_json(check_regular(self.path).read_bytes(), self.path)
        _check_format(body, self.path)
        try:
            body = unsealed(body, self.path) if DIGEST in body or not by_hand else body
        except FileFormatError as error:
            hint = f"; if you changed it on purpose, delete the line {DIGEST}" if by_hand else ""
            raise FileFormatError(f"{error}{hint}") from error
        return _decoded(self.kind, {key: value for key, value in body.items() if key != _FORMAT}, self.path)


@dataclass(frozen=True)
class Lines(Generic[T]):
    """A file of many records, one a line with its digest."""

    kind: type[T]
    path: Path

    def write(self, records: Iterable[T]) -> None:
        """Write `records` in one step."""
        write_records(self.path, map(encode, records))

    def read(self) -> list[T]:
        """The records, none where there is no file; refused where a line is altered or of another shape."""
        bodies = enumerate(read_records(self.path), start=1)
        return [_decoded(self.kind, body, f"line {n} of {self.path}") for n, body in bodies]


def encode(value: Any) -> Any:
    """A record, or what is in one, as JSON can hold it."""
    if is_dataclass(value):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [encode(each) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def decode(kind: Any, value: Any, name: str) -> Any:
    """A JSON value as a typed record, or a part of one; refused, under its `name`, with the field that does not fit.

    The `kind` is a dataclass, a plain type, or tuples, mappings and unions of them.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if kind == Parameter:
        scalars = value if isinstance(value, list) else [value]
        checked = [_checked(each, type(each) if isinstance(each, SCALARS) else str, name) for each in scalars]
        return checked if isinstance(value, list) else checked[0]
    if origin in (UnionType, Union):
        return None if value is None else decode(_other_than_none(arguments), value, name)
    if is_dataclass(kind):
        return _decode_record(kind, _checked(value, dict, name), name)
    if origin is tuple:
        return _decode_tuple(arguments, _checked(value, list, name), name)
    if origin is Mapping:
        known, kind = _checked(value, dict, name), arguments[1]
        return {key: decode(kind, each, key if kind == Parameter else name) for key, each in known.items()}
    if origin is np.ndarray:
        return _decode_array(get_args(arguments[1])[0], value, name)
    if origin is Literal and value not in arguments:
        raise ValueError(f"{name} must be one of {', '.join(arguments)}, got {value!r}")
    return value if origin is Literal else _checked(value, kind, name)


def _checked(value: Any, kind: type, name: str) -> Any:
    kinds = (int, float) if kind is float else kind
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} must be of type {kind.__name__}, got {type(value).__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    return value


def _decode_record(kind: Any, value: dict[str, Any], name: str) -> Any:
    """A record of JSON; refused where a key is unknown or missing."""
    known = {field.name: field for field in fields(kind)}
    for key in value:
        if key not in known:
            raise ValueError(f"{name} has an unknown key {key!r}")
    for key, field in known.items():
        if key not in value and field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{key} is missing")
    hints = _hints(kind)
    return kind(**{key: decode(hints[key], each, key) for key, each in value.items()})


def _decode_tuple(kinds: tuple[Any, ...], value: list[Any], name: str) -> tuple[Any, ...]:
    if kinds[-1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise ValueError(f"{name} must have {len(kinds)} entries, got {len(value)}")
    return tuple(decode(kind, each, name) for kind, each in zip(kinds, value, strict=True))


def _decode_array(kind: type[np.generic], value: Any, name: str) -> Any:
    """A table of JSON as an array; refused unless it is one of finite numbers."""
    try:
        array = np.array(_checked(value, list, name))
    except ValueError as error:  # lines of different lengths
        raise ValueError(f"{name} must be a table: {error}") from error
    numeric = "iu" if issubclass(kind, np.integer) else "iuf"
    if array.ndim != 2 or array.dtype.kind not in numeric or not np.isfinite(array).all():
        raise ValueError(f"{name} must be a table of finite numbers")
    return array.astype(kind)


def _other_than_none(kinds: tuple[Any, ...]) -> Any:
    (kind,) = (each for each in kinds if each is not NoneType)
    return kind


@lru_cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _decoded(kind: type[T], body: dict[str, Any], name: object) -> T:
    try:
        record: T = decode(kind, body, kind.__name__.lower())
    except (TypeError, ValueError) as error:
        raise FileFormatError(f"{name} does not describe {_article(kind.__name__.lower())}: {error}") from error
    return record


def _article(noun: str) -> str:
    return noun if noun.endswith("s") else f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _check_format(body: Any, path: Path) -> None:
    version = body.get(_FORMAT) if isinstance(body, dict) else None
    if not isinstance(version, int):
        raise FileFormatError(f"{path} was not written by neuralfactors")
    if version > FORMAT:
        raise FileFormatError(f"{path} has format {version}, newer than {FORMAT}: update neuralfactors to read it")
    if version < FORMAT:
        raise FileFormatError(f"{path} has format {version}, older than {FORMAT}, which this version reads")
