"""Switches that show or hide items: `mcp.disable(tags={"write"})`, `FastMCP(include_tags=…)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.discovery.interp.builtin_values import items_of, unwrapped
from mcproof.discovery.interp.containers import OPEN, doubtful_positions, extent_of
from mcproof.discovery.interp.values import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.discovery.frameworks.servers import RegisteredItem
    from mcproof.discovery.interp.values import Call

_KINDS = {"tools": "tool", "resources": "resource", "prompts": "prompt", "templates": "template"}
_CRITERIA = ("names", "keys", "tags", "components", "version")


class Switch(NamedTuple):
    """Shows or hides all items that meet its criteria; the last matching switch wins."""

    shows: bool
    criteria: dict[str, Any]
    """The criteria by name; without any, nothing matches."""
    means_all: bool
    doubtful: bool


def switches_of_call(name: str, call: Call, *, doubtful: bool) -> list[Switch]:
    """The switches of `server.enable(…)` or `server.disable(…)`."""
    criteria = {key: call.kwargs[key] for key in _CRITERIA if call.kwargs.get(key) is not None}
    if not call.complete:
        criteria["version"] = UNKNOWN
    only = call.kwargs.get("only", False)
    switches = [Switch(name == "enable", criteria, False, doubtful)]
    if name == "enable" and only is not False:
        switches.insert(0, Switch(False, {}, True, doubtful or only is not True))
    return switches


def switches_of_constructor(kwargs: dict[str, Any], *, doubtful: bool) -> list[Switch]:
    """The switches of `FastMCP(include_tags=…, exclude_tags=…)`."""
    switches = []
    included, excluded = kwargs.get("include_tags"), kwargs.get("exclude_tags")
    if included is not None:
        may_be_none = doubtful or included is UNKNOWN
        switches += [Switch(False, {}, True, may_be_none), Switch(True, {"tags": included}, False, may_be_none)]
    if excluded is not None:
        switches.append(Switch(False, {"tags": excluded}, False, doubtful))
    return switches


def is_shown(item: RegisteredItem, name: Any, switches: Iterable[Switch]) -> bool | None:
    """Whether an item is served under this name; None if unknown."""
    shown: bool | None = True
    for switch in switches:
        met = switch.means_all or _meets(item, name, switch.criteria)
        if met and not switch.doubtful:
            shown = switch.shows
        elif met is not False and shown is not switch.shows:
            shown = None
    return shown


def _meets(item: RegisteredItem, name: Any, criteria: dict[str, Any]) -> bool | None:
    """Whether an item meets all criteria; None if unknown."""
    kind = _KINDS[item.kind]
    answers: list[bool | None] = []
    for criterion, wanted in criteria.items():
        if criterion == "version":
            answers.append(None)
        elif criterion == "tags":
            answers.append(_any_among(items_of(item.given.get("tags") or []), wanted))
        elif criterion == "names":
            answers.append(_any_among([name, item.given["uri"]] if "uri" in item.given else [name], wanted))
        else:
            answers.append(_any_among([kind if criterion == "components" else f"{kind}:{name}@"], wanted))
    if not answers or False in answers:
        return False
    return None if None in answers else True


def _any_among(values: list[Any] | None, wanted: Any) -> bool | None:
    """Whether one of some values is among the wanted ones; None if unknown."""
    among = items_of(wanted)
    if values is None or among is None:
        return None
    doubtful = doubtful_positions(wanted)
    certain = [unwrapped(each) for index, each in enumerate(among) if index not in doubtful]
    possible = [unwrapped(among[index]) for index in doubtful]
    values = [unwrapped(each) for each in values]
    if any(isinstance(each, str) and each in certain for each in values):
        return True
    is_open = extent_of(wanted) is OPEN or any(not isinstance(each, str) for each in [*values, *certain])
    return None if is_open or any(each in possible for each in values) else False
