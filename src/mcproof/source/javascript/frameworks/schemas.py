"""Schemas of zod in the source: calls of the library, the versions that a project uses, and what a server lists.

A bundle may hold zod itself. It is recognized by the names that it exports, and by how it creates its schemas; what it
does is not followed.
"""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.interp.builtins import argument
from mcproof.source.javascript.interp.classes import JsClass
from mcproof.source.javascript.interp.functions import JsFunction, NativeFunction
from mcproof.source.javascript.interp.interpreter import default_of
from mcproof.source.javascript.interp.members import call_value, get_member
from mcproof.source.javascript.values import UNDEFINED, JsObject, Library, Unknown
from mcproof.source.javascript.zod.emitters import (
    NEWEST_CONVERTER,
    NEWEST_ZOD,
    Emitter,
    to_json_schema,
    zod_to_json_schema,
)
from mcproof.source.javascript.zod.functions import zod_call
from mcproof.source.javascript.zod.methods import VALUES, definition_of, zod_member, zod_method
from mcproof.source.javascript.zod.schema import Check, Deferred, ZodSchema

if TYPE_CHECKING:
    from mcproof.source.javascript.files import ProjectFiles
    from mcproof.source.javascript.frameworks.servers import Place
    from mcproof.source.javascript.interp.functions import FunctionCode
    from mcproof.source.javascript.interp.interpreter import Interpreter
    from mcproof.source.javascript.values import Value

Version = tuple[int, ...]
NEWEST: dict[str, dict[int, Version]] = {
    "zod": {3: (3, 25, 76), 4: NEWEST_ZOD},
    "@modelcontextprotocol/sdk": {1: (1, 32, 2)},
    "@modelcontextprotocol/server": {2: (2, 0, 0)},
    "zod-to-json-schema": {3: NEWEST_CONVERTER},
}
"""The newest version of each major version of a package, which a range allows."""
_MEMBERS = VALUES | {
    "description",
    "shape",
    "options",
    "enum",
    "Enum",
    "Values",
    "values",
    "value",
    "_def",
    "def",
    "_zod",
}


_OWNERS = {
    **dict.fromkeys(("in", "out"), ("pipe", "preprocess", "transform")),
    "shape": ("object",),
    "element": ("array",),
    "options": ("union", "enum"),
}
"""The kinds of schemas that have a member; others are undefined there."""


def call_zod(run: Interpreter, library: Library, given: list[Value], place: Place | None, zod: Version) -> Value:
    """What a function of zod returns."""
    module, path = module_of(library)

    def call(function: Value, arguments: Any) -> Value:
        return call_value(run, function, UNDEFINED, list(arguments), None)

    given = [default_of(value) for value in given]  # as if no variable of the environment was set
    if path and path[-1] == "toJSONSchema":
        return to_json_schema(
            argument(given, 0), argument(given, 1), zod if module != "zod/v4" else max(zod, (4, 0, 0))
        )
    if module == "zod":
        module = "zod/v3" if zod < (4,) else "zod/v4"
    schema = zod_call(path, given, call, module)
    if isinstance(schema, ZodSchema) and schema.node is None:
        schema.node = place
    return schema


def module_of(library: Library) -> tuple[str, tuple[str, ...]]:
    """The module of zod that something is from, such as `zod/v4`, and its path in it."""
    subpath = "".join(part for part in library.path if part[:1] == "/")
    path = tuple(part for part in library.path if part[:1] != "/")
    return library.package + subpath, path


def zod_value(run: Interpreter, schema: Value, name: str) -> Value:
    """A member of a schema: a value, or a method."""
    if isinstance(schema, ZodSchema) and name in ("_def", "def"):
        return _definition(schema)
    if isinstance(schema, ZodSchema) and schema.kind not in _OWNERS.get(name, (schema.kind,)):
        return UNDEFINED
    if isinstance(schema, ZodSchema) and name in _MEMBERS:
        return zod_member(schema, name)
    return NativeFunction(name, lambda this, given: call_schema(run, schema, name, given, None))


def _definition(schema: ZodSchema) -> Value:
    definition = definition_of(schema, is_zod4="/v4" in schema.module)
    for name, member in definition.members.items():
        if isinstance(member, Deferred):
            definition.members[name] = NativeFunction(name, functools.partial(_computed, member))
    return definition


def _computed(member: Deferred, this: Value, given: list[Value]) -> Value:
    return member.get()


def call_schema(
    run: Interpreter, schema: Value, name: str, given: list[Value], place: Place | None, zod: Version = NEWEST_ZOD
) -> Value:
    """What a method of a schema returns."""
    given = [default_of(value) for value in given]
    if name == "toJSONSchema":
        return to_json_schema(schema, argument(given, 0), zod)
    if not isinstance(schema, ZodSchema):
        return Unknown(f"what `{name}` returns is not known")
    if name in ("parse", "parseAsync", "safeParse", "safeParseAsync", "spa"):
        return Unknown("what a schema parses is not known")
    called = zod_method(
        schema, name, given, lambda function, arguments: call_value(run, function, UNDEFINED, list(arguments), None)
    )
    if isinstance(called, ZodSchema) and place is not None:
        called.node = place
    return called


_CLASS = re.compile(r"Zod[A-Z]\w+")
_KINDS = {"ZodType": "", "ZodSchema": "", "ZodTypeAny": "", "ZodNativeEnum": "enum", "ZodDiscriminatedUnion": "union"}
"""The kinds of schemas of classes with other names; an empty kind stands for any."""
_ONLY_OLD = frozenset(("ZodEffects", "ZodPipeline", "ZodBranded", "ZodNativeEnum", "ZodTransformer"))
_ONLY_NEW = frozenset(("ZodPipe", "ZodTransform", "ZodPrefault", "ZodNonOptional", "ZodFile", "ZodCheck"))


CLASSES_OF_ONE_VERSION = _ONLY_OLD | _ONLY_NEW


def has_class(name: str, zod: Version) -> bool:
    """Whether a version of zod has a class, as far as versions differ; true for anything else."""
    return name not in (_ONLY_OLD if zod >= (4,) else _ONLY_NEW)


def is_kind(value: Value, name: str) -> Value:
    """Whether a value is an instance of a class of zod."""
    if isinstance(value, Unknown) or not _CLASS.fullmatch(name):
        return Unknown("the class of a value is not known")
    if not isinstance(value, ZodSchema):
        return False
    kind = _KINDS.get(name, name[3].lower() + name[4:])
    return not kind or value.kind.replace("_", "").lower() == kind.lower()


def is_schema(value: Value) -> bool:
    return isinstance(value, (ZodSchema, Check))


def convert(given: list[Value], zod: Version, converter: Version) -> Value:
    """What `zodToJsonSchema(…)` returns."""
    return zod_to_json_schema(argument(given, 0), argument(given, 1), zod, converter)


class Versions:
    """The versions of libraries that the packages of a project use."""

    def __init__(self, files: ProjectFiles) -> None:
        self._files = files
        self._known: dict[tuple[str, str], Version] = {}
        self._locks: dict[str, dict[str, str]] = {}

    def of(self, package: str, path: str) -> Version | None:
        """The version of a package that a file of the project uses; None if nothing declares it."""
        folder = os.path.dirname(path)
        key = (package, folder)
        if key not in self._known:
            self._known[key] = self._find(package, folder) or ()
        return self._known[key] or None

    def _find(self, package: str, folder: str) -> Version | None:
        locked = self._lock().get(package)
        if locked is not None:
            return exact_version(locked)
        declared = self._files.version_of(package, folder)
        return newest_allowed(declared, NEWEST.get(package, {})) if declared is not None else None

    def _lock(self) -> dict[str, str]:
        top = self._files.top
        if top not in self._locks:
            lock = self._locks[top] = {}
            data = self._files.lock(top)
            for name in NEWEST:
                match = re.search(rf'"node_modules/{re.escape(name)}": \{{\s*"version": "([^"]+)"', data)
                match = match or re.search(rf"(?m)^\s*['\"/]*{re.escape(name)}@(\d[\w.-]*)", data)
                match = match or re.search(rf'(?m)^"?{re.escape(name)}@[^\n]*:\n\s+version:? "?(\d[\w.-]*)', data)
                if match is not None:
                    lock[name] = match[1]
        return self._locks[top]

    def zod(self, path: str) -> Version:
        """The version of zod: the declared one, or the one that the SDK brings."""
        version = self.of("zod", path)
        if version is not None:
            return version
        if self.of("mcp-framework", path) is not None or (self.of("fastmcp", path) or (4,)) < (4,):
            return (3, 25, 76)
        sdk = self.of("@modelcontextprotocol/sdk", path)
        # The converter of JSON Schema asks for a zod of its own, which is installed beside that of an old SDK.
        has_own = self.of("zod-to-json-schema", path) is not None
        return (3, 25, 76) if sdk is not None and sdk < (1, 23) and not has_own else NEWEST_ZOD

    def sdk(self, framework: str, package: str, path: str) -> Version:
        """The version of the SDK whose server lists what is registered; empty for other frameworks."""
        if framework != "sdk":
            return ()
        if package == "@modelcontextprotocol/server":
            return (2, 0, 0)
        return self.of("@modelcontextprotocol/sdk", path) or NEWEST["@modelcontextprotocol/sdk"][1]

    def emitter(self, framework: str, package: str, path: str) -> Emitter:
        """Who writes the schemas of a server."""
        zod = self.zod(path)
        converter = self.of("zod-to-json-schema", path) or NEWEST_CONVERTER
        if framework in ("sdk", "lowlevel"):
            return Emitter("sdk", self.sdk("sdk", package, path), zod, converter)
        is_supported = framework in ("fastmcp", "mastra", "tmcp", "mcp-framework")
        return Emitter(framework if is_supported else "sdk", self.of(package, path) or (999,), zod, converter)


def exact_version(text: str) -> Version | None:
    match = re.match(r"v?(\d+)\.(\d+)\.(\d+)", text)
    return tuple(int(part) for part in match.groups()) if match else None


def newest_allowed(range_: str, newest: dict[int, Version]) -> Version | None:
    """The newest version in a range of npm, as an installation chooses it."""
    if "zod@" in range_ or range_.startswith("npm:"):
        range_ = range_.rpartition("@")[2]
    versions = []
    for alternative in range_.split("||")[:10]:
        match = re.match(r"\s*(\^|~|>=|=|v)?\s*(\d+)(?:\.(\d+|x|\*))?(?:\.(\d+|x|\*))?", alternative)
        if match is None:
            continue
        sign, *parts = match.groups()
        numbers = tuple(int(part) for part in parts if part is not None and part.isdigit())
        limit = newest.get(numbers[0], (numbers[0], 999, 999))
        if sign == "^" or len(numbers) == 1:
            versions.append(max(limit, numbers))
        elif sign == "~" or len(numbers) == 2:
            versions.append((*numbers[:2], 999))
        elif sign == ">=":
            versions.append(max([*newest.values(), numbers]))
        else:
            versions.append(numbers)
    if not versions:
        return max(newest.values(), default=None) if range_.strip() in ("*", "latest", "") else None
    return max(versions)


def recognized_names(names: dict[str, Value]) -> Library | None:
    """The module of zod whose names an object has."""
    if isinstance(names.get("ZodObject"), JsFunction) and not isinstance(names["ZodObject"], JsClass):
        return None  # the functions by which a bundler gets what a module exports
    if "ZodObject" in names and "ZodString" in names and "object" in names and "string" in names:
        return Library("zod", ("/v3" if "ZodEffects" in names else "/v4", "z"))
    return None


_CREATES = re.compile(rb"typeName:\s*[\w$.]+\.(Zod[A-Z]\w+)")
_LONGEST_CREATOR = 1_200


def recognized_code(code: FunctionCode) -> Library | None:
    """The function of zod 3 that code creates schemas with: `ZodString.create`, which sets a `typeName`."""
    node = code.node
    if node.end_byte - node.start_byte > _LONGEST_CREATOR:
        return None
    text = code.module.source.data[node.start_byte : node.end_byte]
    if b"typeName" not in text:
        return None
    match = _CREATES.search(text)
    if match is None:
        return None
    name = match[1].decode().removeprefix("Zod")
    name = name[0].lower() + name[1:]
    if b'unknownKeys: "strict"' in text or b'unknownKeys:"strict"' in text:
        name = "strictObject"
    if name == "effects":
        name = "preprocess" if b"preprocess" in text else "effects"
    return Library("zod", ("/v3", "z", name))


def constructor_of(run: Interpreter, name: str) -> NativeFunction:
    """A class of zod 4 in a bundle: what it creates is known by the definition that it gets."""
    constructor = NativeFunction(name, lambda this, given: from_definition(run, argument(given, 0)))
    constructor.members["@@construct"] = NativeFunction(
        name, lambda this, given: from_definition(run, argument(given, 0))
    )
    return constructor


_OF_DEFINITION: dict[str, tuple[str, tuple[str, ...]]] = {
    "object": ("object", ("shape",)),
    "array": ("array", ("element",)),
    "optional": ("optional", ("innerType",)),
    "nullable": ("nullable", ("innerType",)),
    "nonoptional": ("nonoptional", ("innerType",)),
    "readonly": ("readonly", ("innerType",)),
    "promise": ("promise", ("innerType",)),
    "default": ("_default", ("innerType", "defaultValue")),
    "prefault": ("prefault", ("innerType", "defaultValue")),
    "catch": ("_catch", ("innerType", "catchValue")),
    "enum": ("enum", ("entries",)),
    "literal": ("literal", ("values",)),
    "union": ("union", ("options",)),
    "intersection": ("intersection", ("left", "right")),
    "tuple": ("tuple", ("items", "rest")),
    "record": ("record", ("keyType", "valueType")),
    "map": ("map", ("keyType", "valueType")),
    "set": ("set", ("valueType",)),
    "pipe": ("pipe", ("in", "out")),
    "lazy": ("lazy", ("getter",)),
    "transform": ("transform", ("transform",)),
    "custom": ("custom", ()),
}


def from_definition(run: Interpreter, definition: Value) -> Value:
    """The schema of zod 4 with a definition such as `{type: "array", element: …}`."""
    if not isinstance(definition, JsObject):
        return Unknown("the definition of a schema is not known")

    def call(function: Value, arguments: Any) -> Value:
        return call_value(run, function, UNDEFINED, list(arguments), None)

    def member(name: str) -> Value:
        return get_member(run, definition, name)

    kind = member("type")
    if not isinstance(kind, str):
        check = member("check")
        return Check(check, ()) if isinstance(check, str) else Unknown("the definition of a schema is not known")
    name, parts = _OF_DEFINITION.get(kind, (kind, ()))
    arguments = [member(part) for part in parts]
    if kind == "union" and isinstance(member("discriminator"), str):
        name, arguments = "discriminatedUnion", [member("discriminator"), *arguments]
    if kind == "tuple" and arguments[1] is None:
        arguments = arguments[:1]
    if kind == "string" and isinstance(member("format"), str):
        name = str(member("format"))
    if kind == "number" and isinstance(member("format"), str):
        name = str(member("format")).replace("safeint", "int")
    schema = zod_call(("z", name), arguments, call, "zod/v4")
    if not isinstance(schema, ZodSchema):
        return schema
    if kind == "object":
        extra = member("catchall")
        if isinstance(extra, ZodSchema):
            method = {"never": "strict", "unknown": "loose"}.get(extra.kind, "catchall")
            schema = zod_method(schema, method, [extra], call)
    if member("coerce") is True:
        schema.facts["coerce"] = True
    return schema
