"""`mcproof clients`."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from mcproof.checks.clients.profiles import known_profiles
from mcproof.cli.check_options import add_config, parse_config
from mcproof.cli.outputs import add_format
from mcproof.cli.parser import Parser
from mcproof.core.console import Style, print_lines
from mcproof.core.errors import OK, UsageError, nearest
from mcproof.report.listings import client_document, client_page, client_table
from mcproof.runs.config import settings_for
from mcproof.runs.planning import all_profiles, given_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcproof.checks.clients.profiles import Profile
    from mcproof.runs.requests import SettingsSource


def clients_parser() -> Parser:
    parser = Parser(
        "clients",
        "List the clients, model APIs and SDKs that `compat` knows, or the facts about one, with sources and dates.",
        usage="[OPTIONS] [NAME...]",
        examples="mcproof clients  all of them\nmcproof clients cursor  every fact about one",
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="ids of clients, such as claude-code (default: all)")
    add_config(parser)
    add_format(parser, "text", "json")
    return parser


def clients_command(arguments: list[str]) -> int:
    options = clients_parser().parse_args(arguments)
    profiles = _profiles(parse_config(options))
    for name in options.names:
        if name not in profiles:
            raise UsageError(
                f"unknown client `{name}`{nearest(name, list(profiles))}; `mcproof clients` lists them all"
            )
    chosen = [profiles[name] for name in dict.fromkeys(options.names)] or list(profiles.values())
    if options.format == "json":
        sys.stdout.write(json.dumps(client_document(chosen), indent=2) + "\n")
        return OK
    style = Style.of(sys.stdout)
    if not options.names:
        print_lines(client_table(chosen, style), sys.stdout)
        return OK
    for number, profile in enumerate(chosen):
        print_lines(["\n"] if number else [], sys.stdout)
        print_lines(client_page(profile, profiles, style), sys.stdout)
    return OK


def _profiles(source: SettingsSource) -> Mapping[str, Profile]:
    """The profiles, with those of the configuration of this folder."""
    return all_profiles(given_settings(source) or settings_for(os.curdir)) or known_profiles()
