"""The options about live servers, as what they mean."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mcproof.errors import UsageError, nearest
from mcproof.targets.argument import LiveOptions

if TYPE_CHECKING:
    import argparse

    from mcproof.client.connect import ConnectOptions

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*)", re.DOTALL)


def live_options(options: argparse.Namespace) -> LiveOptions:
    """How servers are started and reached. Raises a UsageError that repeats no value, as it may be a secret."""
    if options.cwd is not None and not os.path.isdir(options.cwd):
        raise UsageError(f"--cwd: there is no folder `{options.cwd}`")
    return LiveOptions(
        options.server_command,
        dict(map(_variable, options.env)),
        dict(map(_header, options.header)),
        options.cwd,
        options.all,
    )


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name:
        raise UsageError("--env needs a name, as in `--env API_KEY` or `--env MODE=test`")
    if equals:
        return name, value
    if name not in os.environ:
        raise UsageError(f"--env {name}: there is no such variable here; `--env {name}=VALUE` gives it one")
    return name, os.environ[name]


def _header(text: str) -> tuple[str, str]:
    found = _HEADER.fullmatch(text)
    if found is None:
        raise UsageError("--header needs a name and a value, as in `--header 'Authorization: Bearer ${TOKEN}'`")

    def value_of(variable: re.Match[str]) -> str:
        if variable[1] not in os.environ:
            raise UsageError(f"--header {found[1]}: there is no variable {variable[1]} in the environment")
        return os.environ[variable[1]]

    value = _VARIABLE.sub(value_of, found[2])
    if any(ord(character) < 32 and character != "\t" for character in value):
        raise UsageError(f"--header {found[1]}: the value has a line break or another control character")
    return found[1], value


def header_variables(options: argparse.Namespace) -> list[str]:
    """The variables of the environment that the headers of the command line name."""
    return [found[1] for text in options.header for found in _VARIABLE.finditer(text)]


def asking(options: argparse.Namespace, timeout: float | None = None) -> ConnectOptions:
    """How patient to be, by the command line or else as configured, and which protocol revision to speak."""
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.connection import REVISIONS, Limits

    if options.protocol is not None and options.protocol not in REVISIONS:
        hint = nearest(options.protocol, list(REVISIONS))
        raise UsageError(f"unknown protocol revision `{options.protocol}`{hint}; there are {', '.join(REVISIONS)}")
    limits = Limits()
    timeout = options.timeout if options.timeout is not None else timeout
    if timeout is not None:
        limits = Limits(timeout, timeout, max(limits.total, 20 * timeout))
    return ConnectOptions(limits, options.protocol)
