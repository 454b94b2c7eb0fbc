"""Addresses of resources that a client must not open: local files, private hosts, other protocols."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcproof.catalog.tool_names import word_set

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

LONGEST_SHOWN = 200
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:")
_SCHEMES = word_set(
    "about blob chrome data dict filesystem ftp ftps gopher imap jar javascript ldap ldaps mailto netdoc nfs php phar "
    "rmi sftp smb ssh telnet tftp vbscript view-source vscode ws"
)
"""Schemes that run or carry code, or reach other protocols. A server's own schemes are not among them."""
_METADATA_HOSTS = word_set(
    "169.254.169.254 169.254.170.2 100.100.100.200 192.0.0.192 fd00:ec2::254 metadata metadata.google.internal "
    "metadata.goog instance-data metadata.azure.internal metadata.tencentyun.com"
)
_PRIVATE_ENDINGS = (".local", ".internal", ".intranet", ".lan", ".corp", ".home", ".home.arpa", ".private")
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
    if host in _METADATA_HOSTS:
        return "cloud_metadata_host", f"`{host}` serves the credentials of a cloud machine"
    if host == "localhost" or host.endswith(".localhost"):
        return "loopback_host", f"`{host}` is the machine that opens it"
    if host.endswith(_PRIVATE_ENDINGS):
        return "private_tld", f"`{host}` is a name of a private network"
    address = _address(host)
    return None if address is None else _of_address(host, address)


def _of_address(host: str, address: IPv4Address | IPv6Address) -> tuple[str, str] | None:
    if str(address) in _METADATA_HOSTS:
        return "cloud_metadata_host", f"`{host}` serves the credentials of a cloud machine"
    if address.is_loopback or address.is_unspecified:
        return "loopback_host", f"`{host}` is the machine that opens it"
    if address.is_link_local:
        return "link_local_address", f"`{host}` is a link-local address"
    if address.version == 6 and address.is_private:
        return "ipv6_unique_local", f"`{host}` is an address of a private network"
    if address.is_private:
        return "private_address", f"`{host}` is an address of a private network"
    return None


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is, also as one number, hexadecimal or octal, as URL parsers read it."""
    from ipaddress import IPv4Address, IPv6Address, ip_address

    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        number = _as_number(host)
        return None if number is None else IPv4Address(number)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _as_number(host: str) -> int | None:
    """An IPv4 address of one to four numbers: `2130706433`, `127.1`, `0x7f.0.0.1`."""
    parts = host.split(".")
    if not 1 <= len(parts) <= 4 or not all(re.fullmatch(r"0x[0-9a-f]{1,8}|[0-9]{1,11}", part) for part in parts):
        return None
    try:
        numbers = [
            int(part, 16 if part.startswith("0x") else 8 if len(part) > 1 and part[0] == "0" else 10) for part in parts
        ]
    except ValueError:
        return None
    *first, last = numbers
    if any(each > 255 for each in first) or last >= 256 ** (5 - len(numbers)):
        return None
    return sum(each << (24 - 8 * at) for at, each in enumerate(first)) + last
