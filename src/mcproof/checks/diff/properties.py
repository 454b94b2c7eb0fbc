"""Compare `properties`, `required` and `additionalProperties` of two object schemas.

An added or removed property cannot be judged only by the values that the two schemas accept. The decisions:

- A new optional parameter is compatible. The verdict is unknown if callers may already use the name: because the object
  explicitly allowed any property, or constrained properties that it does not name.
- A removed parameter breaks callers, also if the object is open: it still accepts the argument, but what callers mean
  by it is lost. The verdict is unknown if another part of the new schema may describe the argument: a pattern, the
  values of a map, a subschema that applies in place, or an object that became free-form.
- A removed field of a result breaks callers. A new one is compatible, unless the result excluded further fields: then
  it depends on whether callers validate results.
- Closing an input rejects undeclared arguments. That breaks callers if they were explicitly allowed; otherwise the
  verdict is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.schema.keywords import assertions
from mcproof.diff.equality import same_json
from mcproof.diff.property_names import constrains_unnamed, declared_properties, mentioned_names, required_names

if TYPE_CHECKING:
    from mcproof.diff.schema_comparison import SchemaChange, SchemaComparison, SchemaPair
    from mcproof.diff.schema_document import Subschema


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
        self._report_malformed()
        self._compare_undeclared_required()
        children = [self._compare_declared(name, schema) for name, schema in self.new_properties.items()]
        children += [
            self._removed(name, schema)
            for name, schema in self.old_properties.items()
            if name not in self.new_properties
        ]
        return children + self._compare_additional()

    def _report_malformed(self) -> None:
        for keyword, expected in (("properties", dict), ("required", list)):
            values = [schema.get(keyword) for schema in (self.old, self.new)]
            if not all(value is None or isinstance(value, expected) for value in values) and not same_json(*values):
                message = f"`{keyword}` of {self.comparison.subject(self.pair)} is malformed"
                self.comparison.report("constraint-changed", None, message, self.pair)

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
        return self.comparison.change(f"{self.noun}-{state}", breaking, message, pair, pointer)

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
        return pair._replace(notes=(self.comparison.change(kind, breaking, message, pair),), is_final=True)

    def _may_be_in_use(self, name: str, new: Subschema) -> bool | None:
        """None if callers may already send a new parameter with other values, else False."""
        if "patternProperties" in self.old or "unevaluatedProperties" in self.old:
            return None
        if not isinstance(new.schema, (dict, bool)):
            return None
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
        change = self.comparison.change(f"{self.noun}-removed", breaking, message, pair, old.pointer, is_old=True)
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
