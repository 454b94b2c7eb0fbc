"""`mcproof config`."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from mcproof.checks.rule import RULESETS, Thresholds
from mcproof.cli.command import ARGUMENTS, Command, Option
from mcproof.cli.options import CONFIG, parse_config
from mcproof.cli.outputs import OUTPUT, TEXT_OR_JSON
from mcproof.core.console import Style, display_width, padded, print_lines
from mcproof.core.errors import OK, UsageError
from mcproof.core.named_tuple import NamedTuple
from mcproof.runs.config import directory_of, settings_for
from mcproof.runs.records import SCHEMA_VERSION, schema_text
from mcproof.targets.arguments import shown_target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from mcproof.checks.ignores import IgnoreFor
    from mcproof.runs.config import Settings, WatchEntry
    from mcproof.runs.requests import SettingsSource

DEFAULT = "default"


def _config(options: argparse.Namespace) -> int:
    if options.schema:
        if options.target is not None or options.config is not None or options.no_config:
            raise UsageError("--schema is the same for every target and configuration; it takes neither")
        sys.stdout.write(schema_text("mcproof-toml"))
        return OK
    settings = _settings(options.target, parse_config(options))
    if options.format == "json":
        sys.stdout.write(json.dumps(_document(settings), indent=2) + "\n")
    else:
        print_lines(_lines(settings, Style.of(sys.stdout)), sys.stdout)
    return OK


def _settings(target: str | None, source: SettingsSource) -> Settings:
    given = source.given()
    if given is not None:
        return given
    here = settings_for(os.curdir)
    if target is None:
        return here
    # A file wins over a name, as it does in every command.
    resolved = target if os.path.lexists(target) else here.targets.get(target, target)
    return settings_for(directory_of(resolved)) if isinstance(resolved, str) else here


class _Shown(NamedTuple):
    """The value of a setting, and the line that sets it; None for a default."""

    value: Any
    line: int | None


def _simple(settings: Settings) -> dict[str, _Shown]:
    """The settings with one value each; the defaults are those of `lint`."""
    default_rulesets = [ruleset.name for ruleset in RULESETS.values() if ruleset.is_default]
    values = {
        "rulesets": list(settings.rulesets) or default_rulesets,
        "select": list(settings.select),
        "ignore": list(settings.ignore),
        "fail-on": settings.fail_on or "error",
        "min-grade": settings.min_grade,
        "max-tokens": settings.max_tokens,
        "baseline": settings.baseline,
        "limits": {"timeout": settings.timeout},
        "clients": list(settings.clients),
        "client-profiles": sorted(settings.client_profiles),
        "scan": {**Thresholds()._asdict(), **settings.thresholds},
        "store": {**settings.store._asdict(), "database": _without_secrets(settings.store.database)},
    }
    return {key: _Shown(value, _line(settings, key)) for key, value in values.items()}


def _without_secrets(database: str | None) -> str | None:
    return database if database is None or "://" not in database else shown_target(database)


def _line(settings: Settings, key: str) -> int | None:
    place = settings.locations.get(key)
    return place.line if place is not None else None


def _document(settings: Settings) -> dict[str, Any]:
    shown = {
        **_simple(settings),
        "severity": _Shown(
            [
                {"rule": rule, "severity": word, "line": _line(settings, f"severity.{rule}")}
                for rule, word in settings.severity.items()
            ],
            _line(settings, "severity"),
        ),
        "ignore-for": _Shown([_ignore_record(ignore) for ignore in settings.ignores], _line(settings, "ignore-for")),
        "targets": _Shown(
            [
                {"name": name, "target": shown_target(target), "line": _line(settings, f"targets.{name}")}
                for name, target in settings.targets.items()
            ],
            _line(settings, "targets"),
        ),
        "watch": _Shown([_watch_record(watch) for watch in settings.watches], _line(settings, "watch")),
    }
    keys = json.loads(schema_text("mcproof-toml"))["properties"]  # in the order of the documentation
    return {
        "schema_version": SCHEMA_VERSION,
        "file": settings.file,
        "settings": {
            key: {"value": value, "from": DEFAULT if line is None else settings.file, "line": line}
            for key, (value, line) in ((key, shown[key]) for key in keys)
        },
    }


def _ignore_record(ignore: IgnoreFor) -> dict[str, Any]:
    return {
        "kind": ignore.kind,
        "glob": ignore.glob,
        "rules": sorted(ignore.rules),
        "named": list(ignore.named),
        "reason": ignore.reason,
        "line": ignore.location.line,
    }


def _watch_record(watch: WatchEntry) -> dict[str, Any]:
    return {
        "name": watch.name,
        "target": shown_target(watch.target),
        "every": watch.every,
        "checks": list(watch.checks),
        "line": watch.location.line,
    }


def _lines(settings: Settings, style: Style) -> Iterator[str]:
    file = settings.file
    yield f"configuration: {style.text(file)}\n" if file is not None else "no configuration; these are the defaults\n"

    def origin(line: int | None) -> str:
        return DEFAULT if line is None else f"{file}:{line}"

    simple = _simple(settings)
    rows = [[key, _text(shown.value, _UNITS.get(key, "")), origin(shown.line)] for key, shown in simple.items()]
    if simple["fail-on"].line is None:
        rows[list(simple).index("fail-on")][-1] = f"{DEFAULT} (schema-lint: note)"
    yield from _table("", rows, style)
    severities = settings.severity.items()
    rows = [[rule, word, origin(_line(settings, f"severity.{rule}"))] for rule, word in severities]
    yield from _table("severity", rows, style)
    yield from _table("ignore-for", [_ignore_row(ignore, style) for ignore in settings.ignores], style)
    targets = settings.targets.items()
    rows = [[name, shown_target(target), origin(_line(settings, f"targets.{name}"))] for name, target in targets]
    yield from _table("targets", rows, style)
    yield from _table("watch", [_watch_row(watch) for watch in settings.watches], style)


_UNITS = {"limits": " s"}


def _text(value: Any, unit: str = "") -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    if isinstance(value, dict):
        shown = {
            name: f"{setting:g}" if isinstance(setting, (int, float)) else setting for name, setting in value.items()
        }
        return ", ".join(f"{name} {setting}{unit}" for name, setting in shown.items() if setting is not None) or "none"
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _ignore_row(ignore: IgnoreFor, style: Style) -> list[str]:
    what = "everything" if ignore.kind is None else f"{ignore.kind} {ignore.glob}"
    reason = f" ({style.text(ignore.reason)})" if ignore.reason is not None else ""
    return [what, ", ".join(ignore.named), f"{ignore.location}{reason}"]


def _watch_row(watch: WatchEntry) -> list[str]:
    what = f"{', '.join(watch.checks)} every {watch.every:,} s"
    return [watch.name, shown_target(watch.target), what, str(watch.location)]


def _table(title: str, rows: list[list[str]], style: Style) -> Iterator[str]:
    """Rows in columns under a title; the last column has the source of each."""
    if not rows:
        return
    yield f"\n{style.paint(title, 'bold')}\n" if title else "\n"
    cells = [[*map(style.text, row), style.text(last, 5000)] for *row, last in rows]  # a path is never cut short
    widths = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
    for *row, last in cells:
        yield f"  {'  '.join(map(padded, row, widths))}  {style.paint(last, 'dim')}\n"


COMMANDS = (
    Command(
        "config",
        "Show the settings for a target, and the source of each.",
        (
            Option(
                ARGUMENTS,
                "target TARGET",
                "a snapshot, a folder, or a name from the configuration (default: this folder)",
                nargs="?",
            ),
            CONFIG,
            Option(OUTPUT, "--schema", "print the JSON Schema of the configuration, for editors"),
            TEXT_OR_JSON,
        ),
        usage="[OPTIONS] [TARGET]",
        examples="mcproof config src/  the settings that apply to a folder",
        notes="""\
The configuration is mcproof.toml, or [tool.mcproof] in pyproject.toml, in the folder of the target or the nearest
folder above it.
""",
        run=_config,
    ),
)
