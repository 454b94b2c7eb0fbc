from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcproof.client.auth.registration import Challenge, bearer_challenge, joined_scopes


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ("", Challenge()),
        ("Bearer", Challenge()),
        ('Bearer resource_metadata="https://h/x", scope="a b"', Challenge("https://h/x", "a b")),
        ('bearer Scope=a,error="insufficient_scope"', Challenge(scope="a", error="insufficient_scope")),
        ('Basic realm="x", Bearer scope="a"', Challenge(scope="a")),
        ('Bearer, Bearer scope="a"', Challenge(scope="a")),
        ('Bearer scope="a", Basic realm="scope=b"', Challenge(scope="a")),
        (r'Bearer realm="a \"quoted\" word, scope=x", scope="b"', Challenge(scope="b")),
        ('Bearer scope="a", scope="b"', Challenge(scope="a")),
        ("Negotiate YWJj==, Bearer scope=a", Challenge(scope="a")),
        ('Bearer scope="a b\x1b[31m é \\\\"', Challenge(scope="a")),
        ('Bearer scope="unfinished', Challenge()),
        ('scope="no scheme"', Challenge()),
    ],
)
def test_the_bearer_challenge_is_found(header: str, challenge: Challenge) -> None:
    assert bearer_challenge(header) == challenge


@given(st.text(alphabet='Bearscop ="\\,\x00é', max_size=60))
def test_every_header_can_be_read(header: str) -> None:
    assert isinstance(bearer_challenge(header), Challenge)


def test_a_long_header_is_read_in_linear_time() -> None:
    bearer_challenge('Bearer a="' + '\\"' * 100_000)
    bearer_challenge("Bearer " + "a=" * 100_000)


def test_scopes_are_joined_without_duplicates() -> None:
    assert joined_scopes("a b", "b c", "") == "a b c"
