"""Expressions of zod, written in Python: as JavaScript for the real library, and as a value of mcproof.

`z.string().min(1)` is such an expression. Names that are words of Python end in an underscore: `z.null_()`. One
expression that is used twice is one constant in JavaScript, because identity matters.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.source.javascript.values import UNDEFINED, Accessor, JsArray, JsObject, JsRegExp
from mcproof.source.javascript.zod.functions import zod_call
from mcproof.source.javascript.zod.methods import zod_method

if TYPE_CHECKING:
    from collections.abc import Callable


class Expression:
    """A call of a function or a method; `name` is a path from `z`."""

    def __init__(self, receiver: Expression | None, name: tuple[str, ...], arguments: tuple[Any, ...]) -> None:
        self.receiver = receiver
        self.name = name
        self.arguments = arguments

    def __repr__(self) -> str:
        program = Program("s")
        program.name(self)
        return "\n".join(program.lines)

    def __getattr__(self, name: str) -> Callable[..., Expression]:
        return lambda *arguments: Expression(self, (name.rstrip("_"),), arguments)


class Path:
    """A function of zod, or a namespace of them."""

    def __init__(self, name: tuple[str, ...]) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Path:
        return Path((*self._name, name.rstrip("_")))

    def __call__(self, *arguments: Any) -> Expression:
        return Expression(None, self._name, arguments)


z: Any = Path(())


class Regex:
    """A literal regular expression."""

    def __init__(self, source: str, flags: str = "") -> None:
        self.source = source
        self.flags = flags


class Function:
    """A function of the source: JavaScript text, and what it returns here."""

    def __init__(self, text: str, returns: Callable[[], Any] = lambda: UNDEFINED) -> None:
        self.text = text
        self.returns = returns


class Later:
    """A function that returns a schema, which may be defined later."""

    def __init__(self, schema: Callable[[], Expression]) -> None:
        self.schema = schema


class Getter(Later):
    """A member of an object that is computed."""


class Program:
    """JavaScript text that defines a constant for each expression."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.lines: list[str] = []
        self.names: dict[int, tuple[str, Any]] = {}
        self.is_inline = False

    def name(self, expression: Expression) -> str:
        """The constant of an expression."""
        if id(expression) not in self.names:
            name = f"{self.prefix}_{len(self.names)}"
            self.names[id(expression)] = name, expression
            receiver = "z" if expression.receiver is None else self.name(expression.receiver)
            self.lines.append(f"const {name} = {self._call(receiver, expression)};")
        return self.names[id(expression)][0]

    def _call(self, receiver: str, expression: Expression) -> str:
        return f"{'.'.join((receiver, *expression.name))}({', '.join(map(self.text, expression.arguments))})"

    def _inline(self, expression: Expression) -> str:
        """An expression that is not a constant, because it may use constants that are defined later."""
        if id(expression) in self.names:
            return self.names[id(expression)][0]
        self.is_inline = True
        text = self._call("z" if expression.receiver is None else self._inline(expression.receiver), expression)
        self.is_inline = False
        return text

    def text(self, value: Any) -> str:
        """A value as JavaScript."""
        if isinstance(value, Expression):
            return self._inline(value) if self.is_inline else self.name(value)
        if isinstance(value, dict):
            return "{" + ", ".join(self._member(name, member) for name, member in value.items()) + "}"
        if isinstance(value, list | tuple):
            return "[" + ", ".join(map(self.text, value)) + "]"
        if isinstance(value, Regex):
            return f"/{value.source}/{value.flags}"
        if isinstance(value, Function):
            return value.text
        if isinstance(value, Later):
            return f"() => {self._inline(value.schema())}"
        return "undefined" if value is UNDEFINED else json.dumps(value)

    def _member(self, name: str, member: Any) -> str:
        if isinstance(member, Getter):
            return f"get {json.dumps(name)}() {{ return {self._inline(member.schema())} }}"
        return f"{json.dumps(name)}: {self.text(member)}"


class Evaluation:
    """The values of mcproof for expressions."""

    def __init__(self, module: str = "zod") -> None:
        self.module = module
        self.known: dict[int, tuple[Any, Any]] = {}

    def value(self, value: Any) -> Any:
        """The value of an expression, or of data in it."""
        if isinstance(value, Expression):
            if id(value) not in self.known:
                self.known[id(value)] = self._called(value), value
            return self.known[id(value)][0]
        if isinstance(value, dict):
            return JsObject({name: self.value(member) for name, member in value.items()})
        if isinstance(value, list | tuple):
            return JsArray([self.value(item) for item in value])
        if isinstance(value, Regex):
            return JsRegExp(value.source, value.flags)
        return Accessor(value, None) if isinstance(value, Getter) else value

    def _called(self, expression: Expression) -> Any:
        arguments = [self.value(argument) for argument in expression.arguments]
        if expression.receiver is None:
            return zod_call(("z", *expression.name), arguments, self._call, self.module)
        return zod_method(self.value(expression.receiver), expression.name[-1], arguments, self._call)

    def _call(self, function: Any, arguments: Any) -> Any:
        return self.value(function.schema()) if isinstance(function, Later) else function.returns()
