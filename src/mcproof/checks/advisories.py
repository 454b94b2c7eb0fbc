"""Collect what is known of the software of a target, without running anything."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mcproof.advisories.advisory_table import advisory_hits, packages_of
from mcproof.client.endpoints import CommandEndpoint, UrlEndpoint
from mcproof.core.observations.source import KnownPackage, KnownSoftware
from mcproof.source.packages.versions import command_packages, normalized

if TYPE_CHECKING:
    from mcproof.client.endpoints import Endpoint
    from mcproof.core.catalog.model import Catalog

_ECOSYSTEMS = {"pypi": "pypi", "pip": "pypi", "npm": "npm"}
KNOWN_ADVISORY, VULNERABLE_FRAMEWORK = "TRU-401", "TRU-402"
LISTED_SERVER = "serverInfo_not_in_known_advisory_list"


def known_software(catalog: Catalog, *, endpoint: Endpoint | None = None, source: str | None = None) -> KnownSoftware:
    """Return what is known of a server's software: what it reports, its command, its source or its capture.

    `endpoint` is that of a live server, `source` a file or folder of Python source.
    """
    packages = list(_captured(catalog))
    if isinstance(endpoint, CommandEndpoint):
        from mcproof.source.packages.installed import installed_packages

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
    return software._replace(unobserved=_unobserved(software))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _captured(catalog: Catalog) -> list[KnownPackage]:
    """Return the package that a capture names, and those of the command that it was captured from."""
    server = catalog.server.fields.get("server")
    if not isinstance(server, dict):
        return []
    found = []
    name, version = _text(server.get("package")), _text(server.get("version"))
    ecosystem = _ECOSYSTEMS.get(_text(server.get("registry")).lower())
    if name and ecosystem is not None:
        found.append(KnownPackage(_normal(name, ecosystem), ecosystem, version or None, "the capture"))
    command = server.get("command")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        found += [each._replace(known_from="the capture") for each in command_packages(command)]
    return found


def _normal(name: str, ecosystem: str) -> str:
    return normalized(name) if ecosystem == "pypi" else name.lower()


def _reported(name: str, version: str, others: list[KnownPackage]) -> list[KnownPackage]:
    """Return the packages with advisories that have the name a server reports, unless they are known otherwise.

    What is known otherwise counts: some servers report the version of their framework as their own.
    """
    known = {(each.ecosystem, each.name) for each in others}
    listed = sorted(packages_of("server") - known)
    return [
        KnownPackage(package, ecosystem, version or None, "serverInfo")
        for ecosystem, package in listed
        if name and _normal(name, ecosystem) == package
    ]


def _distinct(packages: list[KnownPackage]) -> list[KnownPackage]:
    """Return each package once, with a version if any place has it; different versions stay."""
    versioned = {(each.ecosystem, each.name) for each in packages if each.version is not None}
    kept: dict[tuple[str, str, str | None], KnownPackage] = {}
    for each in packages:
        if each.version is not None or (each.ecosystem, each.name) not in versioned:
            kept.setdefault((each.ecosystem, each.name, each.version), each)
    return list(kept.values())


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
    of_server = [each for each in software.packages if (each.ecosystem, each.name) not in frameworks]
    of_framework = [each for each in software.packages if (each.ecosystem, each.name) in frameworks]
    open_versions = sorted({each.name for each in of_server if each.version is None} & {name for _, name in servers})
    why = f"the version of {', '.join(open_versions)} is unknown" if open_versions else ""
    unobserved = {}
    if not any(advisory_hits(software, "server")):
        is_packaged = any(each.version is not None for each in of_server)
        if why or not is_packaged:
            unobserved[KNOWN_ADVISORY] = why or "the package and the version of the server are unknown"
        is_reported = bool(software.server_name and software.server_version)
        if why or not (is_packaged or is_reported):
            unobserved[LISTED_SERVER] = why or "the name and the version of the server are unknown"
    if not any(advisory_hits(software, "framework")) and not any(each.version is not None for each in of_framework):
        unobserved[VULNERABLE_FRAMEWORK] = "the version of the framework is unknown"
    return unobserved
