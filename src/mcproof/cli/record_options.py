"""The options that record a run in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcproof.core.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from mcproof.cli.parser import Parser
    from mcproof.runs.config import StoreSettings

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
    from mcproof.cli.check_options import parse_config
    from mcproof.cli.store_location import store_settings

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
