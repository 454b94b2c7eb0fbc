"""Changes of what an object or a union is made of: properties, `required`, and the branches of unions.

An added or removed property cannot be judged only by the values that the two schemas accept. The decisions:

- A new optional parameter is compatible. The verdict is unknown if callers may already use the name: because the
  object explicitly allowed any property, or constrained properties that it does not name.
- A removed parameter breaks callers, also if the object is open: it still accepts the argument, but what callers
  mean by it is lost. The verdict is unknown if another part of the new schema may describe the argument: a pattern,
  the values of a map, a subschema that applies in place, or an object that became free-form.
- A removed field of a result breaks callers. A new one is compatible, unless the result excluded further fields:
  then it depends on whether callers validate results.
- Closing an input rejects undeclared arguments. That breaks callers if they were explicitly allowed; otherwise the
  verdict is unknown.

Most unions distinguish their branches by type, others objects by a property with a constant value. In the remaining
ones, equivalent branches are matched; the others are compared in order, which is sound for `anyOf`, or by a
containment check.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mcproof.checks.diff.changes import counted, value_text
from mcproof.checks.diff.comparison import (
    Effect,
    SchemaChange,
    SchemaComparison,
    SchemaPair,
    accepted_types,
    change_of,
    for_type,
    type_effect,
)
from mcproof.checks.diff.documents import (
    Subschema,
    constrains_unnamed,
    declared_properties,
    json_key,
    mentioned_names,
    required_names,
    same_json,
    same_schema,
)
from mcproof.core.schema.keywords import ALTERNATIVES, DYNAMIC, assertions, is_union


def compare_properties(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair]:
    """Report changes of the set of properties, and return the pairs of schemas for each property."""
    return _PropertyComparison(comparison, pair).compare()


def property_label(label: str, name: str) -> str:
    """The label of a property, from the label of its object."""
    return f"{label}.{name}" if label else name


def _accepts_anything(schema: Any) -> bool:
    return schema is True or (isinstance(schema, dict) and not assertions(schema))


class _PropertyComparison:
    """Two object schemas for the same value."""

    def __init__(self, comparison: SchemaComparison, pair: SchemaPair) -> None:
        self.comparison = comparison
        self.pair = pair
        self.old, self.new = pair.old.keywords, pair.new.keywords
        self.old_properties, self.new_properties = declared_properties(self.old), declared_properties(self.new)
        self.old_required, self.new_required = required_names(self.old), required_names(self.new)
        self.is_input = comparison.is_input
        self.noun = "parameter" if self.is_input else "field"

    def compare(self) -> list[SchemaPair]:
        for keyword, expected in (("properties", dict), ("required", list)):
            values = [schema.get(keyword) for schema in (self.old, self.new)]
            if not all(value is None or isinstance(value, expected) for value in values) and not same_json(*values):
                message = f"`{keyword}` of {self.comparison.subject(self.pair)} is malformed"
                self.comparison.report("constraint-changed", None, message, self.pair)
        self._compare_undeclared_required()
        children = [self._compare_declared(name, schema) for name, schema in self.new_properties.items()]
        children += [
            self._removed(name, schema)
            for name, schema in self.old_properties.items()
            if name not in self.new_properties
        ]
        return children + self._compare_additional()

    def _child(self, name: str, old: Subschema, new: Subschema) -> SchemaPair:
        child = self.comparison.child(self.pair, old, new, property_label(self.pair.label, name))
        return child if self.pair.level or not self.is_input else child._replace(parameter=name)

    def _compare_declared(self, name: str, schema: Any) -> SchemaPair:
        """The pair for a property that the new schema declares."""
        new = self.pair.new.child(schema, "properties", name)
        if name in self.old_properties:
            old = self.pair.old.child(self.old_properties[name], "properties", name)
        elif name in self.old_required:
            old = self.pair.old.unconstrained()
        else:
            return self._added(name, new)
        child = self._child(name, old, new)
        is_required = name in self.new_required
        if is_required == (name in self.old_required):
            return child
        return child._replace(notes=(self._required_change(child, is_required, new.pointer),))

    def _required_change(self, pair: SchemaPair, is_required: bool, pointer: str) -> SchemaChange:
        state = "required" if is_required else "optional"
        breaking = is_required == self.is_input
        message = f"`{pair.label}` became {state}"
        return change_of(pair, f"{self.noun}-{state}", breaking, message, pointer)

    def _compare_undeclared_required(self) -> None:
        """Report names that became required or optional without being declared."""
        at = f"{self.pair.new.pointer}/required" if "required" in self.new else self.pair.new.pointer
        for name in [*self.new_required, *self.old_required]:
            if name not in self.new_properties and (name in self.new_required) != (name in self.old_required):
                is_required = name in self.new_required
                if is_required or name not in self.old_properties:
                    pair = self._child(name, self.pair.old, self.pair.new)
                    self.comparison.changes.append(self._required_change(pair, is_required, at))

    def _added(self, name: str, new: Subschema) -> SchemaPair:
        pair = self._child(name, self.pair.old.unconstrained(), new)
        is_required = name in self.new_required
        if self.is_input:
            breaking = True if is_required else self._may_be_in_use(name, new)
            kind = "parameter-added-required" if is_required else "parameter-added"
        else:
            breaking, kind = self._was_excluded(new), "field-added"
        message = f"`{pair.label}` was added" + (", and is required" if is_required else "")
        return pair._replace(notes=(change_of(pair, kind, breaking, message),), is_final=True)

    def _may_be_in_use(self, name: str, new: Subschema) -> bool | None:
        """None if callers may already send a new parameter with other values, else False."""
        if "patternProperties" in self.old or "unevaluatedProperties" in self.old:
            return None
        if not isinstance(new.schema, (dict, bool)):
            return None
        # What an open object accepted, callers may send already.
        if self._allowed_undeclared():
            additional = self.pair.old._replace(schema=self.old.get("additionalProperties", True))
            return False if self.comparison.is_within(additional, new) else None
        if constrains_unnamed(self.old) or name in mentioned_names(self.old):
            return None
        return None if self.pair.is_shared and name in self.comparison.old.names else False

    def _allowed_undeclared(self) -> bool:
        """Whether the old object allowed undeclared properties, explicitly or because it declared none."""
        if "additionalProperties" in self.old:
            return self.old["additionalProperties"] is not False
        return self.pair.level > 0 and not self.old_properties

    def _was_excluded(self, new: Subschema) -> bool | None:
        """Whether the old schema excluded a new field of a result; None if unknown."""
        additional = self.old.get("additionalProperties", True)
        if "patternProperties" in self.old or "unevaluatedProperties" in self.old or additional is False:
            return None
        if _accepts_anything(additional):
            return False
        is_within = self.comparison.is_within(new, self.pair.old._replace(schema=additional))
        return None if is_within is None else not is_within

    def _removed(self, name: str, schema: Any) -> SchemaPair:
        old = self.pair.old.child(schema, "properties", name)
        pair = self._child(name, old, self.pair.new)
        message = f"`{pair.label}` was removed"
        breaking: bool | None = True
        if self.is_input and not self._is_rejected(old):
            breaking = None if self._may_describe(name) else True
            message += "; calls that send it may still be accepted, but without its effect"
        change = change_of(pair, f"{self.noun}-removed", breaking, message, old.pointer, is_old=True)
        return pair._replace(notes=(change,), is_final=True)

    def _is_rejected(self, old: Subschema) -> bool:
        """Whether calls with a removed parameter are certainly rejected."""
        if "patternProperties" in self.new:
            return False
        additional = self.new.get("additionalProperties", True)
        if additional is False or _accepts_anything(additional):
            return additional is False
        return self.comparison.is_within(old, self.pair.new._replace(schema=additional)) is False

    def _may_describe(self, name: str) -> bool:
        """Whether a part of the new schema other than `properties` may describe an argument."""
        if "patternProperties" in self.new or not _accepts_anything(self.new.get("additionalProperties", True)):
            return True
        if self.pair.level and not self.new_properties:
            return True
        return name in mentioned_names(self.new) or (self.pair.is_shared and name in self.comparison.new.names)

    def _compare_additional(self) -> list[SchemaPair]:
        keyword = "additionalProperties"
        old, new = (schema.get(keyword, True) for schema in (self.old, self.new))
        at = f"{self.pair.new.pointer}/{keyword}" if keyword in self.new else self.pair.new.pointer
        subject = self.comparison.subject(self.pair)
        if old is False and new is not False:
            message = f"undeclared properties of {subject} are allowed now"
            self.comparison.report("object-opened", False if self.is_input else None, message, self.pair, at)
            return []
        if new is False and old is not False:
            breaking = (True if self._allowed_undeclared() else None) if self.is_input else False
            message = f"undeclared properties of {subject} are rejected now"
            self.comparison.report("object-closed", breaking, message, self.pair, at)
            return []
        if keyword not in self.old and keyword not in self.new:
            return []
        old_child, new_child = self.pair.old.child(old, keyword), self.pair.new._replace(schema=new, pointer=at)
        return [self.comparison.child(self.pair, old_child, new_child, property_label(self.pair.label, "*"))]


_MAX_BRANCH_PAIRS = 400
_MAX_BRANCHES = 50


def compare_unions(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair]:
    """Report changes of the branches, and return the pairs of branches still to be compared."""
    old_keywords, new_keywords = assertions(pair.old.keywords), assertions(pair.new.keywords)
    if not new_keywords:
        if old_keywords:
            message = f"{comparison.subject(pair)} accepts any value now"
            comparison.report("type-widened", comparison.is_breaking(Effect.WIDER), message, pair)
        return []
    before, after = _branches_by_type(comparison, pair.old), _branches_by_type(comparison, pair.new)
    if before is not None and after is not None:
        return _compare_by_type(comparison, pair, before, after)
    if same_schema(pair.old, pair.new):
        return []
    if is_union(pair.old.schema) and is_union(pair.new.schema):
        matched = _match_tagged(comparison, pair)
        if matched is None and old_keywords == new_keywords:
            matched = _match_branches(comparison, pair, new_keywords[0])
        if matched is not None:
            return matched
    message = f"the alternatives of {comparison.subject(pair)} changed"
    comparison.report("union-changed", comparison.breaks(pair.old, pair.new), message, pair)
    return []


def _branches(union: Subschema) -> list[Subschema]:
    keyword = assertions(union.keywords)[0]
    return [union.child(branch, keyword, index) for index, branch in enumerate(union.keywords[keyword])]


def _branches_by_type(comparison: SchemaComparison, subschema: Subschema) -> dict[str, Subschema] | None:
    """The parts of a schema for each type; None if its branches are not distinguished by type."""
    waiting = [subschema]
    parts: dict[str, Subschema] = {}
    steps = 0
    while waiting:
        steps += 1
        current = waiting.pop(0).resolved()
        if type(current.schema) is not dict or steps > _MAX_BRANCHES:
            return None
        if is_union(current.schema):
            waiting += _branches(current)
            continue
        types = accepted_types(current.schema)
        if not types or not {"$ref", *ALTERNATIVES, *DYNAMIC}.isdisjoint(assertions(current.schema)):
            return None
        for name in types:
            if name in parts:
                return None
            is_only = len(types) == 1
            parts[name] = current if is_only else comparison.substitute(current, for_type(current.schema, name))
    # An integer is a number as well, so these two do not exclude each other.
    return None if {"integer", "number"} <= parts.keys() else parts


def _compare_by_type(
    comparison: SchemaComparison, pair: SchemaPair, old: dict[str, Subschema], new: dict[str, Subschema]
) -> list[SchemaPair]:
    effect = type_effect(list(old), list(new), comparison.subject(pair))
    if effect is not None:
        comparison.report(effect.kind, comparison.is_breaking(effect.effect), effect.message, pair)
    children = []
    for name, part in new.items():
        partner = old.get(name)
        if partner is None and name in {"integer", "number"}:
            partner = old.get("number") or old.get("integer")
        if partner is not None:
            children.append(pair._replace(old=partner, new=part, is_type_part=True, level=pair.level + 1, notes=()))
    return children


def _match_tagged(comparison: SchemaComparison, pair: SchemaPair) -> list[SchemaPair] | None:
    """Pair objects by the constant property that distinguishes them; None if there is no such property.

    No value matches two of them, so each pair can be compared separately, even in `oneOf`.
    """
    old, new = _tagged_branches(pair.old), _tagged_branches(pair.new)
    for name in declared_properties(new[0].keywords) if old and new else ():
        before, after = _by_tag(name, old), _by_tag(name, new)
        if before is None or after is None:
            continue
        subject = comparison.subject(pair)
        for tag, branch in after.items():
            if tag not in before:
                message = f"{subject} has a further alternative, with {_tag_text(branch, name)}"
                breaking = comparison.is_breaking(Effect.WIDER)
                comparison.report("union-widened", breaking, message, pair, branch.pointer)
        for tag, branch in before.items():
            if tag not in after:
                message = f"{subject} lost the alternative with {_tag_text(branch, name)}"
                comparison.report("union-narrowed", comparison.is_breaking(Effect.NARROWER), message, pair)
        return [comparison.child(pair, before[tag], branch) for tag, branch in after.items() if tag in before]
    return None


def _tagged_branches(union: Subschema) -> list[Subschema]:
    """The resolved branches of a union; empty if there are too many."""
    branches = _branches(union)
    return [] if len(branches) > _MAX_BRANCHES else [branch.resolved() for branch in branches]


def _tag(branch: Subschema, name: str) -> Any:
    """The constant value of a required property; None if it is not required or not constant."""
    schema = branch.keywords
    subschema, required = declared_properties(schema).get(name), schema.get("required")
    if not isinstance(subschema, dict) or not isinstance(required, list) or name not in required:
        return None
    return subschema.get("const") if schema.get("type") == "object" else None


def _tag_text(branch: Subschema, name: str) -> str:
    return f"{value_text(_tag(branch, name))} as `{name}`"


def _by_tag(name: str, branches: list[Subschema]) -> dict[Hashable, Subschema] | None:
    """The branches by the constant value of a property; None if it does not distinguish all of them."""
    tags = [_tag(branch, name) for branch in branches]
    if not all(isinstance(tag, (str, int)) for tag in tags):
        return None
    tagged = dict(zip(map(json_key, tags), branches, strict=True))
    return tagged if len(tagged) == len(branches) else None


def _match_branches(comparison: SchemaComparison, pair: SchemaPair, keyword: str) -> list[SchemaPair] | None:
    """Pair the branches of two unions; None if the unions have to be compared as a whole.

    Any pairing is sound for `anyOf`. A branch of `oneOf` cannot be judged alone: a value that matches two is rejected.
    """
    removed, new = _branches(pair.old), _branches(pair.new)
    if len(removed) * len(new) > _MAX_BRANCH_PAIRS:
        return None
    added = []
    for branch in new:
        same = next((index for index, candidate in enumerate(removed) if same_schema(candidate, branch)), None)
        if same is None:
            added.append(branch)
        else:
            del removed[same]
    is_any_of = keyword == "anyOf"
    subject = comparison.subject(pair)
    if not removed:
        # `oneOf` with a further branch rejects the values that match two now.
        breaking = comparison.is_breaking(Effect.WIDER) if is_any_of else True
        message = f"{subject} has {counted(len(added), 'further alternative')}"
        comparison.report("union-widened", breaking and comparison.breaks(pair.old, pair.new), message, pair)
        return []
    if not added:
        breaking = comparison.is_breaking(Effect.NARROWER) if is_any_of else True
        message = f"{subject} lost {counted(len(removed), 'alternative')}"
        comparison.report("union-narrowed", breaking and comparison.breaks(pair.old, pair.new), message, pair)
        return []
    if not is_any_of or len(removed) != len(added):
        return None
    return [comparison.child(pair, *branch_pair, is_shared=True) for branch_pair in zip(removed, added, strict=True)]
