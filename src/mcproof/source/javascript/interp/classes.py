"""Classes: their members, their instances, and those that extend a class of another package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcproof.source.javascript.interp.functions import (
    FunctionCode,
    JsFunction,
    add_accessor,
    call_function,
    name_function,
)
from mcproof.source.javascript.interp.interpreter import Frame, Scope, over_options
from mcproof.source.javascript.syntax import children_of
from mcproof.source.javascript.values import UNDEFINED, JsObject, Unknown

if TYPE_CHECKING:
    from tree_sitter import Node

    from mcproof.source.javascript.interp.interpreter import Evaluate, Interpreter
    from mcproof.source.javascript.interp.modules import Module
    from mcproof.source.javascript.values import Value


class JsClass(JsFunction):
    """A class of the source."""

    __slots__ = ("base", "constructor", "fields", "is_library")

    def __init__(self, code: FunctionCode, scope: Scope, name: str, base: Value) -> None:
        super().__init__(code, scope, name)
        self.base = base
        """What it extends; None for nothing."""
        self.constructor: JsFunction | None = None
        self.fields: list[tuple[str | Evaluate, Evaluate]] = []
        self.is_library: Value = None
        """What of a known package it is, if it is a part of a bundle."""

    def add_fields(self, run: Interpreter, this: JsObject) -> None:
        """Set the fields of an instance."""
        scope = Scope(self.scope, is_function=True)
        scope.frame = Frame(this, self.prototype())
        for key, evaluate in self.fields:
            name = key if isinstance(key, str) else _name(key(scope))
            value = evaluate(scope)
            name_function(value, name)
            run.write(this.members, name, value, this.birth)


def _name(value: Value) -> str:
    from mcproof.source.javascript.interp.members import property_key

    key = property_key(value)
    return key if isinstance(key, str) else "?"


def compile_class(module: Module, node: Node) -> Evaluate:
    """The function that creates a class."""
    from mcproof.source.javascript.interp.expressions import _key, compile_expression
    from mcproof.source.javascript.interp.statements import compile_block

    run = module.run
    code = FunctionCode(module, node)
    heritage = next((child for child in node.children if child.type == "class_heritage"), None)
    base: Evaluate | None = None
    if heritage is not None:
        clause = next((child for child in heritage.children if child.type == "extends_clause"), heritage)
        value = clause.child_by_field_name("value") or next(iter(children_of(clause)), None)
        base = compile_expression(module, value) if value is not None else None
    body = node.child_by_field_name("body")
    parts: list[tuple[str, bool, str | Evaluate, object]] = []
    for child in children_of(body) if body is not None else ():
        if child.type == "method_definition":
            method = FunctionCode(module, child)
            parts.append(
                (method.accessor or "method", method.is_static, _key(module, child.child_by_field_name("name")), method)
            )
        elif child.type in ("field_definition", "public_field_definition"):
            name = child.child_by_field_name("name") or child.child_by_field_name("property")
            is_static = any(part.type == "static" for part in child.children)
            if any(part.type == "declare" for part in child.children):
                continue
            value = child.child_by_field_name("value")
            parts.append(("field", is_static, _key(module, name), compile_expression(module, value)))
        elif child.type == "class_static_block":
            block = child.child_by_field_name("body")
            if block is not None:
                parts.append(("block", True, "", compile_block(module, children_of(block), own_scope=True)))

    def evaluate(scope: Scope) -> Value:
        run.charge(2 + len(parts) // 4)
        count = len(run.registering)
        inner = Scope(scope)
        cls = JsClass(code, inner, code.name, base(scope) if base is not None else None)
        if code.name:
            inner.variables[code.name] = cls
        prototype = JsObject({"constructor": cls})
        cls.members["prototype"] = prototype
        parent = cls.base
        if isinstance(parent, JsFunction):
            prototype.proto, cls.proto = parent.prototype(), parent
        static = Scope(inner, is_function=True)
        static.frame = Frame(cls, cls)
        for kind, is_static, key, member in parts:
            owner = cls if is_static else prototype
            name = key if isinstance(key, str) else _name(key(inner))
            if kind == "field":
                if is_static:
                    value = member(static)  # type: ignore[operator]
                    name_function(value, name)
                    run.write(cls.members, name, value, cls.birth)
                else:
                    cls.fields.append((name, member))  # type: ignore[arg-type]
            elif kind == "block":
                member(static)  # type: ignore[operator]
            elif kind == "method":
                method = JsFunction(member, inner, name, home=owner)  # type: ignore[arg-type]
                if name == "constructor" and not is_static:
                    cls.constructor = method
                else:
                    owner.members[name] = method
            else:
                add_accessor(owner.members, name, kind, JsFunction(member, inner, name, home=owner))  # type: ignore[arg-type]
        cls.is_library = run.host.recognized(cls)
        if cls.is_library is not None:
            # what its methods do is known, and is not followed
            prototype.members = {"constructor": cls}
            prototype.proto = None
            del run.registering[count:]
        return cls

    return evaluate


def construct(run: Interpreter, function: JsFunction, given: list[Value], place: tuple[Module, Node] | None) -> Value:
    """Create an instance of a class, or of a function as in older code."""
    instance = JsObject({}, function.prototype())
    instance.native = None
    result = initialize(run, function, instance, given, function, place)
    return result if isinstance(result, JsObject) and result is not instance else instance


def initialize(
    run: Interpreter,
    function: Value,
    this: JsObject,
    given: list[Value],
    target: Value,
    place: tuple[Module, Node] | None,
) -> Value:
    """Run a constructor on an object."""
    if isinstance(function, Unknown):
        if function.options:
            return over_options(function, lambda option: initialize(run, option, this, given, target, place))
        this.is_open = True
        return this
    if isinstance(function, JsClass):
        if function.is_library is not None:
            return initialize(run, function.is_library, this, given, target, place)
        if function.constructor is not None:
            if function.base is None:
                function.add_fields(run, this)
            return call_function(run, function.constructor, this, given, target)
        if function.base is not None:
            initialize(run, function.base, this, given, target, place)
        function.add_fields(run, this)
        return this
    if isinstance(function, JsFunction):
        return call_function(run, function, this, given, target)
    if function is None or function is UNDEFINED:
        return this
    instance = run.host.construct(function, given, place)
    if isinstance(instance, JsObject):
        for name, member in instance.members.items():
            run.write(this.members, name, member, this.birth)
        this.native = this.native or instance.native
        this.is_open = this.is_open or instance.is_open
    else:
        this.is_open = True  # it may inherit anything
    return this
