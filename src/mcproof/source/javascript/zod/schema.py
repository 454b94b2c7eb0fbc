"""A schema of zod: what it is, what it was made from, and what is attached to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.core.named_tuple import NamedTuple
from mcproof.source.javascript.values import UNDEFINED, Accessor, JsArray, JsObject, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Callable


class Check(NamedTuple):
    """A constraint such as `.min(1)`, by the name of its method."""

    name: str
    arguments: tuple[Value, ...] = ()


class Deferred:
    """A value that a function of the source computes when it is needed: once, because identity matters."""

    __slots__ = ("_compute", "_value")

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute
        self._value: Value = None

    def get(self) -> Value:
        """The value; unknown while it is being computed."""
        if self._compute is not None:
            compute, self._compute = self._compute, None
            self._value = Unknown("this schema is computed from itself")
            self._value = compute()
        return self._value


class ZodSchema:
    """One schema. It is never changed, and compared by identity, because both versions of zod do so.

    `step` says how it differs from `base`, the schema whose method made it: "check" adds a constraint, "refine" a check
    by a function, "meta" a description or other metadata, "shape" changes the members of an object. Which version keeps
    a description over which step is up to the emitters. A schema that contains another, such as an optional one, has no
    base: the other is its fact `inner`.
    """

    __slots__ = ("base", "facts", "kind", "module", "node", "step")

    def __init__(
        self,
        kind: str,
        facts: dict[str, Any] | None = None,
        *,
        base: ZodSchema | None = None,
        step: str = "",
        module: str = "zod",
    ) -> None:
        self.kind = kind
        self.facts = facts or {}
        self.base = base
        self.step = step
        self.module = module
        """The module that made it, such as `zod/v4`."""
        self.node: object | None = base.node if base is not None else None
        """Where it is written."""

    def __repr__(self) -> str:
        return f"ZodSchema({self.kind!r}, {self.facts!r})"

    def changed(self, step: str, **facts: Any) -> ZodSchema:
        """A copy with other facts; metadata belongs to one schema only."""
        others = {name: fact for name, fact in self.facts.items() if name != "meta"}
        return ZodSchema(self.kind, {**others, **facts}, base=self, step=step, module=self.module)

    def checked(self, name: str, *arguments: Value) -> ZodSchema:
        """A copy with one more check."""
        return self.changed("check", checks=(*self.checks, Check(name, arguments)))

    def wrapped(self, kind: str, **facts: Any) -> ZodSchema:
        """A schema around this one, as a method makes it."""
        return ZodSchema(kind, {"inner": self, "by_method": True, **facts}, module=self.module)

    @property
    def checks(self) -> tuple[Check, ...]:
        checks: tuple[Check, ...] = self.facts.get("checks", ())
        return checks

    @property
    def inner(self) -> Value:
        return self.facts["inner"]

    @property
    def shape(self) -> dict[str, Value]:
        shape: dict[str, Value] = self.facts["shape"]
        return shape


def settled(value: Value) -> Value:
    """A value, computed if it was deferred, and its default if it depends on the environment."""
    if isinstance(value, Deferred):
        value = value.get()
    return value.options[0] if isinstance(value, Unknown) and value.is_default else value


def member_of(shape: dict[str, Value], name: str) -> Value:
    """The schema of a member, which may be an accessor."""
    return settled(shape[name])


def shape_of(value: Value, call: Callable[[Value, list[Value]], Value] | None) -> tuple[dict[str, Value], bool]:
    """The members of an object as the shape of a schema, and whether there may be more of them."""
    value = settled(value)
    if not isinstance(value, JsObject):
        return {}, value is not UNDEFINED
    shape = {}
    for name, member in value.members.items():
        if member is not UNDEFINED:
            shape[name] = _deferred_member(member, call) if isinstance(member, Accessor) else member
    return shape, value.is_open


def _deferred_member(member: Accessor, call: Callable[[Value, list[Value]], Value] | None) -> Value:
    if call is None:
        return Unknown("this member is computed")
    return Deferred(lambda: call(member.get, []))


def raw_shape(value: JsObject, call: Callable[[Value, list[Value]], Value] | None = None) -> ZodSchema:
    """The object schema that an SDK makes of `{ a: z.string() }`."""
    shape, is_open = shape_of(value, call)
    modules = {member.module for member in shape.values() if isinstance(member, ZodSchema)}
    return ZodSchema("object", {"shape": shape, "is_open": is_open}, module=min(modules, default="zod"))


def as_list(value: Value) -> list[Value]:
    """The items of an array; an unknown one counts as one unknown item."""
    value = settled(value)
    if isinstance(value, JsArray):
        items = [settled(item) for item in value.items]
        return [*items, Unknown("there may be more items")] if value.is_open else items
    return [Unknown("the items of this list are not known")]
