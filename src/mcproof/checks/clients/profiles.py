"""Client profiles: what each MCP client and model API accepts, as data, and which of them a run checks.

The facts are in `profiles.json`, with effect, sources and dates; a configuration can add profiles and replace
constraints, whose patterns are matched in linear time. A user may name a client at a version or a date. Nothing here
looks at a catalog.
Why constraints are data, and their sentences generated: docs/decisions/0042-constraints-are-data.md.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Container, Iterable, Mapping
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal

from mcproof.core.errors import UsageError, nearest
from mcproof.core.named_tuple import NamedTuple

if TYPE_CHECKING:
    from mcproof.checks.findings import Level


Status = Literal["current", "dated", "unconfirmed", "fixed"]

EFFECTS: dict[str, tuple[Level, str]] = {
    "list_rejected": ("error", "all tools of the server are lost in"),
    "request_rejected": ("error", "every request with the tool fails in"),
    "tool_dropped": ("error", "the tool is missing in"),
    "call_rejected": ("error", "every call fails in"),
    "unreliable": ("warning", "calls sometimes go wrong in"),
    "truncated": ("warning", "the text is cut in"),
    "schema_rewritten": ("note", "part of the schema is ignored in"),
    "tool_renamed": ("note", "the tool is renamed in"),
    "degraded": ("note", "a feature is off in"),
    "warned": ("note", "users are warned in"),
    "prompts": ("note", "users are asked before every call in"),
}
"""What happens to a server that breaks a constraint, the worst first: its level, and the effect in words."""

RANK = {effect: rank for rank, effect in enumerate(EFFECTS)}


def effect_level(effect: str, status: str, *, conditional: bool) -> Level:
    """Return the level of an effect; a dated or conditional constraint is a warning at most."""
    level = EFFECTS[effect][0]
    # Only what is certain fails a build: docs/decisions/0045-lint-reports-certain-breaks.md.
    return "warning" if level == "error" and (status == "dated" or conditional) else level


class Source(NamedTuple):
    """Where a fact comes from."""

    url: str
    kind: str
    """`documented`, `source` (read in the client's code), `run` (tried), `issue` or `secondary`."""
    date: str
    """When it was written or read; a year or a month if the day is unknown."""


class Constraint(NamedTuple):
    """One thing that a client requires of a catalog, and the effect of not meeting it."""

    id: str
    rule: str
    """The `compat` rule that reports it."""
    kind: str
    params: Mapping[str, Any]
    effect: str
    status: Status
    sources: tuple[Source, ...]
    error: str = ""
    """A fragment of the client's error message, to search for."""
    when: str = ""
    """The models, builds or settings it applies to, if not to all."""
    doubt: str = ""
    opt_in: bool = False
    """Whether it only applies in a mode that the user turns on, such as strict tool use."""
    conditional: bool = False
    """Whether it only applies if the client passes schemas on unchanged."""
    disputed: bool = False
    """Whether its source doubts it, or users report the opposite of what is documented."""
    fixed_version: str = ""
    fixed_date: str = ""

    @property
    def level(self) -> Level:
        return effect_level(self.effect, self.status, conditional=self.conditional)

    @property
    def newest(self) -> str:
        """The date of its newest source."""
        return max((source.date for source in self.sources), default="")

    @property
    def last_report(self) -> str:
        """The date when a user last reported it; of its newest source if no user did."""
        return max((source.date for source in self.sources if source.kind == "issue"), default=self.newest)


class Repair(NamedTuple):
    """What a client mends in a schema before it passes a tool on to a model API."""

    rule: str
    """The `compat` rule whose violations are gone then."""
    source: Source


class Profile(NamedTuple):
    """A client, model API, engine, SDK or directory, and its constraints."""

    id: str
    name: str
    kind: str
    checked: str
    """The date when the facts were last checked."""
    constraints: tuple[Constraint, ...]
    sends_to: tuple[str, ...] = ()
    """The model APIs it passes tools on to, whose constraints apply too."""
    repairs: tuple[Repair, ...] = ()
    """The violations that those APIs never see."""
    about: str = ""
    """What the name covers, if that is not obvious."""
    is_shipped: bool = False
    """Whether it ships with mcproof; else it is from a configuration."""


@cache
def _shipped_document() -> dict[str, Any]:
    # `lint` starts faster without `importlib.resources`, which loads tempfile and shutil.
    with open(os.path.join(os.path.dirname(__file__), "profiles.json"), encoding="utf-8") as opened:
        document: dict[str, Any] = json.load(opened)
    return document


@cache
def known_profiles() -> dict[str, Profile]:
    """The profiles that ship with mcproof, by id."""
    return {entry["id"]: profile_from(entry)._replace(is_shipped=True) for entry in _shipped_document()["profiles"]}


def _is_old(constraint: Constraint) -> bool:
    """Whether the newest source of a fact is more than a year older than the profiles: clients change faster."""
    year, rest = _shipped_document()["compiled"].split("-", 1)
    # A date without month or day may be the last one of its year or month.
    newest = constraint.newest and f"{constraint.newest}-12-31"[:10]
    return "" < newest < f"{int(year) - 1}-{rest}"


def profile_from(entry: Mapping[str, Any]) -> Profile:
    """Return a profile from its JSON form, whose members have the names of the fields."""
    repairs = (Repair(repair["rule"], Source(**repair["source"])) for repair in entry.get("repairs", ()))
    nested = {
        "constraints": tuple(map(constraint_from, entry["constraints"])),
        "sends_to": tuple(entry.get("sends_to", ())),
        "repairs": tuple(repairs),
    }
    return Profile(**{**entry, **nested})


def constraint_from(entry: Mapping[str, Any]) -> Constraint:
    """Return a constraint from its JSON form."""
    fields = {**entry, "sources": tuple(Source(**source) for source in entry["sources"])}
    fixed = fields.pop("fixed_in", {})
    return Constraint(**fields, fixed_version=fixed.get("version", ""), fixed_date=fixed.get("date", ""))


_ASKED_FOR = frozenset(
    {"CMP-007", "CMP-025", "CMP-027", "CMP-032", "CMP-034", "CMP-041", "CMP-061", "CMP-063", "CMP-066"}
)
"""Rules that most servers break without harm in most clients; they run for clients that the user names."""
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?")
_NUMBER = re.compile(r"\d+")


_UNITS = {"bytes": "bytes", "utf16": "UTF-16 units"}
_REFERENCE_WORDS = {
    "any": "any `$ref`",
    "unresolvable": "a `$ref` that does not resolve",
    "remote": "a `$ref` to another document",
    "siblings": "keywords beside a `$ref`",
    "not_defs": "a `$ref` outside `$defs` and `definitions`",
    "not_dollar_defs": "a `$ref` outside `$defs`",
    "recursive": "a recursive `$ref`",
}
_PATTERN_WORDS = {
    "unanchored": "patterns without `^` and `$`",
    "lookaround": "look-around in patterns",
    "shorthand": "classes such as `\\d` in patterns",
}


class ParameterType(NamedTuple):
    """What a parameter may be."""

    expected: str
    """In words."""
    kind: str
    """`count`, `flag`, `pattern`, `template`, `word` or `words`."""
    words: tuple[str, ...] = ()
    """The only words that are allowed; empty for any."""


_COUNT = ParameterType("a whole number", "count")
_FLAG = ParameterType("true or false", "flag")
_PATTERN = ParameterType("a regular expression", "pattern")
_WORDS = ParameterType("a list of words", "words")
_TEMPLATE = ParameterType("a text with `{server}` and `{tool}`", "template")
_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_SCHEMA_TYPES = ParameterType("a list of types", "words", _TYPES)
_FORMS = ParameterType("a list of forms of `$ref`", "words", tuple(_REFERENCE_WORDS))
_FAULTS = ParameterType("a list of faults", "words", tuple(_PATTERN_WORDS))
_DIALECT = ParameterType("a dialect", "word", ("2020-12", "draft-07"))
_UNIT = ParameterType("a unit", "word", ("bytes", "utf16"))


def _choice(*words: str) -> ParameterType:
    return ParameterType("a word", "word", words)


Parameters = dict[str, ParameterType]
_PARAMETERS: dict[str, tuple[Parameters, Parameters]] = {
    "name.regex": ({"pattern": _PATTERN}, {"forbid": _PATTERN}),
    "name.forbids": ({"pattern": _PATTERN}, {}),
    "name.combined": ({"template": _TEMPLATE, "max": _COUNT}, {"server_max": _COUNT}),
    **dict.fromkeys(
        ("name.max", "description.max", "param_description.max", "instructions.max"), ({"max": _COUNT}, {"unit": _UNIT})
    ),
    "tool.null_members": ({"members": _WORDS}, {}),
    "annotations.read_only": ({}, {"or_closed": _FLAG}),
    **dict.fromkeys(
        ("input.root_forbids", "input.root_requires", "input.forbids", "input.union_parent_type"),
        ({"keywords": _WORDS}, {}),
    ),
    **dict.fromkeys(("input.valid", "output.valid"), ({"dialect": _DIALECT}, {})),
    **dict.fromkeys(("input.dialect", "output.dialect"), ({"allowed": _WORDS}, {})),
    "input.array_items": ({}, {"unions": _FLAG, "defs": _FLAG}),
    "input.type_union": ({}, {"where": _choice("root_property"), "all_of": _SCHEMA_TYPES}),
    "input.type_missing": ({"instead": _WORDS}, {"branches": _FLAG}),
    **dict.fromkeys(("input.ref", "output.ref"), ({"forbid": _FORMS}, {"siblings_ok": _WORDS, "only_with": _WORDS})),
    "input.enum_on": ({"types": _SCHEMA_TYPES}, {}),
    "input.format": ({"allowed": _WORDS}, {"types": _SCHEMA_TYPES}),
    "input.pattern": ({"forbid": _FAULTS}, {}),
    "input.number_max": ({"keywords": _WORDS, "max": _COUNT}, {}),
    "input.open_object": ({}, {"where": _choice("root")}),
    "input.property_key": ({"pattern": _PATTERN}, {"where": _choice("top")}),
    "input.property_names_together": ({"names": _WORDS}, {}),
    **dict.fromkeys(
        (
            *("tool.bytes", "input.bytes", "input.large_lossy", "input.depth", "input.properties"),
            *("input.string_total", "input.enum_total", "tools.max", "tools.bytes"),
            *("optional_params.max", "union_params.max", "list.pages"),
        ),
        ({"max": _COUNT}, {}),
    ),
}
"""The required and the optional parameters of each kind that has any."""


def parameters_of(kind: str) -> tuple[Parameters, Parameters]:
    """Return the required and the optional parameters of a kind of constraint."""
    return _PARAMETERS.get(kind, ({}, {}))


_SENTENCES = {
    "name.regex": "Tool names must match `{pattern}`{without}.",
    "name.max": "Tool names have at most {max:,} {unit}.",
    "name.forbids": "Tool names must not contain `{pattern}`.",
    "name.combined": "`{template}` has at most {max:,} characters.",
    "description.required": "Every tool needs a description.",
    "description.empty": "A description must not be empty.",
    "description.max": "Descriptions have at most {max:,} {unit}.",
    "tool.bytes": "A tool has at most {max:,} bytes.",
    "tool.null_members": "Members of a tool may be absent but not null.",
    "tool.member_types": "A tool must have a name, and members of the right type: hints are booleans, titles strings.",
    "annotations.read_only": "Only tools marked as reading run without asking.",
    "param_description.max": "Descriptions of parameters have at most {max:,} {unit}.",
    "input.root_type": "The input schema must be `type: object`.",
    "input.root_forbids": "The root of the input schema must not use {keywords}.",
    "input.root_requires": "The root of the input schema must have {keywords}.",
    "input.valid": "The input schema must be valid JSON Schema {dialect}.",
    "input.dialect": "A declared `$schema` must be {allowed}.",
    "input.bytes": "The input schema has at most {max:,} bytes.",
    "input.large_lossy": "An input schema over {max:,} bytes is reduced.",
    "input.depth": "The input schema has at most {max:,} levels.",
    "input.properties": "The input schema has at most {max:,} properties.",
    "input.string_total": "Names and values of the input schema have at most {max:,} characters together.",
    "input.enum_total": "The input schema has at most {max:,} enum values.",
    "input.forbids": "The input schema must not use {keywords}.",
    "input.array_items": "Every array needs `items`.",
    "input.tuple_items": "`items` must not be a list.",
    "input.boolean_schema": "No schema may be `true` or `false`.",
    "input.property_not_object": "`properties` must be an object of objects.",
    "input.type_union": "`type` must not be a list{of}.",
    "input.type_missing": "Every property and every `items` needs one of {instead}.",
    "input.items_untyped": "The items of an array need a type.",
    "input.union_parent_type": "`type` must not be beside {keywords}.",
    "input.ref": "Not accepted: {forms}.",
    "input.enum_types": "Enum values must be strings.",
    "input.enum_on": "An enum must not be on an {types}.",
    "input.enum_empty": "An enum must have values, and no empty one.",
    "input.enum_shape": "An enum must have values, and distinct ones.",
    "input.format": "`format` must be one of {allowed}.",
    "input.pattern": "Not accepted: {faults}.",
    "input.number_max": "{keywords} must be at most {max:,}.",
    "input.required_defined": "`required` must name declared properties.",
    "input.required_list": "`required` must be a list of strings.",
    "input.required_all": "Every property must be required.",
    "input.closed": "Every object needs `additionalProperties: false`.",
    "input.open_object": "`additionalProperties` must be false where it is given.",
    "input.property_key": "Names of parameters must match `{pattern}`.",
    "input.property_names_together": "Parameters must not be called {names} in one tool.",
    "input.bool_exclusive": "`exclusiveMinimum` and `exclusiveMaximum` must be numbers.",
    "output.root_type": "The output schema must be `type: object`.",
    "output.dialect": "A declared `$schema` of the output schema must be {allowed}.",
    "output.ref": "Not accepted in output schemas: {forms}.",
    "output.valid": "The output schema must be valid JSON Schema {dialect}.",
    "name.unique": "Tool names must be unique.",
    "tools.max": "A server has at most {max:,} tools.",
    "tools.bytes": "All tools together have at most {max:,} bytes.",
    "optional_params.max": "All tools together have at most {max:,} optional parameters.",
    "union_params.max": "All tools together have at most {max:,} unions.",
    "instructions.max": "Instructions have at most {max:,} {unit}.",
    "list.pages": "Only the first page of tools is read.",
}
KINDS = tuple(_SENTENCES)


def in_a_sentence(constraint: Constraint) -> str:
    """Return a constraint as a sentence, with the models or builds it applies to."""
    sentence = _SENTENCES[constraint.kind].format(**_words(constraint.params))
    return f"{sentence[:-1]} ({constraint.when})." if constraint.when else sentence


def _words(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a constraint as words."""
    return {
        **params,
        "unit": _UNITS.get(params.get("unit", ""), "characters"),
        "without": f" and not contain `{params['forbid']}`" if isinstance(params.get("forbid"), str) else "",
        "of": f" with {_listed(params['all_of'], 'and')}" if "all_of" in params else "",
        "forms": ", ".join(_REFERENCE_WORDS[form] for form in params.get("forbid", ()) if form in _REFERENCE_WORDS),
        "faults": ", ".join(_PATTERN_WORDS[fault] for fault in params.get("forbid", ()) if fault in _PATTERN_WORDS),
        **{key: _listed(params.get(key, ()), "or") for key in ("keywords", "allowed", "instead", "types")},
        "names": _listed(params.get("names", ()), "and"),
    }


def _listed(words: list[str], last: str) -> str:
    """Words as a list, the long ones cut."""
    marked = [f"`{word}`" for word in words]
    if len(marked) > 8:
        return f"{', '.join(marked[:7])} and {len(marked) - 7} more"
    return f" {last} ".join([", ".join(marked[:-1]), marked[-1]] if len(marked) > 1 else marked)


class NamedClient(NamedTuple):
    """A client that the user names, with a version or a date if given: `claude-code@2.1.40`."""

    profile: str
    version: str = ""


class ActiveConstraint(NamedTuple):
    """A constraint of a client that a run checks, with its level in this run."""

    profile: Profile
    constraint: Constraint
    level: Level
    holds: bool
    """Whether it counts as current: in force, and neither opt-in nor conditional."""
    depends_on_key: bool = False
    """Whether a tool only breaks it because of the server's name in a user's configuration."""

    @property
    def key(self) -> tuple[str, str]:
        return self.profile.id, self.constraint.id

    @property
    def lowered(self) -> ActiveConstraint:
        """The same for a client that the user does not name: a warning at most."""
        return self._replace(level="warning") if self.level == "error" else self


class ClientChoice(NamedTuple):
    """The clients of a run: all profiles, and those that the user names."""

    profiles: Mapping[str, Profile]
    named: tuple[NamedClient, ...] = ()

    @property
    def pins(self) -> dict[str, str]:
        return {client.profile: client.version for client in self.named}

    def for_lint(self) -> list[ActiveConstraint]:
        """The constraints behind findings of `lint`: errors become warnings unless the client is named.

        Of clients that are not named, only what breaks them for certain is reported: facts that count for the verdict
        and are not disputed.
        """
        pins = self.pins
        active = []
        # Why not all of them: docs/decisions/0045-lint-reports-certain-breaks.md.
        for holder in self.all_active():
            if holder.profile.id in pins:
                active.append(holder)
            elif holder.holds and holder.level != "note":
                active.append(holder.lowered)
        return active

    def for_compat(self, important: Container[str] = ()) -> list[ActiveConstraint]:
        """The constraints behind findings of `compat`: those of the named clients, or what counts in any.

        As in `lint`, errors become warnings unless the client is named, or is one of the `important` ones.
        """
        pins = self.pins
        return [
            holder if holder.profile.id in pins or holder.profile.id in important else holder.lowered
            for holder in self.all_active()
            if (holder.profile.id in pins if pins else holder.holds and holder.level != "note")
        ]

    def all_active(self) -> list[ActiveConstraint]:
        """Every constraint of every client, with whether it counts."""
        pins = self.pins
        return [
            _activated(profile, constraint, pins.get(profile.id), is_named=profile.id in pins)
            for profile in self.profiles.values()
            for constraint in profile.constraints
        ]

    def version_messages(self) -> list[str]:
        """What to report about clients named at a version that makes no difference."""
        return [
            f"{client.profile}: no fact depends on a {'date' if _DATE.fullmatch(client.version) else 'version'}; "
            "judged as current"
            for client in self.named
            if client.version
            and not any(_can_compare(client.version, fact) for fact in self.profiles[client.profile].constraints)
        ]


def find_client(name: str, names: Mapping[str, str]) -> str:
    """Return the id of the client that people mean by a name; `names` has those of all ids.

    Raises a UsageError if there is none, or more than one.
    """
    slugs = {_slug(word): key for key, title in names.items() for word in (title, key)}
    wanted = _slug(name)
    meant = {slugs[wanted]} if wanted in slugs else {slugs[slug] for slug in slugs if slug.startswith(f"{wanted}-")}
    if len(meant) == 1:
        return meant.pop()
    hint = (
        f" (did you mean {' or '.join(f'`{key}`' for key in sorted(meant))}?)" if meant else nearest(wanted, [*slugs])
    )
    raise UsageError(f"unknown client `{name}`{hint}; `mcproof explain clients` lists them all")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


def choose_clients(words: Iterable[str], profiles: Mapping[str, Profile] | None = None) -> ClientChoice:
    """Return the choice of named clients. Raises a UsageError for an unknown one."""
    by_id = known_profiles() if profiles is None else profiles
    names = {profile.id: profile.name for profile in by_id.values()}
    named = []
    for word in words:
        name, _, version = word.partition("@")
        named.append(NamedClient(find_client(name, names), version))
    return ClientChoice(by_id, tuple(named))


def _activated(profile: Profile, constraint: Constraint, version: str | None, *, is_named: bool) -> ActiveConstraint:
    """A constraint as it applies to a version of its client; None is no particular version.

    What counts for the verdict of a client that is not named is what is reported of it, so that both agree.
    """
    if version and _can_compare(version, constraint):
        if _DATE.fullmatch(version):
            is_before_fix = version < constraint.fixed_date
        else:
            # As numbers: as text, `2.10` is before `2.9`.
            is_before_fix = _numbers(version) < _numbers(constraint.fixed_version)
        constraint = constraint._replace(status="current" if is_before_fix else "fixed")
    holds = constraint.status == "current" and not constraint.opt_in and not constraint.conditional
    is_asked_for = constraint.disputed or constraint.rule in _ASKED_FOR or _is_old(constraint)
    return ActiveConstraint(profile, constraint, constraint.level, holds and (is_named or not is_asked_for))


def _can_compare(version: str, constraint: Constraint) -> bool:
    return bool(constraint.fixed_date if _DATE.fullmatch(version) else constraint.fixed_version)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in _NUMBER.findall(version)]


LONGEST_PATTERN = 500
_SLOW = re.compile(r"\(\?<?[=!]|\(\?P=|\\[1-9k]")


class LinearPattern(str):
    """A pattern that is matched in linear time."""

    __slots__ = ()


@lru_cache(maxsize=256, typed=True)  # typed, as a `LinearPattern` equals its text
def matcher(pattern: str) -> Callable[[str], object]:
    """What tells whether a pattern matches all of a text."""
    if isinstance(pattern, LinearPattern):
        return partial(_is_valid, _validator(f"^(?:{pattern})$"))
    # A pattern of a shipped profile, which is known to be harmless.
    return re.compile(pattern).fullmatch


def occurs_in(pattern: str, text: str) -> bool:
    """Whether a pattern matches a part of a text."""
    if isinstance(pattern, LinearPattern):
        return _is_valid(_validator(str(pattern)), text)
    return re.search(pattern, text) is not None


def problem_of(pattern: str) -> str:
    """Return why a pattern of a configuration cannot be used; empty if it can."""
    if len(pattern) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN} characters"
    try:
        _validator(f"^(?:{pattern})$")
        _validator(pattern)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in the Rust library is a BaseException
        if _SLOW.search(pattern):
            return "uses look-around or a back-reference, which is not supported"
        return "is not a valid regular expression, or too large"
    return ""


@cache
def _validator(pattern: str) -> Any:
    import jsonschema_rs

    # The library matches in linear time, whatever the pattern: docs/decisions/0010-hostile-input.md.
    schema = {"pattern": pattern}
    return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions(), offline=True)


def _is_valid(validator: Any, text: str) -> bool:
    try:
        return bool(validator.is_valid(text))
    except UnicodeEncodeError:  # a lone surrogate, which the library cannot represent
        return bool(validator.is_valid(text.encode("utf-8", "replace").decode()))
