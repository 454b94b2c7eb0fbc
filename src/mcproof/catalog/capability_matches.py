"""Matches: a capability of a tool with the words that show it, and the patterns that find one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mcproof.core.text.english import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mcproof.catalog.tool_acts import Act, Source, ToolText

Capability = Literal[
    "execute_code",
    "access_credentials",
    "write_files",
    "admin_control",
    "delete_data",
    "send_message",
    "financial_action",
    "network_access",
]

_NONE: frozenset[str] = frozenset()


class CapabilityMatch(NamedTuple):
    """A capability of a tool, with what shows it."""

    capability: Capability
    keyword: str
    """The word or words that show it, as in `write_file`."""
    source: Source
    why: str
    """As a sentence without a full stop."""
    is_sure: bool = True
    """Whether its name or description states it, rather than a parameter."""
    is_overwriting: bool = False
    """Whether what exists is changed or lost."""


class ActPattern(NamedTuple):
    """Verbs, with what must be around them; what is None may be anything."""

    verbs: frozenset[str]
    objects: frozenset[str] | None = None
    """Words of which one is in the object."""
    heads: frozenset[str] | None = None
    """Words of which one is the last noun of the object."""
    targets: frozenset[str] | None = None
    """Words of which one is after the preposition; the empty word if there is none."""
    parameters: frozenset[str] | None = None
    """Words of which one is in the name of a parameter."""
    about: frozenset[str] | None = None
    """Words of which one is in the name or in the first sentence."""
    sources: tuple[Source, ...] = ("name", "description", "schema")
    unless: frozenset[str] = _NONE
    """Words that must not be in the object."""

    def fits(self, act: Act, text: ToolText) -> bool:
        """Whether an act has everything that the pattern needs."""
        return (
            act.verb in self.verbs
            and act.source in self.sources
            and (self.objects is None or not self.objects.isdisjoint(act.object))
            and (self.heads is None or act.head in self.heads)
            and (self.targets is None or not self.targets.isdisjoint(act.target or ("",)))
            and self.unless.isdisjoint(act.object)
            and (self.parameters is None or not self.parameters.isdisjoint(text.parameter_words))
            and (self.about is None or not self.about.isdisjoint(text.first_words))
        )


def effects(text: ToolText) -> Iterator[Act]:
    """The acts that may be effects: not those that a description or a value adds to a reading name."""
    named = text.name_act
    for act in text.acts:
        if act.source != "name" and named is not None and named.is_reading:
            continue
        if act.source == "schema" and text.read_only:
            continue
        if not act.is_reading:
            yield act


def by_patterns(capability: Capability, text: ToolText, patterns: Iterable[ActPattern]) -> Iterator[CapabilityMatch]:
    """Yield the effects of a tool that fit a pattern."""
    for act in effects(text):
        if any(pattern.fits(act, text) for pattern in patterns):
            yield by_act(capability, act)


WHERE: dict[Source, str] = {
    "name": "its name",
    "description": "its description",
    "schema": "a value of its parameters",
}


def by_act(capability: Capability, act: Act, keyword: str = "", *, is_overwriting: bool = False) -> CapabilityMatch:
    """The match that an act shows."""
    shown = " ".join((act.verb, *act.object[:4]))
    return CapabilityMatch(
        capability,
        keyword or act.keyword,
        act.source,
        f"`{shown}` in {WHERE[act.source]}",
        is_sure=act.source != "schema",
        is_overwriting=is_overwriting,
    )


def by_word(capability: Capability, word: str, source: Source = "name", why: str = "") -> CapabilityMatch:
    """The match that a word or a phrase shows."""
    return CapabilityMatch(capability, word, source, f"`{word}` in {WHERE[source]}{why}")


def by_parameter(capability: Capability, name: str, why: str) -> CapabilityMatch:
    """The match that a parameter shows."""
    return CapabilityMatch(capability, name, "schema", f"its parameter `{name}` {why}", is_sure=False)


def described_by(schema: Any) -> str:
    """The beginning of a parameter's description; empty if it has none."""
    description = schema.get("description") if isinstance(schema, dict) else None
    return description[:500] if isinstance(description, str) else ""


def parameters_with(text: ToolText, last_words: frozenset[str]) -> Iterator[str]:
    """The parameters for free text whose last word is one of these."""
    for name, schema in text.parameters.items():
        if not last_words.isdisjoint(words_of(name)[-1:]) and _is_text(schema):
            yield name


def _is_text(schema: Any) -> bool:
    """Whether a parameter takes free text, or a list of texts."""
    if not isinstance(schema, dict) or "enum" in schema or "const" in schema:
        return False
    kinds = schema.get("type")
    return not kinds or not {"string", "array"}.isdisjoint(kinds if isinstance(kinds, list) else [kinds])
