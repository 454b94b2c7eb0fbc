"""Known vulnerabilities of MCP servers and frameworks, and which of them apply to a server.

The table ships with mcproof, with the date on which it was checked. `known_software` collects what is known of a
server's packages without running anything; a version that is unknown gives no verdict.
Why advisories are data: docs/decisions/0048-advisories-are-data.md.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

from mcproof.client.endpoints import CommandEndpoint, Endpoint, UrlEndpoint
from mcproof.core.catalog.model import Catalog, unread_lists
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.observations.source import KnownPackage, KnownSoftware, in_range, normalized


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
    """What must be the case: `http`, `windows`, `exploded-template`, `code:` with an expression that the server's own
    source must match, `undecided` for what neither a catalog nor source shows."""
    when: str
    """The words for what must be the case besides `http` and `windows`; empty if nothing."""
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
    # Without `importlib.resources`, which loads tempfile, shutil and pathlib: 5 ms.
    with open(os.path.join(os.path.dirname(__file__), "advisories.json"), encoding="utf-8") as opened:
        document = json.load(opened)
    return AdvisoryTable(document["checked"], [Advisory(**entry) for entry in document["advisories"]])


class AdvisoryHit(NamedTuple):
    """An advisory about the version of a package of a server."""

    advisory: Advisory
    package: KnownPackage
    version: str


_NEEDS = {"http": "the server is served over HTTP", "windows": "it runs on Windows"}


def conditions(advisory: Advisory) -> str:
    """Return what must be the case for an advisory to apply, in words; empty if nothing."""
    needs = [_NEEDS[need] for need in advisory.needs if need in _NEEDS]
    return " and ".join([*needs, *([advisory.when] if advisory.when else [])])


def advisory_hits(software: KnownSoftware, role: str) -> Iterator[AdvisoryHit]:
    """Yield the advisories of a role that apply to a server, whatever is unknown of it."""
    return (hit for hit in _listed(software, role) if all(software.meets(need) for need in hit.advisory.needs))


def _listed(software: KnownSoftware, role: str) -> Iterator[AdvisoryHit]:
    """Yield the advisories of a role about the versions of a server, unless it is known that they do not apply."""
    for advisory in advisory_table().advisories:
        if advisory.role != role or any(software.meets(need) is False for need in advisory.needs):
            continue
        for package in software.packages:
            if (package.ecosystem, package.name) != (advisory.ecosystem, advisory.package) or package.version is None:
                continue
            if in_range(package.version, advisory.vulnerable, advisory.ecosystem):
                yield AdvisoryHit(advisory, package, package.version)


def packages_of(role: str) -> set[tuple[str, str]]:
    """Return the ecosystems and names of the packages with advisories of a role."""
    return {(advisory.ecosystem, advisory.package) for advisory in advisory_table().advisories if advisory.role == role}


_ROLES = ("server", "framework")
_ECOSYSTEMS = {"pypi": "pypi", "pip": "pypi", "npm": "npm"}
KNOWN_ADVISORY, VULNERABLE_FRAMEWORK, REPORTED_VERSION = "TRU-401", "TRU-402", "TRU-403"
LISTED_SERVER = "serverInfo_not_in_known_advisory_list"


def known_software(catalog: Catalog, *, endpoint: Endpoint | None = None, source: str | None = None) -> KnownSoftware:
    """Return what is known of a server's software: what it reports, its command, its source or its capture.

    `endpoint` is that of a live server, `source` a file or folder of source.
    """
    packages = list(_captured(catalog))
    if isinstance(endpoint, CommandEndpoint):
        from mcproof.source.packages.installed import command_packages, installed_packages

        packages += command_packages(endpoint.words)
        packages += installed_packages(endpoint.words, endpoint.directory)
    if source is not None:
        from mcproof.source.packages.installed import project_packages

        packages += project_packages(source)
    name, version = (_text(catalog.server_info.get(key)) for key in ("name", "version"))
    packages += _reported(name, version, packages)
    software = KnownSoftware(
        packages=_distinct(packages),
        server_name=name,
        server_version=version,
        transport=_transport(catalog, endpoint),
        platform=_platform(endpoint),
    )
    software = software._replace(circumstances=_circumstances(software, catalog, endpoint, source))
    return software._replace(unobserved=_unobserved(software))


def _circumstances(
    software: KnownSoftware, catalog: Catalog, endpoint: Endpoint | None, source: str | None
) -> dict[str, bool]:
    """Return which needs of the listed advisories are met, where the catalog or the source shows it."""
    from mcproof.source.packages.installed import source_of_command
    from mcproof.source.packages.projects import mentions

    circumstances = {}
    for need in {need for role in _ROLES for hit in _listed(software, role) for need in hit.advisory.needs}:
        kind, _, expression = need.partition(":")
        is_met = None
        if kind == "exploded-template":
            is_met = _has_exploded_template(catalog)
        elif kind == "code":
            if source is None and isinstance(endpoint, CommandEndpoint):
                source = source_of_command(endpoint.words, endpoint.directory)
            is_met = None if source is None else mentions(source, expression)
        if is_met is not None:
            circumstances[need] = is_met
    return circumstances


_EXPLODED = re.compile(r"\{[^{}]*\*[^{}]*\}")


def _has_exploded_template(catalog: Catalog) -> bool | None:
    """Whether a resource template has a variable such as `{/path*}`; None if the templates were not read."""
    uris = [template.fields.get("uriTemplate") for template in catalog.templates]
    if any(isinstance(uri, str) and _EXPLODED.search(uri) for uri in uris):
        return True
    if "resourceTemplates" in unread_lists(catalog):
        return None
    is_listed = "resourceTemplates" in catalog.server.fields or "resources" not in (
        catalog.capabilities or ["resources"]
    )
    return False if is_listed else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _captured(catalog: Catalog) -> list[KnownPackage]:
    """Return the package that a capture names, and those of the command that it was captured from."""
    server = catalog.server.fields.get("server")
    if not isinstance(server, dict):
        return []
    packages = []
    name, version = _text(server.get("package")), _text(server.get("version"))
    ecosystem = _ECOSYSTEMS.get(_text(server.get("registry")).lower())
    if name and ecosystem is not None:
        packages.append(KnownPackage(_normal(name, ecosystem), ecosystem, version or None, "the capture"))
    command = server.get("command")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        from mcproof.source.packages.installed import command_packages

        packages += [package._replace(known_from="the capture") for package in command_packages(command)]
    return packages


def _normal(name: str, ecosystem: str) -> str:
    return normalized(name) if ecosystem == "pypi" else name.lower()


def _reported(name: str, version: str, others: list[KnownPackage]) -> list[KnownPackage]:
    """Return the packages with advisories that have the name a server reports, unless they are known otherwise.

    What is known otherwise counts: some servers report the version of their framework as their own.
    """
    identified = {(other.ecosystem, other.name) for other in others}
    listed = sorted(packages_of("server") - identified)
    return [
        KnownPackage(package, ecosystem, version or None, "serverInfo")
        for ecosystem, package in listed
        if name and _normal(name, ecosystem) == package
    ]


def _distinct(packages: list[KnownPackage]) -> list[KnownPackage]:
    """Return each package once, with a version if any place has it; different versions stay."""
    versioned = {(package.ecosystem, package.name) for package in packages if package.version is not None}
    distinct: dict[tuple[str, str, str | None], KnownPackage] = {}
    for package in packages:
        if package.version is not None or (package.ecosystem, package.name) not in versioned:
            distinct.setdefault((package.ecosystem, package.name, package.version), package)
    return list(distinct.values())


def _transport(catalog: Catalog, endpoint: Endpoint | None) -> str:
    """Return how a server is reached: `stdio`, `http`, or empty if unknown."""
    if endpoint is not None:
        return "http" if isinstance(endpoint, UrlEndpoint) else "stdio"
    server = catalog.server.fields.get("server")
    if not isinstance(server, dict):
        return ""
    return "http" if "url" in server else "stdio" if "command" in server else ""


def _platform(endpoint: Endpoint | None) -> str:
    """Return where a server runs that this machine starts: `windows`, `other`, or empty if unknown."""
    if not isinstance(endpoint, CommandEndpoint):
        return ""
    return "windows" if sys.platform == "win32" else "other"


def _unobserved(software: KnownSoftware) -> dict[str, str]:
    """Return the rules that cannot be judged: a version that is unknown is not checked, and never passes."""
    frameworks, servers = packages_of("framework"), packages_of("server")
    of_server = [package for package in software.packages if (package.ecosystem, package.name) not in frameworks]
    of_framework = [package for package in software.packages if (package.ecosystem, package.name) in frameworks]
    open_versions = sorted(
        {package.name for package in of_server if package.version is None} & {name for _, name in servers}
    )
    why = f"the version of {', '.join(open_versions)} is unknown" if open_versions else ""
    unobserved = {}
    if not any(advisory_hits(software, "server")):
        why = why or _undecided(software, "server")
        is_packaged = any(package.version is not None for package in of_server)
        if why or not is_packaged:
            unobserved[KNOWN_ADVISORY] = why or "the package and the version of the server are unknown"
        is_reported = bool(software.server_name and software.server_version)
        if why or not (is_packaged or is_reported):
            unobserved[LISTED_SERVER] = why or "the name and the version of the server are unknown"
    is_known = any(package.version is not None for package in of_framework)
    unknown = "the version of the framework is unknown"
    if not is_known:
        unobserved[REPORTED_VERSION] = unknown
    if not any(advisory_hits(software, "framework")):
        why = _undecided(software, "framework")
        if why or not is_known:
            unobserved[VULNERABLE_FRAMEWORK] = why or unknown
    return unobserved


def _undecided(software: KnownSoftware, role: str) -> str:
    """Return which advisories of a role concern the server only if something unknown is the case; empty if none."""
    return "; ".join(
        f"{hit.advisory.id} in {hit.package.name} {hit.version} applies only if {conditions(hit.advisory)}"
        for hit in _listed(software, role)
    )
