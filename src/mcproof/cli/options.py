"""Options that commands share: which rules and tools, how to fix, what to record, where the store is.

Each group adds its arguments to a parser and parses them into a part of a request. Options that name targets are in
`target_options`, those for formats and files in `outputs`.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.cli.parser import Parser, whole_number, words
from mcproof.core.errors import ConfigError, UsageError
from mcproof.core.text.files import leaves_folder
from mcproof.runs.config import Settings, StoreSettings, settings_for
from mcproof.runs.planning import given_settings
from mcproof.runs.requests import CallOptions, GivenArguments, Policy, RuleSelection, SettingsSource

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


CALLS = "Calls"
"""The title of a group of options."""

_PATTERNS = "wildcards * and ? allowed; comma-separated, repeatable"


def add_calls(parser: Parser) -> None:
    group = parser.group(CALLS)
    group.add_argument(
        "--tool",
        action="append",
        default=[],
        metavar="NAME",
        help=f"call only these tools; {_PATTERNS}",
    )
    add_permissions(parser)
    group.add_argument(
        "--allow-writes", action="store_true", help="call every tool, also those that may change something"
    )
    group.add_argument(
        "--args",
        action="append",
        default=[],
        metavar="[TOOL=]JSON",
        help="valid arguments for a tool, instead of generated ones; @FILE reads an object with arguments by tool; "
        "repeatable",
    )
    group.add_argument(
        "--max-call-ms",
        type=whole_number("milliseconds", 1, 3_600_000),
        default=10_000,
        metavar="N",
        help="time limit for a call, after which it counts as a hang (default 10000)",
    )
    add_answer(parser)


def add_answer(parser: Parser) -> None:
    parser.group(CALLS).add_argument(
        "--answer",
        metavar="FILE",
        help="answer what the server asks the user, a model or for roots, with the replies in this YAML or JSON file",
    )


def add_security(parser: Parser) -> None:
    parser.group(CALLS).add_argument(
        "--security",
        action="store_true",
        help="also send hostile arguments: path traversal, injected commands, SQL and templates, loopback URLs",
    )


def add_permissions(parser: Parser) -> None:
    group = parser.group(CALLS)
    group.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="TOOL",
        help=f"call these tools although they may change something; {_PATTERNS}",
    )
    group.add_argument(
        "--deny",
        "--skip",
        action="append",
        default=[],
        metavar="TOOL",
        help=f"never call these tools, whatever else allows it; {_PATTERNS}",
    )


def parse_calls(options: argparse.Namespace) -> CallOptions:
    return CallOptions(
        tools=words(options.tool),
        allow=words(options.allow),
        deny=words(options.deny),
        allow_writes=options.allow_writes,
        arguments=tuple(each for word in options.args for each in _given(word)),
        limit=options.max_call_ms / 1000,
    )


def _given(word: str) -> Iterator[GivenArguments]:
    """Parse a value of `--args`: `JSON`, `TOOL=JSON` or `@FILE`."""
    if word.startswith("@"):
        for tool, values in read_object(word[1:]).items():
            yield GivenArguments(tool, _object(values, f"--args {word}: `{tool}`"))
        return
    tool, equals, text = word.partition("=")
    if not equals or tool.lstrip().startswith("{"):
        yield GivenArguments(None, parse_object(word, "--args"))
    else:
        yield GivenArguments(tool, parse_object(text, f"--args of `{tool}`"))


def read_object(name: str) -> dict[str, Any]:
    """Read a JSON object from a file, or `-` for standard input. Raises McproofError."""
    from mcproof.targets.arguments import Input, decoded, read_bytes

    source = Input(name)
    return parse_object(decoded(read_bytes(source), source.title), source.title)


def parse_object(text: str, what: str) -> dict[str, Any]:
    """Parse a JSON object. Raises a UsageError that names it `what`."""
    return _object(_json(text, what), what)


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{what}: not JSON: {error.msg.lower()} (line {error.lineno}, column {error.colno})") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{what}: JSON that cannot be read") from None


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{what}: arguments are a JSON object")
    return value


RULES, POLICY = "Rules", "Failing and configuration"
"""Titles of groups of options."""
FAIL_ON = ("error", "warning", "note", "never")


def add_selection(parser: Parser) -> None:
    rule = "a rule's id or name, or a ruleset; comma-separated, repeatable"
    group = parser.group(RULES)
    group.add_argument("--select", action="append", default=[], metavar="RULE", help=f"run only these: {rule}")
    group.add_argument("--ignore", action="append", default=[], metavar="RULE", help=f"do not run these: {rule}")


def parse_selection(options: argparse.Namespace, rulesets: tuple[str, ...] = ()) -> RuleSelection:
    return RuleSelection(rulesets, words(options.select), words(options.ignore))


def add_comparison(parser: Parser) -> None:
    """Add the options for an earlier state to compare with."""
    group = parser.group("Comparing")
    group.add_argument("--locked", action="store_true", help="fail on any difference from mcproof.lock")
    group.add_argument("--against", metavar="CAPTURE", help="report how the server differs from this capture")


def add_config(parser: Parser) -> None:
    group = parser.group(POLICY)
    group.add_argument("--config", metavar="FILE", help="use this configuration, not the nearest above each target")
    group.add_argument("--no-config", action="store_true", help="use no configuration")


def parse_config(options: argparse.Namespace) -> SettingsSource:
    if options.config is not None and options.no_config:
        raise UsageError("--config and --no-config exclude each other")
    return SettingsSource(options.config, options.no_config)


def add_policy(parser: Parser, fail_on: str) -> None:
    """Add the options for configuration, baseline and failing level, with the default of the last."""
    group = parser.group(POLICY)
    if fail_on in FAIL_ON:
        meaning = f"exit 1 on findings at or above this level (default {fail_on})"
        group.add_argument("--fail-on", choices=FAIL_ON, help=meaning)
    else:
        meaning = f"exit 1 on: {fail_on}, what the server did wrong (the default), or findings at or above a level"
        group.add_argument("--fail-on", choices=(fail_on, *FAIL_ON), help=meaning)
    add_config(parser)
    group.add_argument("--baseline", metavar="FILE", help="accept the findings in this file; fail on new ones")
    group.add_argument("--update-baseline", action="store_true", help="accept current findings: write the baseline")


def parse_policy(options: argparse.Namespace) -> Policy:
    return Policy(parse_config(options), options.fail_on, options.baseline, options.update_baseline)


class FixOptions(NamedTuple):
    """How to fix, and what to do with the fixed files: print, replace or show them as a diff."""

    prints_diff: bool
    writes: bool
    keep_optional: bool


def add_fixing(parser: Parser) -> None:
    group = _add_fixing(parser, "print the tightened catalog or Python file")
    group.add_argument(
        "--keep-optional",
        action="store_true",
        help="leave parameters with a default, or that may be null, out of a new `required` list",
    )


def add_client_fixing(parser: Parser) -> None:
    group = _add_fixing(parser, "print the snapshot with the edits that help clients and harm none")
    group.add_argument(
        "--for",
        action="append",
        default=[],
        dest="for_clients",
        metavar="NAME[@VERSION]",
        help="with --fix or --diff: fix for these clients (default: all), comma-separated, repeatable",
    )
    parser.set_defaults(keep_optional=False)


def _add_fixing(parser: Parser, help_of_fix: str) -> argparse._ArgumentGroup:
    group = parser.group("Fixing")
    group.add_argument("--fix", action="store_true", help=help_of_fix)
    group.add_argument("--write", action="store_true", help="with --fix: replace the files instead of printing")
    group.add_argument("--diff", action="store_true", help="print what --fix would change; change nothing")
    return group


def parse_fixing(options: argparse.Namespace) -> FixOptions | None:
    """Parse the options of `add_fixing`; None for no fix. Raises a UsageError if they contradict others."""
    wanted = options.fix or options.diff
    if options.write and options.diff:
        raise UsageError("--write and --diff exclude each other: --diff changes nothing")
    if options.write and not options.fix:
        raise UsageError("--write needs --fix")
    if options.keep_optional and not wanted:
        raise UsageError("--keep-optional needs --fix or --diff")
    if options.write and "-" in options.targets:
        raise UsageError("--write needs a file: standard input cannot be replaced")
    if options.diff and options.format != "text":
        raise UsageError(f"--diff prints a diff; it does not go with --format {options.format}")
    if wanted and (options.output or options.report or options.update_baseline):
        raise UsageError("--fix and --diff print no report; for --output, --report or --update-baseline, run again")
    return FixOptions(options.diff, options.write, options.keep_optional) if wanted else None


RECORDING = "Store"
"""The title of a group of options."""


class RecordOptions(NamedTuple):
    """Where to record a run, and as what."""

    name: str | None = None
    """The name of the server in the store; None for the target."""
    database: str | None = None
    """A file or a URL; None for the user's own store."""


def add_database(parser: Parser) -> None:
    which = "the store: a file, or postgresql://… (default: as configured, or a file in the user's data folder)"
    parser.group(RECORDING).add_argument("--database", metavar="URL", help=which)


def add_store(parser: Parser, meaning: str = "use this configuration, not the nearest above this folder") -> None:
    """Add the options for the store and for the configuration that may name it."""
    add_database(parser)
    group = parser.group(RECORDING)
    group.add_argument("--config", metavar="FILE", help=meaning)
    group.add_argument("--no-config", action="store_true", help="use no configuration")


def parse_store(options: argparse.Namespace) -> StoreSettings:
    """Return the settings of the store, for a command that reads or changes it."""
    return store_settings(parse_config(options), options.database)


def add_recording(parser: Parser) -> None:
    group = parser.group(RECORDING)
    group.add_argument("--record", action="store_true", help="keep the result in the store, for `mcproof history`")
    group.add_argument("--name", metavar="NAME", help="the server's name in the store (default: the target)")
    add_database(parser)


def parse_recording(options: argparse.Namespace) -> RecordOptions | None:
    if getattr(options, "record", False):
        if options.name is not None and not options.name.strip():
            raise UsageError("`--name` is blank")
        return RecordOptions(options.name, parse_store(options).database)
    if getattr(options, "name", None) is not None or getattr(options, "database", None) is not None:
        raise UsageError("`--name` and `--database` are for `--record`")
    return None


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def store_settings(source: SettingsSource, database: str | None = None) -> StoreSettings:
    """Return the settings of the store; `database` is what the command line names.

    A configuration that was found in the tree may come from a stranger. It may name a file in its own folder, but
    nothing else: no file elsewhere, and no server that results would be sent to. Raises a ConfigError if it does.
    """
    given = given_settings(source)
    settings = settings_for(os.curdir) if given is None else given
    if database is not None or settings.store.database is None:
        return settings.store._replace(database=database)
    if given is None:
        _refuse_foreign(settings, settings.store.database)
    return settings.store._replace(database=_filled(settings, settings.store.database))


def _refuse_foreign(settings: Settings, database: str) -> None:
    problem = "is a server" if "://" in database else leaves_folder(database, os.path.dirname(settings.file or ""))
    if problem is not None:
        file, line = settings.locations["store"]
        message = f"the database {problem}; name it with --database, or trust this file with --config {file}"
        raise ConfigError(message, file=file, line=line)


def _filled(settings: Settings, database: str) -> str:
    """Return the URL of a database with its variables filled in."""
    from urllib.parse import quote

    def value_of(found: re.Match[str]) -> str:
        value = os.environ.get(found[1])
        if value is None:
            file, line = settings.locations["store"]
            raise ConfigError(f"the environment variable {found[1]} is not set", file=file, line=line)
        return quote(value, safe="")

    return _VARIABLE.sub(value_of, database) if "://" in database else database
