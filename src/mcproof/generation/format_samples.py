"""Sample strings for every format that the validator asserts, and for common custom ones."""

from __future__ import annotations

FORMAT_SAMPLES: dict[str, tuple[str, ...]] = {
    "date": ("2024-01-01", "2024-02-29", "1999-12-31", "0001-01-01", "9999-12-31"),
    "date-time": (
        "2024-01-01T00:00:00Z",
        "2024-02-29T23:59:59.999Z",
        "1999-12-31T12:30:00+02:00",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59-12:00",
    ),
    "time": ("00:00:00Z", "23:59:59Z", "12:30:00.5+02:00"),
    "duration": ("P1D", "PT1S", "P1Y2M3DT4H5M6S", "P4W"),
    "email": ("a@example.com", "first.last+tag@mail.example.org", "x@localhost.test"),
    "idn-email": ("a@example.com", "user@exämple.org"),
    "uri": ("https://example.com", "http://localhost:8080/a?b=c#d", "urn:isbn:0451450523", "file:///etc/hosts"),
    "url": ("https://example.com", "http://localhost:8080/a?b=c#d"),
    "uri-reference": ("https://example.com", "/a/b?c", "#top", "../up"),
    "iri": ("https://example.com", "https://exämple.org/ä"),
    "iri-reference": ("https://example.com", "/ä"),
    "uri-template": ("https://example.com/{id}", "/a{?b,c}"),
    "uuid": (
        "00000000-0000-4000-8000-000000000000",
        "123e4567-e89b-42d3-a456-426614174000",
        "ffffffff-ffff-4fff-bfff-ffffffffffff",
    ),
    "ipv4": ("127.0.0.1", "0.0.0.0", "255.255.255.255", "192.168.1.10"),  # noqa: S104
    "ipv6": ("::1", "::", "2001:db8::8a2e:370:7334", "::ffff:127.0.0.1"),
    "hostname": ("example.com", "localhost", "a-b.example.org"),
    "idn-hostname": ("example.com", "exämple.org"),
    "regex": ("^a$", ".*", "[a-z]+"),
    "json-pointer": ("/a", "", "/a~1b/0"),
    "relative-json-pointer": ("0", "1/a", "0#"),
    "byte": ("YQ==", ""),
    "binary": ("a", ""),
    "json": ("{}", "[1]", "null"),
    "color": ("#000000", "#ffffff"),
    "phone": ("+12025550123",),
    "password": ("a",),
}

BROKEN_FORMATS = ("not valid ~", "(")
"""Strings of which at least one breaks each format that the validator asserts."""

FAMILIAR_STRINGS: tuple[str, ...] = (
    "2024-01-01",
    "2024-01-01T00:00:00Z",
    "2024-01",
    "12:00",
    "12:00:00",
    "2024-01-01to2024-01-01",
    "00000000-0000-4000-8000-000000000000",
    "USD",
    "127.0.0.1",
)
"""Strings that are easy to recognise, preferred if they match a pattern."""
