"""Readers of pprof files: one of our own, and one by the package protobuf."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from typing import Any

# Of each message: number, name and type (a message, int or str) of its fields, as in
# proto/profile.proto. The fields in MANY are repeated.
SCHEMA: dict[str, list[tuple[int, str, str]]] = {
    "Profile": [
        (1, "sample_type", "ValueType"),
        (2, "sample", "Sample"),
        (3, "mapping", "Mapping"),
        (4, "location", "Location"),
        (5, "function", "Function"),
        (6, "string_table", "str"),
        (9, "time_nanos", "int"),
        (10, "duration_nanos", "int"),
        (11, "period_type", "ValueType"),
        (12, "period", "int"),
        (13, "comment", "int"),
        (14, "default_sample_type", "int"),
    ],
    "ValueType": [(1, "type", "int"), (2, "unit", "int")],
    "Sample": [(1, "location_id", "id"), (2, "value", "int"), (3, "label", "Label")],
    "Label": [(1, "key", "int"), (2, "str", "int"), (3, "num", "int")],
    "Mapping": [(1, "id", "id")],
    "Location": [(1, "id", "id"), (2, "mapping_id", "id"), (4, "line", "Line")],
    "Line": [(1, "function_id", "id"), (2, "line", "int")],
    "Function": [
        (1, "id", "id"),
        (2, "name", "int"),
        (3, "system_name", "int"),
        (4, "filename", "int"),
        (5, "start_line", "int"),
    ],
}
MANY = {
    "Profile": {*(name for _, name, _ in SCHEMA["Profile"][:6]), "comment"},
    "Sample": {"location_id", "value", "label"},
    "Location": {"line"},
}


@dataclass
class Sample:
    """One sample, with strings in place of indices."""

    frames: list[tuple[str, str, int, int]]  # root first: file, name, first line, line
    values: dict[str, int]
    labels: dict[str, str]


@dataclass
class Profile:
    """The content of a file, with strings in place of indices."""

    samples: list[Sample] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    default: str = ""
    time_ns: int = 0
    duration_ns: int = 0


def read(data: bytes) -> Profile:
    """Return the content of a file; fail if the file is malformed."""
    raw = _message(gzip.decompress(data), "Profile")
    strings = raw["string_table"]
    assert strings[0] == ""
    assert len(strings) == len(set(strings))
    functions = {one["id"]: one for one in raw["function"]}
    frames = {}
    for one in raw["location"]:
        (line,) = one["line"]
        function = functions[line["function_id"]]
        texts = (strings[function["filename"]], strings[function["name"]])
        frames[one["id"]] = (*texts, function["start_line"], line["line"])
    assert 0 not in frames
    assert len(frames) == len(raw["location"])
    types = [strings[one["type"]] for one in raw["sample_type"]]
    units = [strings[one["unit"]] for one in raw["sample_type"]]
    profile = Profile(
        units=dict(zip(types, units)),
        comments=[strings[one] for one in raw["comment"]],
        default=strings[raw["default_sample_type"]],
        time_ns=raw["time_nanos"],
        duration_ns=raw["duration_nanos"],
    )
    for one in raw["sample"]:
        assert len(one["value"]) == len(types)
        path = [frames[place] for place in reversed(one["location_id"])]
        labels = {strings[lab["key"]]: strings[lab["str"]] for lab in one["label"]}
        profile.samples.append(Sample(path, dict(zip(types, one["value"])), labels))
    return profile


def _message(data: bytes, kind: str) -> dict[str, Any]:
    many = MANY.get(kind, set())
    fields = {number: (name, what) for number, name, what in SCHEMA[kind]}
    found: dict[str, Any] = {
        name: [] if name in many else 0 for name, _ in fields.values()
    }
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        name, what = fields[tag >> 3]
        values: list[Any]
        if tag & 7 == 0:
            value, at = _varint(data, at)
            values = [value]
        else:
            assert tag & 7 == 2
            size, at = _varint(data, at)
            piece, at = data[at : at + size], at + size
            values = _values(piece, what)
        if name in many:
            found[name] += values
        else:
            (found[name],) = values
    assert at == len(data)
    return found


def _values(piece: bytes, what: str) -> list[Any]:
    if what == "str":
        return [piece.decode()]
    if what in SCHEMA:
        return [_message(piece, what)]
    values, at = [], 0
    while at < len(piece):
        value, at = _varint(piece, at)
        values.append(value)
    return values


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def parsed_by_protobuf(data: bytes) -> Any:
    """Return the message of a file as the package protobuf reads it, by `SCHEMA`.

    Without the package the test is skipped.
    """
    import pytest  # noqa: PLC0415  # which the fuzzer's environment may lack

    pytest.importorskip("google.protobuf", minversion="4.22")
    from google.protobuf import (  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415  # or skip
        descriptor_pb2,
        descriptor_pool,
        message_factory,
    )

    kinds = descriptor_pb2.FieldDescriptorProto
    numbers = {
        "int": kinds.TYPE_INT64,
        "id": kinds.TYPE_UINT64,
        "str": kinds.TYPE_STRING,
    }
    file = descriptor_pb2.FileDescriptorProto(
        name="profile.proto", package="p", syntax="proto3"
    )
    for kind, fields in SCHEMA.items():
        message = file.message_type.add(name=kind)
        for number, name, what in fields:
            made = message.field.add(name=name, number=number)
            is_many = name in MANY.get(kind, set())
            made.label = kinds.LABEL_REPEATED if is_many else kinds.LABEL_OPTIONAL
            made.type = numbers.get(what, kinds.TYPE_MESSAGE)
            if what in SCHEMA:
                made.type_name = f".p.{what}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    classes = message_factory.GetMessageClass
    profile = classes(pool.FindMessageTypeByName("p.Profile"))()
    profile.ParseFromString(gzip.decompress(data))
    return profile
