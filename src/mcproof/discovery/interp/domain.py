"""The seam between the interpreter and the frameworks whose calls have effects that matter.

The interpreter knows Python. What it does not know, it passes to its domain: calls of external code, and operations on
values that the domain made itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import ast

    from mcproof.discovery.interp.modules import Module
    from mcproof.discovery.interp.values import Call, Class, External, ExternalCall


class Domain(Protocol):
    """Gives meaning to external code. A method that does not apply returns `UNKNOWN` unless noted otherwise."""

    effects: int
    """How many effects, such as registrations, happened so far."""
    data_bases: frozenset[str]
    """External base classes whose `__init__` sets annotated fields from its arguments."""
    environment_bases: frozenset[str]
    """External base classes whose annotated fields take their values from the environment."""
    field_functions: frozenset[str]
    """External functions that describe the default of such a field."""
    type_functions: frozenset[str]
    """External functions that return a type."""

    # --- values of the domain

    def owns(self, value: Any) -> bool:
        """Whether the domain made this value."""

    def join(self, one: Any, other: Any) -> Any:
        """The value that is either of two, if the domain owns the first; `MISSING` otherwise."""

    def instance_of_annotation(self, kind: Any) -> Any:
        """The value of a parameter or an attribute that is only known by its type."""

    def native_part(self, cls: Class, call: Call) -> Any:
        """The value inside a new instance whose class inherits from a class of the domain; None for other classes."""

    def initialize(self, native: Any, call: Call) -> None:
        """Call the inherited `__init__` of such an instance."""

    # --- operations

    def attribute(self, value: Any, name: str) -> Any:
        """`value.name`; `MISSING` if the domain does not own the value."""

    def attribute_of_call(self, value: ExternalCall, name: str) -> Any:
        """An attribute of the result of an external call."""

    def set_attribute(self, holder: Any, name: str, value: Any) -> None:
        """`holder.name = value`."""

    def set_item(self, holder: Any, key: Any, value: Any) -> None:
        """`holder[key] = value`."""

    def call(self, func: Any, args: list[Any]) -> Any:
        """A call of a value of the domain, or of the result of an external call."""

    def external_call(self, made: ExternalCall) -> Any:
        """A call of an external function or class; `made` itself if it has no special meaning."""

    def method(self, holder: Any, name: str, call: Call) -> Any:
        """A method call on a value of the domain, on an unknown value, or on the result of an external call."""

    def class_method(self, cls: Class, name: str, call: Call) -> Any:
        """A call of a class method that a project class inherits from an external class."""

    def decorate(self, decorator: External, function: Any, node: ast.AST) -> Any:
        """An external decorator that is applied without a call."""

    # --- notifications

    def doubt_lowered(self, doubt: int) -> None:
        """Fewer unresolved conditions apply than before."""

    def cut_short(self, module: Module, node: ast.AST) -> None:
        """The interpreter left a loop or a recursion that has effects before its end."""

    def import_unresolved(self, module: Module | None, node: ast.AST | None) -> None:
        """The name of a module that the program imports is unknown."""
