"""Where the store is: what the command line names, else the configuration, else the user's own store."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mcproof.core.errors import ConfigError
from mcproof.core.text.files import leaves_folder
from mcproof.runs.config import settings_for
from mcproof.runs.planning import given_settings

if TYPE_CHECKING:
    from mcproof.runs.config import Settings, StoreSettings
    from mcproof.runs.requests import SettingsSource

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
