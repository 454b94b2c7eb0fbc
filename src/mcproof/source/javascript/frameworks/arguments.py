"""Packages that read the arguments of a command: what a program gets from them if none is given.

No argument counts as given, so each option has its default, and the command without a name runs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.source.javascript.interp.builtins import argument
from mcproof.source.javascript.interp.functions import NativeFunction
from mcproof.source.javascript.interp.interpreter import default_of
from mcproof.source.javascript.interp.members import call_value, get_member, pass_on
from mcproof.source.javascript.values import UNDEFINED, JsArray, JsObject, JsPromise, Library, Unknown

if TYPE_CHECKING:
    from mcproof.source.javascript.frameworks.host import McpHost
    from mcproof.source.javascript.values import Value

PACKAGES = frozenset(("commander", "meow", "minimist", "mri", "yargs", "yargs-parser"))
CLASSES = (
    (frozenset(("createCommand", "addCommand", "requiredOption", "opts")), Library("commander", ("Command",))),
    (frozenset(("demandOption", "parseSync", "showHelpOnFail", "strictCommands")), Library("yargs", ("yargs",))),
)
"""The classes of these packages that a bundle may hold, by the names of their methods."""
_REASON = "the arguments of the command are not known"
_LONG_FLAG = re.compile(r"--(no-)?([\w-]+)")
_MAIN = ("$0", "*")
"""Names of the command that runs if none is named."""


class ParserValue:
    """A parser of arguments that a program declares."""

    def __init__(self, host: McpHost, package: str) -> None:
        self.package = package
        self.value = host.wrapped(self)
        self.parsed = JsObject({"_": JsArray([])}, is_open=True)
        self.parsed.is_closed_by_default = True
        self.main: Value = UNDEFINED
        """What runs if no command is named."""
        self.arity = 0
        """How many arguments without a name that gets before the options."""

    def declare(self, name: str, default: Value) -> None:
        """Declare an option, under each way to write its name."""
        by_default = Unknown(_REASON, (default_of(default),), is_default=True)
        self.parsed.members[name] = self.parsed.members[_camel(name)] = by_default


def _camel(name: str) -> str:
    return re.sub(r"-(\w)", lambda match: match[1].upper(), name)


def create(host: McpHost, library: Library) -> Value:
    """The parser that a class or a function of such a package makes."""
    return ParserValue(host, library.package).value


def library_member(host: McpHost, library: Library, name: str) -> Value:
    """What such a package exports under a name, if it is a parser or what one has parsed; else None."""
    if library.package == "commander" and name == "program":
        host.program = host.program or create(host, library)
        return host.program
    return ParserValue(host, library.package).parsed if library.package == "yargs" and name == "argv" else None


def member(host: McpHost, parser: ParserValue, name: str) -> Value:
    if name == "argv":
        return _run(host, parser)
    return NativeFunction(name, lambda this, given: call(host, parser, name, given))


def call(host: McpHost, parser: ParserValue, name: str, given: list[Value]) -> Value:
    """Call a method of a parser."""
    first = default_of(argument(given, 0))
    match name:
        case "option" | "options" | "requiredOption" | "positional" | "default" | "boolean" | "string" | "number":
            _declare(host, parser, first, given[1:])
        case "argument" | "arguments":
            parser.arity += 1
        case "command" if parser.package == "commander":
            return create(host, Library("commander", ("Command",)))  # runs only where it is named
        case "command":
            _command(host, parser, first, given)
        case "action" if argument(given, 0) is not UNDEFINED:
            parser.main = given[0]
            pass_on(host.run, given)
        case "opts" | "optsWithGlobals":
            return parser.parsed
        case "parse" | "parseSync" | "parseAsync":
            parsed = _run(host, parser)
            return JsPromise(parsed) if name == "parseAsync" else parsed
        case "getOptionValue":
            return get_member(host.run, parser.parsed, str(first))
        case _:
            pass_on(host.run, given)
    return parser.value


def _declare(host: McpHost, parser: ParserValue, first: Value, rest: list[Value]) -> None:
    """`option(name, {default})` of yargs, an object of several, and `option("-p, --port <n>", text, default)`."""
    if isinstance(first, JsObject):
        for name, options in first.members.items():
            _declare(host, parser, name, [options])
    elif isinstance(first, str) and parser.package == "commander":
        flag = _LONG_FLAG.search(first)
        default = next((value for value in reversed(rest[1:]) if not getattr(value, "is_callable", False)), UNDEFINED)
        if flag is not None:
            parser.declare(flag[2], True if flag[1] and default is UNDEFINED else default)
    elif isinstance(first, str):
        options = default_of(argument(rest, 0))
        is_object = isinstance(options, JsObject)
        parser.declare(first, get_member(host.run, options, "default") if is_object else UNDEFINED)


def _command(host: McpHost, parser: ParserValue, first: Value, given: list[Value]) -> None:
    """`command(name, text, builder, handler)` of yargs, or an object with these members."""
    parts = given[1:]
    if isinstance(first, JsObject):
        parts = [get_member(host.run, first, name) for name in ("builder", "handler")]
        first = default_of(get_member(host.run, first, "command"))
    names = [default_of(name) for name in first.items] if isinstance(first, JsArray) else [first]
    if not any(isinstance(name, str) and name.startswith(_MAIN) for name in names):
        pass_on(host.run, parts)
        return
    functions = [part for part in parts if getattr(part, "is_callable", False)]
    if isinstance(options := next(iter(parts), None), JsObject) and functions[:1] != [options]:
        _declare(host, parser, options, [])
    if len(functions) > 1:
        call_value(host.run, functions[0], UNDEFINED, [parser.value], None)
    parser.main = functions[-1] if functions else UNDEFINED


def _run(host: McpHost, parser: ParserValue) -> Value:
    """Run what runs if no command is named, and return what is parsed."""
    main, parser.main = parser.main, UNDEFINED
    if main is not UNDEFINED:
        given = [UNDEFINED] * parser.arity
        call_value(host.run, main, UNDEFINED, [*given, parser.parsed, parser.value], None)
    return parser.value if parser.package == "commander" else parser.parsed


def call_function(host: McpHost, library: Library, name: str, given: list[Value]) -> Value:
    """What a function of such a package, or `parseArgs` of Node, returns; None if nothing is known of it."""
    if library.package == "util" and name == "parseArgs":
        return JsObject({"values": _defaults(host, argument(given, 0), "options"), "positionals": JsArray([])})
    if library.package not in PACKAGES or name in ("hideBin", "Help"):
        return None
    if library.package in ("minimist", "mri", "yargs-parser"):
        return _defaults(host, argument(given, 1), "default")
    if library.package == "meow":
        options = default_of(argument(given, 1) if argument(given, 1) is not UNDEFINED else argument(given, 0))
        return JsObject({"flags": _defaults(host, options, "flags"), "input": JsArray([])}, is_open=True)
    if library.package == "yargs" or name == "createCommand":
        parser = create(host, library)
        is_factory = name in ("yargs", "default", "createCommand")
        return parser if is_factory else call(host, parser.native, name, given)
    return None


def _defaults(host: McpHost, options: Value, key: str) -> JsObject:
    """An object of defaults, which are members of an object or of the objects in it."""
    parser = ParserValue(host, "")
    declared = default_of(get_member(host.run, default_of(options), key))
    for name, member in declared.members.items() if isinstance(declared, JsObject) else ():
        default = default_of(member)
        parser.declare(name, get_member(host.run, default, "default") if isinstance(default, JsObject) else member)
    return parser.parsed
