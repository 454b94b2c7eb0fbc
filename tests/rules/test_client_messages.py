"""Messages about clients claim no more than the facts: versions, models, and limits on the server as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.compat.client_choice import ClientChoice
from mcproof.compat.client_hits import ClientHit
from mcproof.compat.client_profiles import known_profiles
from mcproof.rules.compat import _evidence, in_words

if TYPE_CHECKING:
    from mcproof.compat.client_choice import ActiveConstraint


def active(client: str, constraint: str) -> ActiveConstraint:
    known = ClientChoice(known_profiles()).all_active()
    return next(each for each in known if each.key == (client, constraint))


def test_a_message_names_the_versions_or_models() -> None:
    hit = ClientHit(active(client="cursor", constraint="enum-strings"), "/inputSchema")
    assert in_words([hit]) == "every request with the tool fails in Cursor (Gemini models)"


def test_a_limit_on_the_number_of_tools_is_not_about_one_tool() -> None:
    hits = [ClientHit(active(client=client, constraint="tools"), "") for client in ("openai-api", "cursor")]
    assert in_words(hits) == "every request with all tools fails in OpenAI API; some tools are missing in Cursor"


def test_the_evidence_cites_the_source_of_its_date() -> None:
    fact = active(client="claude-desktop", constraint="output-dialect")
    record = _evidence(fact)
    assert (record["source"], record["date"]) in {(each.url, each.date) for each in fact.constraint.sources}
    assert record["date"] == fact.constraint.newest
