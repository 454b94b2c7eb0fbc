"""What changed in the properties of two object schemas: added, removed, required, optional, closed, opened.

An added or a removed property cannot be judged by what the two schemas accept alone, so this is where the decisions
are:

- A new optional parameter is compatible, unless the object welcomed any property before, or asked for more than it
  declared, and callers may use the name already: then nobody can tell.
- A removed parameter breaks callers of a closed object. An open one still accepts the argument, and ignores it: what
  the call does changes in silence, so nobody can tell.
- A removed field of a result breaks callers. A new one is compatible, unless the result had promised no further
  fields: then it depends on whether a caller checks that.
- Closing an input refuses undeclared arguments. Where they were welcome in so many words that breaks callers; where
  nothing was said nobody can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.diff.equality import Place, asserts, same_json
from mcproof.diff.property_names import asks_for_more, declared, demanded, required
from mcproof.text.pointers import escape

if TYPE_CHECKING:
    from mcproof.diff.schema_changes import Comparison, Pair, SchemaChange

_KEYWORDS = frozenset({"properties", "required", "additionalProperties"})


def compare_properties(walk: Comparison, pair: Pair, old: dict[str, Any], new: dict[str, Any]) -> list[Pair]:
    """Report what changed in the properties of a pair, and return the pairs of those that both schemas have."""
    if _KEYWORDS.isdisjoint(old) and _KEYWORDS.isdisjoint(new):
        return []
    return _Objects(walk, pair, old, new).compare()


def dotted(label: str, name: str) -> str:
    """What the property of a value is called, from what the value is called."""
    return f"{label}.{name}" if label else name


def is_anything(schema: Any) -> bool:
    """Whether a schema refuses nothing, by its looks."""
    return schema is True or (isinstance(schema, dict) and not asserts(schema))


class _Objects:
    """Two object schemas for the same value."""

    def __init__(self, walk: Comparison, pair: Pair, old: dict[str, Any], new: dict[str, Any]) -> None:
        self.walk = walk
        self.pair = pair
        self.old = old
        self.new = new
        self.old_properties, self.new_properties = (declared(schema) for schema in (old, new))
        self.old_required, self.new_required = (required(schema) for schema in (old, new))
        self.word = "parameter" if walk.is_input else "field"

    def compare(self) -> list[Pair]:
        self._compare_malformed()
        self._compare_undeclared()
        below = [self._of_new(name, schema) for name, schema in self.new_properties.items()]
        below += [
            self._removed(name, schema)
            for name, schema in self.old_properties.items()
            if name not in self.new_properties
        ]
        return below + self._compare_additional()

    def _compare_malformed(self) -> None:
        for keyword, kind in (("properties", dict), ("required", list)):
            values = [schema.get(keyword) for schema in (self.old, self.new)]
            if not all(value is None or isinstance(value, kind) for value in values) and not same_json(*values):
                message = f"`{keyword}` of {self.walk.subject(self.pair)} is malformed"
                self.walk.say("constraint-changed", None, message, self.pair)

    def _of_new(self, name: str, schema: Any) -> Pair:
        """A property that the new schema declares, with what there is to say about it."""
        old, new = self.old_properties, Place(schema, f"{self.pair.new.pointer}/properties/{escape(name)}")
        if name in old:
            partner = Place(old[name], f"{self.pair.old.pointer}/properties/{escape(name)}")
        elif name in self.old_required:
            partner = Place(True, "")
        else:
            return self._added(name, new)
        below = self._below(name, partner, new)
        is_required, was_required = name in self.new_required, name in self.old_required
        if is_required == was_required:
            return below
        return below._replace(notes=(self._became(below, is_required, new.pointer),))

    def _below(self, name: str, old: Place, new: Place) -> Pair:
        below = self.walk.below(self.pair, old, new, dotted(self.pair.label, name))
        return below if self.pair.level or not self.walk.is_input else below._replace(parameter=name)

    def _became(self, pair: Pair, is_required: bool, pointer: str) -> SchemaChange:
        state = "required" if is_required else "optional"
        breaking = is_required == self.walk.is_input
        return self.walk.change(f"{self.word}-{state}", breaking, f"`{pair.label}` became {state}", pair, pointer)

    def _compare_undeclared(self) -> None:
        """Names that are or were required without being declared."""
        at = f"{self.pair.new.pointer}/required" if "required" in self.new else self.pair.new.pointer
        for name in [*self.new_required, *self.old_required]:
            if name not in self.new_properties and (name in self.new_required) != (name in self.old_required):
                is_required = name in self.new_required
                if is_required or name not in self.old_properties:
                    pair = self._below(name, self.pair.old, self.pair.new)
                    self.walk.found.append(self._became(pair, is_required, at))

    def _added(self, name: str, new: Place) -> Pair:
        pair = self._below(name, Place(True, ""), new)
        is_required = name in self.new_required
        if self.walk.is_input:
            breaking = True if is_required else self._is_taken(name, new)
            kind = "parameter-added-required" if is_required else "parameter-added"
        else:
            breaking, kind = self._is_unexpected(new), "field-added"
        message = f"`{pair.label}` was added" + (", and is required" if is_required else "")
        return pair._replace(notes=(self.walk.change(kind, breaking, message, pair),), is_over=True)

    def _is_taken(self, name: str, new: Place) -> bool | None:
        """Whether callers may have sent a new parameter before, with other values."""
        if "patternProperties" in self.old or "unevaluatedProperties" in self.old or not _is_schema(new.schema):
            return None
        if self._was_welcoming():
            additional = self.old.get("additionalProperties", True)
            accepts = self.walk.is_within((self.walk.old, additional), (self.walk.new, new.schema))
            return False if accepts else None
        if asks_for_more(self.old) or name in demanded(self.old):
            return None
        return None if self.pair.is_shared and name in self.walk.old.names else False

    def _was_welcoming(self) -> bool:
        """Whether the old object took properties that it did not declare, by its words or by declaring none."""
        if "additionalProperties" in self.old:
            return self.old["additionalProperties"] is not False
        return self.pair.level > 0 and not self.old_properties

    def _is_unexpected(self, new: Place) -> bool | None:
        """Whether a new field of a result is one that callers were told not to expect."""
        additional = self.old.get("additionalProperties", True)
        if "patternProperties" in self.old or "unevaluatedProperties" in self.old or additional is False:
            return None
        if is_anything(additional):
            return False
        accepts = self.walk.is_within((self.walk.new, new.schema), (self.walk.old, additional))
        return None if accepts is None else not accepts

    def _removed(self, name: str, schema: Any) -> Pair:
        old = Place(schema, f"{self.pair.old.pointer}/properties/{escape(name)}")
        pair = self._below(name, old, self.pair.new)
        message = f"`{pair.label}` was removed"
        breaking: bool | None = True
        if self.walk.is_input:
            breaking = self._is_refused(old)
            if breaking is None:
                message += "; calls that send it may still be accepted, and ignore it"
        change = self.walk.change(f"{self.word}-removed", breaking, message, pair, old.pointer, is_old=True)
        return pair._replace(notes=(change,), is_over=True)

    def _is_refused(self, old: Place) -> bool | None:
        """Whether calls with a parameter that is gone are refused; if not, nobody knows what becomes of them."""
        if "patternProperties" in self.new:
            return None
        additional = self.new.get("additionalProperties", True)
        if additional is False:
            return True
        if is_anything(additional):
            return None
        return True if self.walk.is_within((self.walk.old, old.schema), (self.walk.new, additional)) is False else None

    def _compare_additional(self) -> list[Pair]:
        old, new = (schema.get("additionalProperties", True) for schema in (self.old, self.new))
        at = f"{self.pair.new.pointer}/additionalProperties"
        at = at if "additionalProperties" in self.new else self.pair.new.pointer
        subject = self.walk.subject(self.pair)
        if old is False and new is not False:
            message = f"undeclared properties of {subject} are allowed now"
            self.walk.say("object-opened", False if self.walk.is_input else None, message, self.pair, at)
            return []
        if new is False and old is not False:
            breaking = (True if self._was_welcoming() else None) if self.walk.is_input else False
            self.walk.say(
                "object-closed", breaking, f"undeclared properties of {subject} are refused now", self.pair, at
            )
            return []
        if "additionalProperties" not in self.old and "additionalProperties" not in self.new:
            return []
        places = Place(old, f"{self.pair.old.pointer}/additionalProperties"), Place(new, at)
        return [self.walk.below(self.pair, *places, dotted(self.pair.label, "*"))]


def _is_schema(value: Any) -> bool:
    return isinstance(value, (dict, bool))
