"""The table of advisories that ships with mcproof: data, with the date on which it was checked."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, NamedTuple

from mcproof.source.packages.versions import in_range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.core.observations.source import KnownPackage, KnownSoftware


class Advisory(NamedTuple):
    """One known vulnerability of one package."""

    id: str
    aliases: list[str]
    ecosystem: str
    """`pypi` or `npm`."""
    package: str
    vulnerable: str
    """The range of vulnerable versions, such as `>=0.0.5,<0.1.16`."""
    fixed: str | None
    """The first version with a fix; None if there is none."""
    severity: str
    severity_from: Literal["advisory", "mcproof"]
    """Who rates it: the advisory, or mcproof where no rating could be confirmed."""
    role: Literal["server", "framework"]
    kind: str
    """The kind of vulnerability, such as `SSRF`."""
    summary: str
    needs: list[str]
    """What must be the case: `http` (the server is served over HTTP), `windows`."""
    when: str
    """What else must be the case, in words; empty if nothing."""
    blocks: bool
    """Whether it blocks a server that it certainly applies to."""
    reference: str
    confirmed: str
    """How the entry was confirmed."""
    note: str


class AdvisoryTable(NamedTuple):
    """All advisories, and the date on which they were last checked."""

    checked: str
    advisories: list[Advisory]


@cache
def advisory_table() -> AdvisoryTable:
    """Read the table."""
    text = (files("mcproof.advisories") / "advisories.json").read_text(encoding="utf-8")
    document = json.loads(text)
    return AdvisoryTable(document["checked"], [Advisory(**each) for each in document["advisories"]])


class AdvisoryHit(NamedTuple):
    """An advisory that applies, or may apply, to a package of a server."""

    advisory: Advisory
    package: KnownPackage
    version: str
    is_certain: bool
    """Whether it applies whatever is unknown."""

    @property
    def condition(self) -> str:
        """What must be the case for it to apply, in words; empty if nothing."""
        return "" if self.is_certain else conditions(self.advisory)


_NEEDS = {"http": "the server is served over HTTP", "windows": "it runs on Windows"}


def conditions(advisory: Advisory) -> str:
    """Return what must be the case for an advisory to apply, in words; empty if nothing."""
    return " and ".join([*(_NEEDS[each] for each in advisory.needs), *([advisory.when] if advisory.when else [])])


def advisory_hits(software: KnownSoftware, role: str) -> Iterator[AdvisoryHit]:
    """Yield the advisories of a role that apply or may apply to what is known of a server."""
    for advisory in advisory_table().advisories:
        if advisory.role != role or any(software.meets(need) is False for need in advisory.needs):
            continue
        for package in software.packages:
            if (package.ecosystem, package.name) != (advisory.ecosystem, advisory.package) or package.version is None:
                continue
            if in_range(package.version, advisory.vulnerable, advisory.ecosystem):
                is_certain = not advisory.when and all(software.meets(need) for need in advisory.needs)
                yield AdvisoryHit(advisory, package, package.version, is_certain)


def packages_of(role: str) -> set[tuple[str, str]]:
    """Return the ecosystems and names of the packages with advisories of a role."""
    return {(each.ecosystem, each.package) for each in advisory_table().advisories if each.role == role}
