"""JSON Schema as Pydantic writes it: key order, titles, references, and the schemas of types known by name."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from mcproof.core.text.english import word_set
from mcproof.source.python.interp.containers import SourceDict

PACKAGES = word_set(
    "builtins typing typing_extensions types collections datetime decimal fractions uuid pathlib os re ipaddress "
    "zoneinfo dataclasses pydantic pydantic_core annotated_types numbers"
)
"""The packages of these types; elsewhere the same name means something else."""
ANY = frozenset(("Any", "object"))
ARRAYS = word_set("list List Sequence Iterable MutableSequence Generator deque Deque tuple Tuple")
SETS = frozenset(["set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"])
MAPPINGS = frozenset(
    ["dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict", "Counter"]
)
TRANSPARENT = word_set("Required NotRequired ReadOnly Final ClassVar Optional SkipValidation SerializeAsAny InitVar")


class DecimalNumber(dict[str, Any]):
    """The number branch of a decimal, which its bounds apply to."""


_IP_TYPES = word_set("IPv4Network IPv6Network IPv4Interface IPv6Interface IPvAnyAddress IPvAnyInterface IPvAnyNetwork")
_FORMATS = {
    "binary": "bytes StrictBytes",
    "date-time": "datetime AwareDatetime NaiveDatetime PastDatetime FutureDatetime",
    "date": "date PastDate FutureDate",
    "time": "time",
    "duration": "timedelta",
    "uuid": "UUID",
    **{f"uuid{version}": f"UUID{version}" for version in (1, 3, 4, 5, 6, 7, 8)},
    "path": "Path PurePath PosixPath PurePosixPath PureWindowsPath PathLike NewPath SocketPath",
    "file-path": "FilePath",
    "directory-path": "DirectoryPath",
    "zoneinfo": "ZoneInfo",
    "regex": "Pattern",
    "ipv4": "IPv4Address",
    "ipv6": "IPv6Address",
    **{name.lower(): name for name in _IP_TYPES},
    "email": "EmailStr",
    "name-email": "NameEmail",
    "base64": "Base64Bytes Base64Str",
    "base64url": "Base64UrlBytes Base64UrlStr",
}
"""Types that are strings with a format, by the format."""
_ADDRESSES = {
    "uri": "AnyUrl AnyHttpUrl FileUrl AnyWebsocketUrl FtpUrl AmqpDsn ClickHouseDsn CockroachDsn KafkaDsn MariaDBDsn "
    "MySQLDsn RedisDsn SnowflakeDsn",
    "multi-host-uri": "MongoDsn NatsDsn PostgresDsn",
}
_BOUNDS = {
    "Positive": "exclusiveMinimum",
    "Negative": "exclusiveMaximum",
    "NonNegative": "minimum",
    "NonPositive": "maximum",
}
BASIC: dict[str, dict[str, Any]] = {
    **{name: {"format": format_, "type": "string"} for format_, names in _FORMATS.items() for name in names.split()},
    **{
        name: {"format": format_, "minLength": 1, "type": "string"}
        for format_, names in _ADDRESSES.items()
        for name in names.split()
    },
    **{f"{sign}Int": {keyword: 0, "type": "integer"} for sign, keyword in _BOUNDS.items()},
    **{f"{sign}Float": {keyword: 0, "type": "number"} for sign, keyword in _BOUNDS.items()},
    **{name: {"type": "string"} for name in ("str", "Text", "complex", "StrictStr", "ImportString")},
    **{name: {"type": "integer"} for name in ("int", "StrictInt")},
    **{name: {"type": "number"} for name in ("float", "StrictFloat", "FiniteFloat")},
    **{name: {"type": "boolean"} for name in ("bool", "StrictBool")},
    **{
        name: {"format": "uri", "maxLength": 2083, "minLength": 1, "type": "string"}
        for name in ("WebsocketUrl", "HttpUrl")
    },
    **{name: {"format": "password", "type": "string", "writeOnly": True} for name in ("SecretStr", "SecretBytes")},
    "NoneType": {"type": "null"},
    "AnyStr": {"anyOf": [{"format": "binary", "type": "string"}, {"type": "string"}]},
    "Decimal": {"anyOf": [DecimalNumber(type="number"), {"type": "string"}]},
    "Fraction": {"anyOf": [{"type": "number"}, {"format": "fraction", "type": "string"}]},
    "Json": {"contentMediaType": "application/json", "contentSchema": {}, "type": "string"},
    "ByteSize": {
        "anyOf": [{"pattern": "^\\s*(\\d*\\.?\\d+)\\s*(\\w+)?", "type": "string"}, {"minimum": 0, "type": "integer"}]
    },
}
"""The schema of each type without parameters."""

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
    names: set[str] = set()
    waiting: list[tuple[Any, bool]] = [(schema, False)]
    while waiting:
        node, is_named = waiting.pop()
        if isinstance(node, list):
            waiting += [(child, False) for child in node]
        elif isinstance(node, dict):
            target = node.get("$ref")
            if isinstance(target, str):
                names.add(target)
            waiting += [
                (value, key in ("properties", "$defs") and not is_named)
                for key, value in node.items()
                if is_named or key not in _DATA
            ]
    return names


def with_names(node: Any, renamed: dict[str, str]) -> Any:
    """A schema with some definitions renamed."""
    if isinstance(node, list):
        return [with_names(child, renamed) for child in node]
    if not isinstance(node, dict):
        return node
    result = SourceDict()
    for key, value in node.items():
        if key == "$defs" and isinstance(value, dict):
            result[key] = {renamed.get(name, name): with_names(child, renamed) for name, child in value.items()}
        elif key in _DATA:
            result[key] = value
        elif isinstance(value, str):
            name = value.removeprefix("#/$defs/")
            result[key] = f"#/$defs/{renamed[name]}" if name != value and name in renamed else value
        else:
            result[key] = with_names(value, renamed)
    if isinstance(node, SourceDict):
        result.origins = node.origins
    return result


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
    result = SourceDict()
    for key in value if names else sorted(value):
        item = value[key]
        is_data = type(item) is str or (key in _DATA and not names)
        result[key] = item if is_data else ordered(item, names=key == "properties" and not names)
    if isinstance(value, SourceDict):
        result.origins = value.origins
    return result


def clean_docstring(node: ast.ClassDef) -> str | None:
    text = ast.get_docstring(node, clean=False)
    return inspect.cleandoc(text) if text else None
