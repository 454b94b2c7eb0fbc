"""JSON Schema as Pydantic writes it: key order, titles, references, and the schemas of types known by name."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from mcproof.source.python.interp.containers import SourceDict

PACKAGES = frozenset(
    [
        "builtins", "typing", "typing_extensions", "types", "collections", "datetime", "decimal", "fractions", "uuid",
        "pathlib", "os", "re", "ipaddress", "zoneinfo", "dataclasses", "pydantic", "pydantic_core", "annotated_types",
        "numbers",
    ]
)  # fmt: skip
"""The packages of these types; elsewhere the same name means something else."""
ANY = frozenset(("Any", "object"))
ARRAYS = frozenset(
    [
        "list",
        "List",
        "Sequence",
        "Iterable",
        "MutableSequence",
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


class DecimalNumber(dict[str, Any]):
    """The number branch of a decimal, which its bounds apply to."""


BASIC: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "bytes": {"format": "binary", "type": "string"},
    "NoneType": {"type": "null"},
    "Text": {"type": "string"},
    "AnyStr": {"anyOf": [{"format": "binary", "type": "string"}, {"type": "string"}]},
    "complex": {"type": "string"},
    "datetime": {"format": "date-time", "type": "string"},
    "date": {"format": "date", "type": "string"},
    "time": {"format": "time", "type": "string"},
    "timedelta": {"format": "duration", "type": "string"},
    "UUID": {"format": "uuid", "type": "string"},
    "Decimal": {"anyOf": [DecimalNumber(type="number"), {"type": "string"}]},
    "Path": {"format": "path", "type": "string"},
    "PurePath": {"format": "path", "type": "string"},
    "PosixPath": {"format": "path", "type": "string"},
    "PurePosixPath": {"format": "path", "type": "string"},
    "PureWindowsPath": {"format": "path", "type": "string"},
    "PathLike": {"format": "path", "type": "string"},
    "ZoneInfo": {"format": "zoneinfo", "type": "string"},
    "Fraction": {"anyOf": [{"type": "number"}, {"format": "fraction", "type": "string"}]},
    "Pattern": {"format": "regex", "type": "string"},
    "IPv4Address": {"format": "ipv4", "type": "string"},
    "IPv6Address": {"format": "ipv6", "type": "string"},
    "IPv4Network": {"format": "ipv4network", "type": "string"},
    "IPv6Network": {"format": "ipv6network", "type": "string"},
    "IPv4Interface": {"format": "ipv4interface", "type": "string"},
    "IPv6Interface": {"format": "ipv6interface", "type": "string"},
    "IPvAnyAddress": {"format": "ipvanyaddress", "type": "string"},
    "IPvAnyInterface": {"format": "ipvanyinterface", "type": "string"},
    "IPvAnyNetwork": {"format": "ipvanynetwork", "type": "string"},
    "AnyUrl": {"format": "uri", "minLength": 1, "type": "string"},
    "AnyHttpUrl": {"format": "uri", "minLength": 1, "type": "string"},
    "FileUrl": {"format": "uri", "minLength": 1, "type": "string"},
    "AnyWebsocketUrl": {"format": "uri", "minLength": 1, "type": "string"},
    "FtpUrl": {"format": "uri", "minLength": 1, "type": "string"},
    "AmqpDsn": {"format": "uri", "minLength": 1, "type": "string"},
    "ClickHouseDsn": {"format": "uri", "minLength": 1, "type": "string"},
    "CockroachDsn": {"format": "uri", "minLength": 1, "type": "string"},
    "KafkaDsn": {"format": "uri", "minLength": 1, "type": "string"},
    "MariaDBDsn": {"format": "uri", "minLength": 1, "type": "string"},
    "MySQLDsn": {"format": "uri", "minLength": 1, "type": "string"},
    "RedisDsn": {"format": "uri", "minLength": 1, "type": "string"},
    "SnowflakeDsn": {"format": "uri", "minLength": 1, "type": "string"},
    "MongoDsn": {"format": "multi-host-uri", "minLength": 1, "type": "string"},
    "NatsDsn": {"format": "multi-host-uri", "minLength": 1, "type": "string"},
    "PostgresDsn": {"format": "multi-host-uri", "minLength": 1, "type": "string"},
    "WebsocketUrl": {"format": "uri", "maxLength": 2083, "minLength": 1, "type": "string"},
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
    "UUID6": {"format": "uuid6", "type": "string"},
    "UUID7": {"format": "uuid7", "type": "string"},
    "UUID8": {"format": "uuid8", "type": "string"},
    "Base64Bytes": {"format": "base64", "type": "string"},
    "Base64Str": {"format": "base64", "type": "string"},
    "Base64UrlBytes": {"format": "base64url", "type": "string"},
    "Base64UrlStr": {"format": "base64url", "type": "string"},
    "StrictBytes": {"format": "binary", "type": "string"},
    "SocketPath": {"format": "path", "type": "string"},
    "ImportString": {"type": "string"},
    "Json": {"contentMediaType": "application/json", "contentSchema": {}, "type": "string"},
    "ByteSize": {
        "anyOf": [{"pattern": "^\\s*(\\d*\\.?\\d+)\\s*(\\w+)?", "type": "string"}, {"minimum": 0, "type": "integer"}]
    },
}

SERIALIZED: dict[str, dict[str, Any]] = {
    "Decimal": {"type": "string"},
    "Json": {},
    "ByteSize": {"minimum": 0, "type": "integer"},
    "Fraction": {"format": "fraction", "type": "string"},
}
"""Schemas that are different for serialization."""


Schema = dict[str, Any]
_DATA = frozenset(("default", "const", "examples"))
"""Keywords whose values are data, not schemas."""


def references(schema: Schema) -> set[str]:
    """The targets of every `$ref` in a schema, without its data such as defaults."""
    found: set[str] = set()
    waiting: list[tuple[Any, bool]] = [(schema, False)]
    while waiting:
        node, is_named = waiting.pop()
        if isinstance(node, list):
            waiting += [(child, False) for child in node]
        elif isinstance(node, dict):
            target = node.get("$ref")
            if isinstance(target, str):
                found.add(target)
            waiting += [
                (value, key in ("properties", "$defs") and not is_named)
                for key, value in node.items()
                if is_named or key not in _DATA
            ]
    return found


def with_names(node: Any, renamed: dict[str, str]) -> Any:
    """A schema with some definitions renamed."""
    if isinstance(node, list):
        return [with_names(child, renamed) for child in node]
    if not isinstance(node, dict):
        return node
    made = SourceDict()
    for key, value in node.items():
        if key == "$defs" and isinstance(value, dict):
            made[key] = {renamed.get(name, name): with_names(child, renamed) for name, child in value.items()}
        elif key in _DATA:
            made[key] = value
        elif isinstance(value, str):
            name = value.removeprefix("#/$defs/")
            made[key] = f"#/$defs/{renamed[name]}" if name != value and name in renamed else value
        else:
            made[key] = with_names(value, renamed)
    if isinstance(node, SourceDict):
        made.origins = node.origins
    return made


def common_type(values: list[Any]) -> Schema:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null", list: "array"}
    types = {names.get(type(value)) for value in values}
    return {"type": types.pop()} if len(types) == 1 else {}


def title(name: str) -> str:
    """The title that Pydantic generates for a field."""
    return name.title().replace("_", " ").strip()


def ordered(value: Any, *, names: bool = False) -> Any:
    """Sort keys as Pydantic does: alphabetically, except for the names of properties."""
    if isinstance(value, list):
        return [ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = SourceDict()
    for key in value if names else sorted(value):
        item = value[key]
        is_data = type(item) is str or (key in _DATA and not names)
        made[key] = item if is_data else ordered(item, names=key == "properties" and not names)
    if isinstance(value, SourceDict):
        made.origins = value.origins
    return made


def clean_docstring(node: ast.ClassDef) -> str | None:
    text = ast.get_docstring(node, clean=False)
    return inspect.cleandoc(text) if text else None
