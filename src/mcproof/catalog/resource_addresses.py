"""Addresses of resources that a client must not open: local files, private hosts, other protocols."""

from __future__ import annotations

import re
from typing import NamedTuple

from mcproof.catalog.network_addresses import address_of, carried_address, internal_kind
from mcproof.catalog.tool_names import word_set

LONGEST_SHOWN = 200
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:")
_SCHEMES = word_set(
    "about blob chrome data dict filesystem ftp ftps gopher imap jar javascript ldap ldaps mailto netdoc nfs php phar "
    "rmi sftp smb ssh telnet tftp vbscript view-source vscode ws"
)
"""Schemes that run or carry code, or reach other protocols. A server's own schemes are not among them."""
_HOST_KINDS = {
    "cloud-metadata": ("cloud_metadata_host", "serves the credentials of a cloud machine"),
    "loopback": ("loopback_host", "is the machine that opens it"),
    "private-suffix": ("private_tld", "is a name of a private network"),
    "link-local": ("link_local_address", "is a link-local address"),
    "private-address": ("private_address", "is an address of a private network"),
    "reserved-address": ("reserved_address", "is a reserved address"),
}
"""The kind and the reason for each kind of host that is not public. A single label may be a name of the server's own.
"""
_SECRET_PARTS = re.compile(r"(?<=//)[^/@\s]{1,200}@|(?<=[?&])([^=&\s]{1,100})=[^&\s#]{1,2000}")


class AddressDanger(NamedTuple):
    """Why an address is dangerous."""

    kind: str
    reason: str
    shown: str
    """The address, without a login and without values of its query."""


def danger_of(uri: str) -> AddressDanger | None:
    """Return what is dangerous about the address of a resource; None if nothing is."""
    text = "".join(each for each in uri.strip() if each not in "\t\r\n")  # as URL parsers do
    match = _SCHEME.match(text)
    if match is None:
        return None
    scheme = match[0][:-1].lower()
    found = _of_scheme(scheme)
    if found is None or found[0] == "http_scheme":
        found = _of_host(_host(text[match.end() :])) or found
    if found is None:
        return None
    shown = _SECRET_PARTS.sub(lambda part: f"{part[1]}=***" if part[1] else "***@", text[:LONGEST_SHOWN])
    return AddressDanger(*found, shown)


def _of_scheme(scheme: str) -> tuple[str, str] | None:
    if scheme == "file":
        return "file_scheme", "`file:` names a file of the machine that opens it"
    if scheme == "http":
        return "http_scheme", "`http:` is not encrypted"
    if scheme in _SCHEMES:
        return "uncommon_scheme", f"`{scheme}:` runs or carries code, or reaches another protocol"
    return None


def _host(rest: str) -> str:
    """The host of an address, in lower case, without a login and a port."""
    if not rest.startswith(("//", "\\\\", "/\\", "\\/")):
        return ""
    authority = re.split(r"[/\\?#]", rest[2:502], maxsplit=1)[0].rpartition("@")[2].lower()
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0].rstrip(".")


def _of_host(host: str) -> tuple[str, str] | None:
    if not host or "{" in host:
        return None
    found = _HOST_KINDS.get(internal_kind(host) or "")
    if found is None:
        return None
    address = address_of(host)
    if address is not None:
        address = carried_address(address)
        if address.is_unspecified:  # connects to the machine itself
            found = _HOST_KINDS["loopback"]
        elif found[0] == "private_address" and address.version == 6:
            found = ("ipv6_unique_local", found[1])
    kind, reason = found
    return kind, f"`{host}` {reason}"
