"""Options that commands share: which rules and tools, how to fix, what to record, where the store is.

Each group has a function beside it that parses it into a part of a request. Options that name targets are in
`target_options`, those for formats and files in `outputs`.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from mcproof.cli.command import RECORDING, Option, Options, whole_number, words
from mcproof.core.errors import ConfigError, UsageError
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.files import leaves_folder
from mcproof.runs.config import Settings, StoreSettings, settings_for
from mcproof.runs.requests import CallOptions, GivenArguments, Policy, RuleSelection, SettingsSource

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

CALLS = "Calls"
"""The title of a group of options."""
_PATTERNS = "wildcards * and ? allowed; comma-separated, repeatable"

ANSWER = Option(
    CALLS,
    "--answer FILE",
    "answer what the server asks the user, a model or for roots, with the replies in this YAML or JSON file",
)
SECURITY = Option(
    CALLS,
    "--security",
    "also send hostile arguments: path traversal, injected commands, SQL and templates, loopback URLs",
    to="security",
)
PERMISSIONS = Options(
    Option(CALLS, "--allow TOOL", f"call these tools although they may change something; {_PATTERNS}", repeatable=True),
    Option(
        CALLS, "--deny, --skip TOOL", f"never call these tools, whatever else allows it; {_PATTERNS}", repeatable=True
    ),
)


def parse_calls(options: argparse.Namespace) -> CallOptions:
    return CallOptions(
        tools=words(options.tool),
        allow=words(options.allow),
        deny=words(options.deny),
        allow_writes=options.allow_writes,
        arguments=tuple(argument for word in options.args for argument in _given(word)),
        limit=options.max_call_ms / 1000,
        template=options.write_args,
        stores_failures=getattr(options, "stores_failures", True),
    )


CALL_OPTIONS = Options(
    Option(CALLS, "--tool NAME", f"call only these tools; {_PATTERNS}", repeatable=True),
    PERMISSIONS,
    Option(CALLS, "--allow-writes", "call every tool, also those that may change something"),
    Option(
        CALLS,
        "--args [TOOL=]JSON",
        "valid arguments for a tool, instead of generated ones; @FILE reads an object with arguments by tool; "
        "repeatable",
        repeatable=True,
    ),
    Option(
        CALLS, "--write-args FILE", "write arguments for each tool to a JSON file, to edit and pass as --args @FILE"
    ),
    Option(
        CALLS,
        "--max-call-ms N",
        "time limit for a call, after which it counts as a hang (default 10000)",
        type=whole_number("milliseconds", 1, 3_600_000),
        default=10_000,
    ),
    ANSWER,
    calls=parse_calls,
)


def _given(word: str) -> Iterator[GivenArguments]:
    """Parse a value of `--args`: `JSON`, `TOOL=JSON` or `@FILE`."""
    if word.startswith("@"):
        for tool, values in read_object(word[1:]).items():
            yield GivenArguments(tool, _object(values, f"--args {word}: `{tool}`"))
        return
    # `{"a": "x=y"}` has an equals sign too, so what begins with a brace is JSON as a whole.
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
        place = f"(line {error.lineno}, column {error.colno})"
        # `--args arguments.json` is the usual mistake, and its JSON error says nothing to the user.
        hint = f"; did you mean `@{text}`?" if _is_file_name(text) else ""
        raise UsageError(f"{what}: not JSON: {error.msg.lower()} {place}{hint}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{what}: JSON that cannot be read") from None


def _is_file_name(text: str) -> bool:
    """Whether what should be JSON is more likely the name of a file with it."""
    return text.endswith(".json") and len(text) < 200 and not any(character in text for character in "{[\n")


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{what}: arguments are a JSON object")
    return value


RULES, POLICY, FIXING = "Rules", "Failing and configuration", "Fixing"
"""Titles of groups of options."""
FAIL_ON = ("error", "warning", "note", "never")
_RULE = "a rule's id or name, or a ruleset; comma-separated, repeatable"


def parse_selection(options: argparse.Namespace) -> RuleSelection:
    return RuleSelection(words(getattr(options, "ruleset", [])), words(options.select), words(options.ignore))


SELECTION = Options(
    Option(RULES, "--select RULE", f"run only these: {_RULE}", repeatable=True),
    Option(RULES, "--ignore RULE", f"do not run these: {_RULE}", repeatable=True),
    rules=parse_selection,
)
COMPARISON = (
    Option("Comparing", "--locked", "fail on any difference from mcproof.lock", to="locked"),
    Option("Comparing", "--against CAPTURE", "report how the server differs from this capture", to="against"),
)
"""An earlier state to compare with."""
CONFIG = Options(
    Option(POLICY, "--config FILE", "use this configuration, not the nearest above each target"),
    Option(POLICY, "--no-config", "use no configuration"),
)


def parse_config(options: argparse.Namespace) -> SettingsSource:
    config, is_disabled = getattr(options, "config", None), getattr(options, "no_config", False)
    if config is not None and is_disabled:
        raise UsageError("--config and --no-config exclude each other")
    return SettingsSource(config, is_disabled)


def policy(fail_on: str) -> Options:
    """The options for configuration, baseline and failing level, with the default of the last."""
    if fail_on in FAIL_ON:
        levels: tuple[str, ...] = FAIL_ON
        meaning = f"exit 1 on findings at or above this level (default {fail_on})"
    else:
        levels = (fail_on, *FAIL_ON)
        meaning = f"exit 1 on: {fail_on}, what the server did wrong (the default), or findings at or above a level"
    return Options(
        Option(POLICY, "--fail-on", meaning, choices=levels),
        CONFIG,
        Option(POLICY, "--baseline FILE", "accept the findings in this file; fail on new ones"),
        Option(POLICY, "--update-baseline", "accept current findings: write the baseline"),
        Option(POLICY, "--require-conclusive", "exit 1 also if less than half of what there is to judge was judged"),
        policy=parse_policy,
    )


def parse_policy(options: argparse.Namespace) -> Policy:
    return Policy(
        parse_config(options),
        options.fail_on,
        options.baseline,
        options.update_baseline,
        options.require_conclusive,
    )


class FixOptions(NamedTuple):
    """How to fix, and what to do with the fixed files: print, replace or show them as a diff."""

    prints_diff: bool
    writes: bool
    keep_optional: bool


def _fixing(help_of_fix: str) -> tuple[Option, ...]:
    return (
        Option(FIXING, "--fix", help_of_fix),
        Option(FIXING, "--write", "with --fix: replace the files instead of printing"),
        Option(FIXING, "--diff", "print what --fix would change; change nothing"),
    )


STRICT_FIXING = Options(
    *_fixing("print the tightened catalog or Python file"),
    Option(
        FIXING, "--keep-optional", "leave parameters with a default, or that may be null, out of a new `required` list"
    ),
)
CLIENT_FIXING = Options(
    *_fixing("print the snapshot with the edits that help clients and harm none"),
    Option(
        FIXING,
        "--for NAME[@VERSION]",
        "with --fix or --diff: fix for these clients (default: all), comma-separated, repeatable",
        repeatable=True,
        dest="for_clients",
    ),
    clients=lambda options: words(options.client or options.for_clients),
)


def parse_fixing(options: argparse.Namespace) -> FixOptions | None:
    """Parse the options for fixing; None for no fix. Raises a UsageError if they contradict others."""
    # Commands without these options share the path to here, and their namespace has no such names.
    if "fix" not in options:
        return None
    wanted, keep_optional = options.fix or options.diff, getattr(options, "keep_optional", False)
    if options.write and options.diff:
        raise UsageError("--write and --diff exclude each other: --diff changes nothing")
    if options.write and not options.fix:
        raise UsageError("--write needs --fix")
    if keep_optional and not wanted:
        raise UsageError("--keep-optional needs --fix or --diff")
    # Before anything is read: nothing could be undone by then, and nothing would be written.
    if options.write and "-" in options.targets:
        raise UsageError("--write needs a file: standard input cannot be replaced")
    if options.diff and options.format != "text":
        raise UsageError(f"--diff prints a diff; it does not go with --format {options.format}")
    if wanted and (options.output or options.report or options.update_baseline):
        raise UsageError("--fix and --diff print no report; for --output, --report or --update-baseline, run again")
    if wanted and (getattr(options, "locked", False) or getattr(options, "against", None) is not None):
        raise UsageError("--locked and --against compare catalogs, and nothing is compared with --fix")
    for_clients = getattr(options, "for_clients", None)
    if for_clients and not wanted:
        raise UsageError("--for needs --fix or --diff; --client chooses the clients of a report")
    if wanted and for_clients is not None and (options.client or options.require or options.min_clients is not None):
        raise UsageError("--client, --require and --min-clients are about the report; --fix takes --for")
    return FixOptions(options.diff, options.write, keep_optional) if wanted else None


class RecordOptions(NamedTuple):
    """Where to record a run, and as what."""

    name: str | None = None
    """The name of the server in the store; None for the target."""
    database: str | None = None
    """A file or a URL; None for the user's own store."""


DATABASE = Option(
    RECORDING,
    "--database URL",
    "the store: a file, or postgresql://… (default: as configured, or a file in the user's data folder)",
)


def store(config: str = "use this configuration, not the nearest above this folder") -> Options:
    """The options for the store and for the configuration that may name it, which means `config`."""
    return Options(
        DATABASE,
        Option(RECORDING, "--config FILE", config),
        Option(RECORDING, "--no-config", "use no configuration"),
    )


def parse_store(options: argparse.Namespace) -> StoreSettings:
    """Return the settings of the store, for a command that reads or changes it."""
    return store_settings(parse_config(options), options.database)


RECORD_OPTIONS = Options(
    Option(RECORDING, "--record", "keep the result in the store, for `mcproof history`"),
    Option(
        RECORDING,
        "--name NAME",
        "the server's name in the store (default: what a started server calls itself, else the target)",
    ),
    DATABASE,
)


def parse_recording(options: argparse.Namespace) -> RecordOptions | None:
    if getattr(options, "record", False):
        if options.name is not None and not options.name.strip():
            raise UsageError("`--name` is blank")
        return RecordOptions(options.name, parse_store(options).database)
    if getattr(options, "name", None) is not None or getattr(options, "database", None) is not None:
        raise UsageError("`--name` and `--database` are for `--record`")
    return None


VARIABLE = r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}"
"""A reference to a variable of the environment. A text, as no usual command line has one."""


def store_settings(source: SettingsSource, database: str | None = None) -> StoreSettings:
    """Return the settings of the store; `database` is what the command line names.

    A configuration that was found in the tree may come from a stranger. It may name a file in its own folder, but
    nothing else: no file elsewhere, and no server that results would be sent to. Raises a ConfigError if it does.
    """
    given = source.given()
    # A named file is trusted, as the user has chosen it; one that was found is not.
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

    def value_of(variable: re.Match[str]) -> str:
        value = os.environ.get(variable[1])
        if value is None:
            file, line = settings.locations["store"]
            raise ConfigError(f"the environment variable {variable[1]} is not set", file=file, line=line)
        # In a URL, an `@` or `/` in a password would change the host.
        return quote(value, safe="")

    return re.sub(VARIABLE, value_of, database) if "://" in database else database
