"""Types that Pydantic knows by name, and what it writes for them."""

from __future__ import annotations

from typing import Any

ANY = frozenset(("Any", "object"))
ARRAYS = frozenset(
    [
        "list",
        "List",
        "Sequence",
        "Iterable",
        "MutableSequence",
        "Collection",
        "Iterator",
        "Generator",
        "deque",
        "Deque",
        "tuple",
        "Tuple",
    ]
)
SETS = frozenset(["set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"])
MAPPINGS = frozenset(
    ["dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict", "Counter"]
)
TRANSPARENT = frozenset(
    [
        "Required",
        "NotRequired",
        "ReadOnly",
        "Final",
        "ClassVar",
        "Optional",
        "SkipValidation",
        "SerializeAsAny",
        "InitVar",
    ]
)

BASIC: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "bytes": {"format": "binary", "type": "string"},
    "NoneType": {"type": "null"},
    "LiteralString": {"type": "string"},
    "AnyStr": {"type": "string"},
    "datetime": {"format": "date-time", "type": "string"},
    "date": {"format": "date", "type": "string"},
    "time": {"format": "time", "type": "string"},
    "timedelta": {"format": "duration", "type": "string"},
    "UUID": {"format": "uuid", "type": "string"},
    "Decimal": {"anyOf": [{"type": "number"}, {"type": "string"}]},
    "Path": {"format": "path", "type": "string"},
    "PurePath": {"format": "path", "type": "string"},
    "PosixPath": {"format": "path", "type": "string"},
    "Pattern": {"format": "regex", "type": "string"},
    "IPv4Address": {"format": "ipv4", "type": "string"},
    "IPv6Address": {"format": "ipv6", "type": "string"},
    "IPv4Network": {"format": "ipv4network", "type": "string"},
    "IPv6Network": {"format": "ipv6network", "type": "string"},
    "AnyUrl": {"format": "uri", "minLength": 1, "type": "string"},
    "AnyHttpUrl": {"format": "uri", "minLength": 1, "type": "string"},
    "FileUrl": {"format": "uri", "minLength": 1, "type": "string"},
    "HttpUrl": {"format": "uri", "maxLength": 2083, "minLength": 1, "type": "string"},
    "EmailStr": {"format": "email", "type": "string"},
    "NameEmail": {"format": "name-email", "type": "string"},
    "SecretStr": {"format": "password", "type": "string", "writeOnly": True},
    "SecretBytes": {"format": "password", "type": "string", "writeOnly": True},
    "StrictStr": {"type": "string"},
    "StrictInt": {"type": "integer"},
    "StrictFloat": {"type": "number"},
    "StrictBool": {"type": "boolean"},
    "PositiveInt": {"exclusiveMinimum": 0, "type": "integer"},
    "NegativeInt": {"exclusiveMaximum": 0, "type": "integer"},
    "NonNegativeInt": {"minimum": 0, "type": "integer"},
    "NonPositiveInt": {"maximum": 0, "type": "integer"},
    "PositiveFloat": {"exclusiveMinimum": 0, "type": "number"},
    "NegativeFloat": {"exclusiveMaximum": 0, "type": "number"},
    "NonNegativeFloat": {"minimum": 0, "type": "number"},
    "NonPositiveFloat": {"maximum": 0, "type": "number"},
    "FiniteFloat": {"type": "number"},
    "FilePath": {"format": "file-path", "type": "string"},
    "DirectoryPath": {"format": "directory-path", "type": "string"},
    "NewPath": {"format": "path", "type": "string"},
    "AwareDatetime": {"format": "date-time", "type": "string"},
    "NaiveDatetime": {"format": "date-time", "type": "string"},
    "PastDate": {"format": "date", "type": "string"},
    "FutureDate": {"format": "date", "type": "string"},
    "PastDatetime": {"format": "date-time", "type": "string"},
    "FutureDatetime": {"format": "date-time", "type": "string"},
    "UUID1": {"format": "uuid1", "type": "string"},
    "UUID3": {"format": "uuid3", "type": "string"},
    "UUID4": {"format": "uuid4", "type": "string"},
    "UUID5": {"format": "uuid5", "type": "string"},
    "Json": {"contentMediaType": "application/json", "contentSchema": {}, "type": "string"},
    "JsonValue": {},
    "ByteSize": {"minimum": 0, "type": "integer"},
}

WRITTEN: dict[str, dict[str, Any]] = {"Decimal": {"type": "string"}, "Json": {}}
"""What is written otherwise than it is read."""
