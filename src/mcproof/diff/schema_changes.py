"""What changed between two JSON Schemas, and who is hurt: those who send values, or those who read them.

Both schemas are walked side by side. Keywords are compared one by one, which is sound: where each keyword accepts at
least what it did, so does the schema. Where that makes a combined schema look narrower, it is compared as a whole
before anybody is alarmed. The walk follows references on both sides, so a definition may move; a pair of schemas that
comes up again below itself ends there. What one keyword alone cannot tell (`oneOf`, `not`, `if` and their
like) is asked of `containment`; what nobody can tell is said to be unknown, never to be compatible.

For an input a narrower schema breaks callers, for an output a wider one does: there they read what they were not
told of. Properties that a schema neither declares nor welcomes are not counted as sent; see `containment`.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from mcproof.diff.alternatives import UNIONS, compare_unions, is_union
from mcproof.diff.containment import Effort, ask, contains
from mcproof.diff.equality import Place, asserts, hops, same_json, same_keyword, same_schema, unknown_on_the_way
from mcproof.diff.keywords import DYNAMIC, VALUE_KEYWORDS
from mcproof.diff.properties import compare_properties, dotted
from mcproof.diff.schema_side import Side
from mcproof.diff.value_keywords import Effect, shown, value_effects
from mcproof.text.pointers import escape

MOST_LEVELS = 200
_MOST_PAIRS = 20_000
_MOST_USES = 20
"""How many uses of one definition that changed are reported each on its own."""
_MOST_REPEATS = 5_000
"""How many pairs of schemas are gone through again; beyond that every further use of a definition is only counted."""
_MOST_MEMBER_PAIRS = 400
_MOST_NAMES = 20
_LONGEST_LABEL = 120
_TEXTS = {
    "title": ("title", "title-changed"),
    "description": ("description", "description-changed"),
    "examples": ("list of examples", "description-changed"),
    "deprecated": ("deprecation", "description-changed"),
}
"""What a schema tells people and agents about a value: what to call it, and the kind that a change of it is of."""
_BY_ACCEPTANCE = frozenset(
    {"type-narrowed", "type-widened", "type-changed", "values-removed", "values-added", "values-changed"}
    | {"const-changed", "bound-narrowed", "bound-widened", "bound-changed", "pattern-changed"}
    | {"union-narrowed", "union-widened", "union-changed", "constraint-changed"}
    | {"parameter-required", "parameter-added-required", "field-optional"}
)
"""Kinds of change that break callers only by what the whole schema accepts."""
_WHOLE = (
    *("anyOf", "oneOf", "allOf", "not", "if", "then", "else", "contains", "minContains", "maxContains"),
    *("propertyNames", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies"),
    *("unevaluatedProperties", "unevaluatedItems", "$ref", "$dynamicRef", "$recursiveRef"),
)
"""Keywords that are not compared on their own unless they say the same."""
_DIALECT_BOUND = DYNAMIC | {"prefixItems", "additionalItems", "dependencies", "dependentSchemas", "dependentRequired"}
_DIALECT_BOUND |= {"unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains"}
_DRAFT_04_BOUND = {"exclusiveMinimum", "exclusiveMaximum", "const", "contains", "propertyNames", "if", "then", "else"}
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_COMBINING = frozenset({*UNIONS, "allOf", "not", "if", "then", "else", "dependentSchemas", "dependencies", "$ref"})
_ARRAY_KEYWORDS = frozenset({"items", "prefixItems", "additionalItems"})
_SAYS_NOTHING = Place(True, "")

Direction = Literal["input", "output"]


class SchemaChange(NamedTuple):
    """One difference between two schemas."""

    kind: str
    """The id of its kind."""
    breaking: bool | None
    message: str
    pointer: str
    is_old: bool = False
    parameter: str | None = None


class Pair(NamedTuple):
    """Two schemas for the same value, or only what there is to say about one that has no partner."""

    old: Place
    new: Place
    label: str = ""
    """What the author calls the value: `filter.status`; empty for the root."""
    parameter: str | None = None
    is_shared: bool = False
    """Whether other schemas judge the same value."""
    is_piece: bool = False
    """Whether these are the parts of two unions for one type."""
    level: int = 0
    notes: tuple[SchemaChange, ...] = ()
    is_over: bool = False


Key = tuple[int, int, bool, bool]
"""What two pairs of schemas share if they are the same two, seen in the same way."""


class Met:
    """A pair of schemas on the way: what is found in it; and, of the first time, how often it is met again."""

    __slots__ = ("begin", "end", "is_combined", "key", "more", "pair", "uses")

    def __init__(self, pair: Pair, key: Key, begin: int, *, is_combined: bool) -> None:
        self.pair = pair
        self.key = key
        self.begin = begin
        """Where in the list of all changes its own begin."""
        self.end = begin
        self.is_combined = is_combined
        self.uses = 1
        self.more = 0


def compare_schemas(
    old: dict[str, Any], new: dict[str, Any], direction: Direction, effort: Effort | None = None
) -> list[SchemaChange]:
    """What changed between two schemas of a tool.

    In the order of the new schema, from the outside in; a removed property comes after those that its object kept.
    The effort is shared by the comparisons of a catalog.
    """
    if same_json(old, new):
        return []
    base = f"/{direction}Schema"
    sides = Side(old, base), Side(new, base)
    try:
        return Comparison(*sides, effort or Effort(), is_input=direction == "input").run()
    finally:
        for side in sides:
            side.release()


class Comparison:
    """The walk over two schemas, side by side."""

    def __init__(self, old: Side, new: Side, effort: Effort, *, is_input: bool) -> None:
        self.old = old
        self.new = new
        self.is_input = is_input
        self.found: list[SchemaChange] = []
        self._met: dict[Key, Met] = {}
        self._repeats = 0
        self._open: set[Key] = set()  # those that the walk is in
        self._answers: dict[tuple[object, ...], bool | None] = {}
        self._made: list[dict[str, Any]] = []  # kept, so that no id is used twice
        self._typeless: set[int] = set()  # made with a `type` that the document does not have
        self._told: set[tuple[str, str]] = set()
        self._effort = effort

    def run(self) -> list[SchemaChange]:
        """All that changed."""
        root = Pair(Place(self.old.root, self.old.base), Place(self.new.root, self.new.base))
        self._compare_dialects()
        waiting: list[Pair | Met] = [root]
        pairs = 0
        while waiting:
            pair = waiting.pop()
            if isinstance(pair, Met):
                self._leave(pair)
                continue
            pairs += 1
            if pairs - self._repeats > _MOST_PAIRS:
                self.say("not-compared", None, f"the schema of {self.subject(root)} is too large to compare", root)
                break
            self.found += pair.notes
            if not pair.is_over:
                waiting += reversed(self._visit(pair))
        for met in self._met.values():
            if met.more:
                self._say_more(met)
        if all(change.breaking is False for change in self.found):
            self._ask_again(root)
        return self.found

    def _leave(self, met: Met) -> None:
        """Look back at all that was found in a pair: by parts it may look worse than it is as a whole."""
        met.end = len(self.found)
        self._open.discard(met.key)
        if not met.is_combined:
            return
        worse = [
            at for at in range(met.begin, met.end) if self.found[at].breaking and self.found[at].kind in _BY_ACCEPTANCE
        ]
        if worse and self.breaks(met.pair.old, met.pair.new) is False:
            for at in worse:
                self.found[at] = self.found[at]._replace(breaking=False)

    def _say_more(self, met: Met) -> None:
        """One line for all uses of a definition beyond those that have lines of their own."""
        verdicts = {change.breaking for change in self.found[met.begin : met.end]}
        breaking = True if True in verdicts else None if None in verdicts else False
        places = f"{met.more} more place{'' if met.more == 1 else 's'}"
        message = f"the definition of {self.subject(met.pair)} is used in {places}, where the same changed"
        self.say("constraint-changed", breaking, message, met.pair)

    def _ask_again(self, root: Pair) -> None:
        """A safety net: where the walk found nothing that hurts, report what the library can show to hurt."""
        if not same_schema((self.old, root.old.schema), (self.new, root.new.schema)):
            old, new = (self.made_of(place, _as_object(place.schema)) for place in (root.old, root.new))
            if self._accepts_all(old, new, is_root=True) is False:
                self.say("constraint-changed", True, f"the schema of {self.subject(root)} changed as a whole", root)

    def say(self, kind: str, breaking: bool | None, message: str, pair: Pair, at: str | None = None) -> None:
        """Report a change of a pair, where the new schema of the pair stands or at a pointer."""
        self.found.append(self.change(kind, breaking, message, pair, at))

    def change(
        self, kind: str, breaking: bool | None, message: str, pair: Pair, at: str | None = None, *, is_old: bool = False
    ) -> SchemaChange:
        """A change of a pair that is reported later."""
        pointer = pair.new.pointer if at is None else at
        return SchemaChange(kind, breaking, message, pointer, is_old, pair.parameter)

    def subject(self, pair: Pair) -> str:
        """What to call the value of a pair."""
        if pair.label:
            return f"`{pair.label}`"
        return "the arguments" if self.is_input else "the result"

    def verdict(self, effect: Effect) -> bool | None:
        """Whether a change of what is accepted breaks callers."""
        if effect is Effect.UNCLEAR:
            return None
        return effect is not (Effect.WIDER if self.is_input else Effect.NARROWER)

    def _accepts_all(self, old: Place, new: Place, *, is_root: bool = False) -> bool | None:
        """Whether nobody is hurt: the new schema accepts what the old one did, or for an output the other way round."""
        one, other = (self.old, old.schema), (self.new, new.schema)
        if self.is_input:
            return self.is_within(one, other, is_root=is_root, declared_only=True)
        return self.is_within(other, one, is_root=is_root)

    def is_within(
        self,
        narrower: tuple[Side, Any],
        wider: tuple[Side, Any],
        *,
        is_root: bool = False,
        declared_only: bool = False,
    ) -> bool | None:
        """Whether the second schema accepts all that the first does; None where nobody knows."""
        key = (id(narrower[0]), id(narrower[1]), id(wider[1]), is_root, declared_only)
        if key not in self._answers:
            answer = contains(wider, narrower, self._effort, is_root=is_root, declared_only=declared_only)
            self._answers[key] = answer
        return self._answers[key]

    def breaks(self, old: Place, new: Place) -> bool | None:
        """Whether callers break by two schemas as wholes, as far as the library knows."""
        answer = self._accepts_all(old, new)
        return None if answer is None else not answer

    def _compare_dialects(self) -> None:
        if self.old.draft == self.new.draft and (
            self.old.draft is not None or same_json(self.old.root["$schema"], self.new.root["$schema"])
        ):
            return
        is_known = self.old.draft is not None and self.new.draft is not None
        drafts = {self.old.draft, self.new.draft}
        is_plain = is_known and not any(_uses_dialect(side, drafts) for side in (self.old, self.new))
        before, after = (
            shown(side.root["$schema"]) if "$schema" in side.root else "none" for side in (self.old, self.new)
        )
        pointer = self.new.base + ("/$schema" if "$schema" in self.new.root else "")
        message = f"`$schema` changed from {before} to {after}"
        self.found.append(SchemaChange("dialect-changed", False if is_plain else None, message, pointer))

    def _visit(self, pair: Pair) -> list[Pair | Met]:
        """Report what changed in a pair itself, and return the pairs below it, and what to do after them."""
        ways = hops(self.old, pair.old), hops(self.new, pair.new)
        old, new = ways[0][-1], ways[1][-1]
        if not pair.level:
            old, new = (self.made_of(place, _as_object(place.schema)) for place in (old, new))
        key = (id(old.schema), id(new.schema), pair.is_shared, pair.is_piece)
        is_known = key in self._met and not self._is_worth_another(self._met[key])
        if not pair.is_piece:
            self._compare_notes(pair, *((pair.old, pair.new) if is_known else (old, new)))
        self._compare_unknown(pair, *((way[:-1] for way in ways) if is_known else ways))
        if is_known:
            return []
        pair = pair._replace(old=old, new=new)
        if pair.level > MOST_LEVELS:
            if not same_schema((self.old, old.schema), (self.new, new.schema)):
                self.say("not-compared", None, f"{self.subject(pair)} is nested too deeply to compare", pair)
            return []
        one, other = (({} if place.schema is True else place.schema) for place in (old, new))
        if type(one) is not dict or type(other) is not dict:
            self._compare_odd(pair, one, other)
            return []
        met = Met(pair, key, len(self.found), is_combined=_is_combined(one) or _is_combined(other))
        is_repeated = self._met.setdefault(key, met) is not met
        self._open.add(key)
        is_either = is_union(one) or is_union(other)
        below = compare_unions(self, pair, one, other) if is_either else self._compare_keywords(pair, one, other)
        self._repeats += len(below) if is_repeated else 0
        return [*below, met]

    def _is_worth_another(self, met: Met) -> bool:
        """Whether to go through a pair again that was met already, for the place that it is used in now."""
        if met.key in self._open or met.begin == met.end:  # it is below itself, or nothing changed
            return False
        if met.uses < _MOST_USES and self._repeats < _MOST_REPEATS:
            met.uses += 1
            return True
        met.more += 1
        return False

    def made_of(self, place: Place, schema: Any) -> Place:
        """A schema that stands in for the one at a place."""
        if schema is not place.schema:
            self._made.append(schema)
            if isinstance(place.schema, dict) and "type" not in place.schema:
                self._typeless.add(id(schema))
        return Place(schema, place.pointer)

    def _compare_odd(self, pair: Pair, old: Any, new: Any) -> None:
        """Schemas of which one is `false`, or none at all."""
        if same_json(old, new):
            return
        subject = self.subject(pair)
        if new is False and type(old) is dict:
            self.say(
                "type-narrowed", self.verdict(Effect.NARROWER), f"no value of {subject} is accepted any more", pair
            )
        elif old is False and type(new) is dict:
            self.say("type-widened", self.verdict(Effect.WIDER), f"values of {subject} are accepted now", pair)
        else:
            self.say("constraint-changed", None, f"{subject} is described by what is no schema", pair)

    def _compare_notes(self, pair: Pair, old: Place, new: Place) -> None:
        """The texts and the default: of the schema that refers, or else of the one referred to."""
        subject = self.subject(pair)
        for keyword, (name, kind) in _TEXTS.items():
            if keyword != "description" and not pair.label:
                continue
            before, after = (_note(keyword, *places) for places in ((pair.old, old), (pair.new, new)))
            if same_json(before[0] or None, after[0] or None):
                continue
            if keyword in {"examples", "deprecated"} or all(isinstance(each[0] or "", str) for each in (before, after)):
                self.say(kind, False, told(name, before[0], after[0], of=subject), pair, after[1])
        before, after = (_note("default", *places) for places in ((pair.old, old), (pair.new, new)))
        if not same_json(before[0], after[0]) or before[2] != after[2]:
            breaking = None if self.is_input and before[2] else False
            self.say("default-changed", breaking, f"default of {subject} {_become(before, after)}", pair, after[1])

    def _compare_unknown(self, pair: Pair, old: list[Place], new: list[Place]) -> None:
        """Keywords of which nobody can say whether they refuse a value."""
        before, after = unknown_on_the_way(self.old, old), unknown_on_the_way(self.new, new)
        changed = [
            keyword
            for keyword in {**after, **before}
            if (keyword in before) != (keyword in after) or not same_json(before[keyword], after[keyword])
        ]
        if not changed:
            return
        keyword = changed[0]
        message = f"{quoted(changed)} of {self.subject(pair)} changed"
        if len(changed) == 1:
            values = ((side.get(keyword), "", keyword in side) for side in (before, after))
            message = f"`{shortened(keyword)}` of {self.subject(pair)} {_become(*values)}"
        if (pair.label, message) in self._told:
            return
        self._told.add((pair.label, message))
        pointers = [f"{place.pointer}/{escape(keyword)}" for place in new if keyword in _members(place.schema)]
        self.say("constraint-changed", None, message, pair, pointers[0] if pointers else None)

    def _compare_keywords(self, pair: Pair, old: dict[str, Any], new: dict[str, Any]) -> list[Pair]:
        pair = pair._replace(is_shared=pair.is_shared or _is_combined(old) or _is_combined(new))
        self._compare_values(pair, old, new)
        below = self._compare_objects(pair, old, new) + self._compare_arrays(pair, old, new)
        return below + self._compare_whole(pair, old, new)

    def _compare_values(self, pair: Pair, old: dict[str, Any], new: dict[str, Any]) -> None:
        """The keywords that speak of the value as a whole."""
        for each in value_effects(old, new, self.subject(pair), with_type=not pair.is_piece):
            breaking = self.verdict(each.effect)
            if breaking is not False and each.is_decidable:
                accepts = self._accepts_with(each.keyword, old, new)
                breaking = breaking if accepts is None else not accepts
            elif breaking and each.keyword == "format":
                breaking = None
            is_written = each.keyword in new and (each.keyword != "type" or id(new) not in self._typeless)
            at = f"{pair.new.pointer}/{each.keyword}" if is_written else None
            self.say(each.kind, breaking, each.message, pair, at)

    def _accepts_with(self, keyword: str, old: dict[str, Any], new: dict[str, Any]) -> bool | None:
        """Whether the change of one keyword hurts nobody, because of what the others allow anyway."""
        draft = self.old.draft
        if draft is None or draft != self.new.draft:
            return None
        before, after = (old, new) if self.is_input else (new, old)
        kept = {name: value for name, value in before.items() if name in VALUE_KEYWORDS}
        changing = {"enum", "const"} if keyword in {"enum", "const"} else {keyword}
        changed = {name: value for name, value in kept.items() if name not in changing}
        changed |= {name: after[name] for name in changing if name in after}
        key = (keyword, id(old), id(new))
        if key not in self._answers:
            self._answers[key] = ask(changed, kept, draft, self._effort)
        return self._answers[key]

    def below(self, pair: Pair, old: Place, new: Place, label: str | None = None, *, is_shared: bool = False) -> Pair:
        """A pair below another. What has no place in the new schema is reported where its parent stands."""
        if not new.pointer:
            new = Place(new.schema, pair.new.pointer)
        label = shortened(pair.label if label is None else label)
        return Pair(old, new, label, pair.parameter, is_shared or pair.is_shared, level=pair.level + 1)

    def _compare_objects(self, pair: Pair, old: dict[str, Any], new: dict[str, Any]) -> list[Pair]:
        return compare_properties(self, pair, old, new)

    def _compare_arrays(self, pair: Pair, old: dict[str, Any], new: dict[str, Any]) -> list[Pair]:
        """The entries that have a schema of their own, and the schema of all others."""
        if _ARRAY_KEYWORDS.isdisjoint(old) and _ARRAY_KEYWORDS.isdisjoint(new):
            return []
        (old_first, old_rest), (new_first, new_rest) = _entries(old, pair.old), _entries(new, pair.new)
        below = []
        for at in range(max(len(old_first), len(new_first))):
            one = old_first[at] if at < len(old_first) else old_rest
            other = new_first[at] if at < len(new_first) else new_rest
            below.append(self.below(pair, one, other, f"{pair.label}[{at}]"))
        below.append(self.below(pair, old_rest, new_rest, f"{pair.label}[]"))
        return below

    def _compare_whole(self, pair: Pair, old: dict[str, Any], new: dict[str, Any]) -> list[Pair]:
        """The keywords that need the whole schema to be judged."""
        below: list[Pair] = []
        differing = []
        for keyword in _WHOLE:
            if keyword not in old and keyword not in new:
                continue
            parts = self._parts(keyword, pair, old, new)
            if parts is not None:
                below += parts
            elif keyword in DYNAMIC or not same_keyword(keyword, (self.old, old), (self.new, new)):
                differing.append(keyword)
        unevaluated = [keyword for keyword in _UNEVALUATED if keyword in old or keyword in new]
        if not differing and unevaluated and not same_schema((self.old, old), (self.new, new)):
            differing = unevaluated  # what they refuse depends on all keywords beside them
        if differing:
            at = f"{pair.new.pointer}/{differing[0]}" if differing[0] in new else None
            breaking = self.breaks(pair.old, pair.new)
            self.say("constraint-changed", breaking, f"{quoted(differing)} of {self.subject(pair)} changed", pair, at)
        return below

    def _parts(self, keyword: str, pair: Pair, old: dict[str, Any], new: dict[str, Any]) -> list[Pair] | None:
        """The pairs of schemas in a keyword that accepts more where any of them does; None if it is not such a one."""
        one, other = old.get(keyword), new.get(keyword)
        before, after = f"{pair.old.pointer}/{keyword}", f"{pair.new.pointer}/{keyword}"
        if keyword == "allOf" and isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            return [
                self.below(pair, Place(one[at], f"{before}/{at}"), Place(other[to], f"{after}/{to}"), is_shared=True)
                for at, to in self._matched(one, other)
            ]
        if keyword == "patternProperties" and isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return None
            return [
                self.below(
                    pair,
                    Place(one[name], f"{before}/{escape(name)}"),
                    Place(each, f"{after}/{escape(name)}"),
                    dotted(pair.label, f"/{name}/"),
                    is_shared=True,
                )
                for name, each in other.items()
            ]
        if keyword == "$ref":
            left, right = self.old.reference(old), self.new.reference(new)
            if left is not None and right is not None:
                source = Place(left.target, self.old.pointer_of(left) or pair.old.pointer)
                target = Place(right.target, self.new.pointer_of(right) or pair.new.pointer)
                return [self.below(pair, source, target, is_shared=True)]
        return None

    def _matched(self, old: list[Any], new: list[Any]) -> list[tuple[int, int]]:
        """The members of two lists that are as long as each other: the same with the same, the others in order."""
        if len(old) * len(new) > _MOST_MEMBER_PAIRS:
            return [(at, at) for at in range(len(new))]
        left, partners = list(range(len(old))), dict[int, int]()
        for at, each in enumerate(new):
            same = next((one for one in left if same_schema((self.old, old[one]), (self.new, each))), None)
            if same is not None:
                left.remove(same)
                partners[at] = same
        return [(partners[at] if at in partners else left.pop(0), at) for at in range(len(new))]


def told(name: str, old: Any, new: Any, of: str = "") -> str:
    """How a text changed, with both texts where they are short."""
    what = f"{name} of {of}" if of else name
    if not old or not new:
        return f"{what} was {'added' if new else 'removed'}"
    texts = shown(old), shown(new)
    return f"{what} changed" + ("" if any("…" in text for text in texts) else f" from {texts[0]} to {texts[1]}")


def _become(old: tuple[Any, str, bool], new: tuple[Any, str, bool]) -> str:
    """What happened to a member that is there or not, with its values."""
    if not old[2]:
        return f"was added: {shown(new[0])}"
    if not new[2]:
        return f"was removed: {shown(old[0])}"
    return f"changed from {shown(old[0])} to {shown(new[0])}"


def _members(schema: Any) -> dict[str, Any]:
    return schema if isinstance(schema, dict) else {}


def quoted(names: list[str]) -> str:
    """Names for a sentence; an author may have made up any number of them, of any length."""
    first = ", ".join(f"`{shortened(name)}`" for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return first if more <= 0 else f"{first} and {more} more"


def shortened(name: str) -> str:
    """A name or a label, cut in the middle where it is too long to read."""
    return f"{name[:60]}…{name[-50:]}" if len(name) > _LONGEST_LABEL else name


def _note(keyword: str, holder: Place, target: Place) -> tuple[Any, str, bool]:
    """A note of the schema that refers, or else of the one that it refers to: value, pointer, whether there is one."""
    for place in (holder, target):
        if isinstance(place.schema, dict) and keyword in place.schema:
            return place.schema[keyword], f"{place.pointer}/{keyword}", True
    return None, holder.pointer, False


def _as_object(schema: Any) -> Any:
    """The root of a tool's schema, which describes an object whether or not it says so."""
    if schema is True:
        return {"type": "object"}
    if not isinstance(schema, dict) or not {"type", "$ref", *UNIONS}.isdisjoint(schema):
        return schema
    return {**schema, "type": "object"}


def _is_combined(schema: dict[str, Any]) -> bool:
    """Whether other schemas judge the same value, from within this one."""
    return not _COMBINING.isdisjoint(schema)


def _entries(schema: dict[str, Any], place: Place) -> tuple[list[Place], Place]:
    """The schemas of the first entries of a list, and the one of all others."""
    keyword = "prefixItems" if "prefixItems" in schema else "items"
    rest = "items" if keyword == "prefixItems" else "additionalItems"
    first = schema.get(keyword)
    if not isinstance(first, list):
        first, rest = [], "items"
    after = Place(schema[rest], f"{place.pointer}/{rest}") if rest in schema else _SAYS_NOTHING
    return [Place(each, f"{place.pointer}/{keyword}/{at}") for at, each in enumerate(first)], after


def _uses_dialect(side: Side, drafts: set[int | None]) -> bool:
    """Whether any part of a schema means something else, or nothing, in one of two drafts."""
    bound = _DIALECT_BOUND | _DRAFT_04_BOUND if not drafts.isdisjoint({4, 6}) else _DIALECT_BOUND
    return any(
        not bound.isdisjoint(schema)
        or isinstance(schema.get("items"), list)
        or ("$ref" in schema and len(asserts(schema)) > 1)
        for schema in side.schemas()
    )
