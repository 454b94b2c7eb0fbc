"""From the file of `serve --config` to what a watcher does; mistakes are reported before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.client.http.policy import NetworkGuard
from mcproof.core.errors import ConfigError, McproofError
from mcproof.runs.config import read_settings
from mcproof.targets.client_config import server_of
from mcproof.web.watch.watcher import WatchPlan
from mcproof.web.watch.webhook_posts import filled_url, variable

if TYPE_CHECKING:
    from mcproof.client.http.policy import NetworkPolicy
    from mcproof.runs.config import WatchEntry


def watch_plan(config: str | None, policy: NetworkPolicy, *, allows_commands: bool) -> WatchPlan:
    """Return the plan of a file that the user names; nothing is watched without one. Raises a ConfigError."""
    if config is None:
        return WatchPlan(())
    settings = read_settings(config)
    for entry in settings.watches:
        try:
            _check_target(entry, allows_commands=allows_commands)
            _check_webhook(entry, policy)
        except McproofError as error:
            file, line = entry.location
            raise ConfigError(f"`{entry.name}`: {error.message}", file=file, line=line) from None
    return WatchPlan(settings.watches, config, allows_commands, settings.store)


def _check_target(entry: WatchEntry, *, allows_commands: bool) -> None:
    """Raise an error if a target is a command that may not be started, or needs a variable that is not set."""
    if isinstance(entry.target, str):
        return
    if "command" in entry.target.entry and not allows_commands:
        raise ConfigError("the target is a command, which needs --allow-commands")
    server_of(entry.target)


def _check_webhook(entry: WatchEntry, policy: NetworkPolicy) -> None:
    """Raise an error if a webhook needs a variable that is not set, or its URL is not allowed."""
    if entry.webhook is not None:
        variable(entry.webhook.secret)
        try:
            NetworkGuard(policy).check_url(filled_url(entry.webhook))
        except McproofError as error:
            raise ConfigError(f"the webhook is refused: {error.message}") from None
