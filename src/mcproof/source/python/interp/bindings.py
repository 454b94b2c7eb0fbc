"""How names get values from outside a function: by imports, and as parameters.

A decorator that supplies a parameter hides it from callers with `wrapper.__signature__ = ...`, which frameworks
read.
"""

from __future__ import annotations

import os
import typing
from typing import TYPE_CHECKING, Any

from mcproof.source.python.files import library_name
from mcproof.source.python.interp.containers import OPEN, SourceDict, doubtful_positions, extent_of
from mcproof.source.python.interp.operators import is_empty_marker, items_of
from mcproof.source.python.interp.values import MISSING, MOST_WRAPPERS, UNKNOWN, Call, External, Function, Method, Scope

if TYPE_CHECKING:
    import ast

    from mcproof.source.python.interp.interpreter import Interpreter


class LazyImport:
    """An imported name that is resolved when it is read."""

    def __init__(self, path: str, name: str | None) -> None:
        self.path = path
        self.name = name


class ModuleValue:
    """A module or package of the project as a value."""

    def __init__(self, path: str) -> None:
        self.path = path


def import_modules(run: Interpreter, node: ast.Import, scope: Scope) -> None:
    for alias in node.names:
        path = run.modules.import_paths.find(scope.module.path, alias.name, 0)
        if path is None:
            first = alias.name.partition(".")[0]
            scope.names[alias.asname or first] = External(library_name(alias.name) if alias.asname else first)
            continue
        run.import_file(path, scope.module)
        if alias.asname is not None:
            scope.names[alias.asname] = LazyImport(path, None)
            continue
        first = alias.name.partition(".")[0]
        top = run.modules.import_paths.find(scope.module.path, first, 0)
        scope.names[first] = LazyImport(top, None) if top is not None else UNKNOWN


def import_from(run: Interpreter, node: ast.ImportFrom, scope: Scope) -> None:
    name = node.module or ""
    path = run.modules.import_paths.find(scope.module.path, name, node.level)
    if path is None:
        prefix = library_name(name if not node.level else f"{scope.module.name}.{name}")
        for alias in node.names:
            if alias.name != "*":
                scope.names[alias.asname or alias.name] = External(library_name(f"{prefix}.{alias.name}"))
            elif prefix in ("typing", "typing_extensions"):
                scope.names.update((name, External(f"typing.{name}")) for name in typing.__all__)
            else:
                scope.module.stars.append(prefix)
        return
    run.import_file(path, scope.module)
    for alias in node.names:
        if alias.name == "*":
            _import_all(run, path, scope)
            continue
        below = run.modules.import_paths.below(path, alias.name)
        if below is not None:
            run.import_file(below, scope.module)
        is_own = below is not None and scope.module.path == path
        scope.names[alias.asname or alias.name] = (
            LazyImport(below, None) if is_own and below else LazyImport(path, alias.name)
        )


def _import_all(run: Interpreter, path: str, scope: Scope) -> None:
    module = run.module(path) if not os.path.isdir(path) else None
    if module is None:
        return
    public = items_of(module.scope.names.get("__all__"))
    names = public if public is not None else [name for name in module.scope.names if not name.startswith("_")]
    for name in names:
        if isinstance(name, str):
            scope.names[name] = LazyImport(path, name)


_EMPTY = External("inspect.Parameter.empty")


class Parameter:
    """One parameter of a function, as visible to callers."""

    def __init__(self, name: str, node: ast.arg | None, default: Any, how: str, scope: Scope | None) -> None:
        self.name = name
        self.node = node
        """Its declaration; None if the program creates it."""
        self.default = default
        """Its default; `MISSING` if it is required."""
        self.how = how
        """Its kind, as in `inspect`: POSITIONAL_OR_KEYWORD and so on."""
        self.scope = scope
        self.annotation: Any = None
        """The annotation that replaces the declared one; `MISSING` if the program removes it."""

    def type_in(self, run: Interpreter) -> Any:
        """Its type; `MISSING` without an annotation."""
        if self.annotation is not None:
            return self.annotation
        written = self.node.annotation if self.node is not None else None
        if written is None or self.scope is None:
            return MISSING
        return run.annotation(written, self.scope)

    def replace(self, changes: dict[str, Any]) -> Parameter | None:
        """`Parameter.replace`; None if the new name is unknown."""
        name = changes.get("name", self.name)
        if not isinstance(name, str):
            return None
        copy = Parameter(name, self.node, self.default, self.how, self.scope)
        copy.annotation = self.annotation
        if "default" in changes:
            copy.default = _or_missing(changes["default"])
        if "annotation" in changes:
            copy.annotation = _or_missing(changes["annotation"])
        if "kind" in changes:
            copy.how = changes["kind"].last if isinstance(changes["kind"], External) else copy.how
        return copy


class Signature:
    """The parameters and the return type of a function."""

    def __init__(
        self, parameters: list[Parameter], returns: Any = None, doubtful: frozenset[str] = frozenset()
    ) -> None:
        self.parameters = parameters
        self.returns = returns
        """The return annotation that replaces the declared one; None if it is not replaced."""
        self.doubtful = doubtful
        """The names of parameters that only exist under a condition."""


def _or_missing(value: Any) -> Any:
    return MISSING if is_empty_marker(value) else value


def signature_of(function: Function) -> Signature | None:
    """The signature that callers see; None if it is unknown."""
    seen: Any = function
    for _ in range(MOST_WRAPPERS):
        if not isinstance(seen, Function):
            break
        changed = seen.attributes.get("__signature__")
        if changed is not None:
            return changed if isinstance(changed, Signature) else None
        seen = seen.wrapped
    return Signature(written_parameters(function))


def written_parameters(function: Function) -> list[Parameter]:
    """The declared parameters that a caller can pass, in order."""
    exposed = function.exposed()
    spec, scope = exposed.node.args, exposed.scope
    positional = len(spec.posonlyargs) + len(spec.args)
    kinds = ["POSITIONAL_ONLY"] * len(spec.posonlyargs) + ["POSITIONAL_OR_KEYWORD"] * len(spec.args)
    kinds += ["KEYWORD_ONLY"] * len(spec.kwonlyargs)
    parameters = [
        Parameter(node.arg, node, default, kind, scope)
        for (node, default), kind in zip(exposed.parameters(), kinds, strict=True)
    ]
    if spec.vararg is not None:
        parameters.insert(positional, Parameter(spec.vararg.arg, spec.vararg, MISSING, "VAR_POSITIONAL", scope))
    if spec.kwarg is not None:
        parameters.append(Parameter(spec.kwarg.arg, spec.kwarg, MISSING, "VAR_KEYWORD", scope))
    # The object or the class is given already.
    if positional and (function.bound_to is not None or exposed.bound_to is not None):
        parameters = parameters[1:]
    if function.partial is None:
        return parameters
    args, kwargs = function.partial
    return [
        (parameter.name in kwargs and parameter.replace({"default": kwargs[parameter.name]})) or parameter
        for parameter in parameters[len(args) :]
    ]


def signature_called(_: Interpreter, call: Call) -> Any:
    """`inspect.signature(function)`."""
    function = call.args[0] if call.args else call.kwargs.get("obj")
    return (signature_of(function) or UNKNOWN) if isinstance(function, Function) else UNKNOWN


def signature_from_call(_: Interpreter, call: Call) -> Any:
    """`inspect.Signature(parameters, return_annotation=…)`."""
    given = call.args[0] if call.args else call.kwargs.get("parameters")
    return _with(Signature([]), {"return_annotation": _EMPTY, **call.kwargs, "parameters": given or []})


def parameter_from_call(_: Interpreter, call: Call) -> Any:
    """`inspect.Parameter(name, kind, default=…, annotation=…)`."""
    given = {**dict(zip(("name", "kind"), call.args, strict=False)), **call.kwargs}
    blank = Parameter("", None, MISSING, "POSITIONAL_OR_KEYWORD", None)
    return blank.replace(given) or UNKNOWN if "name" in given and call.complete else UNKNOWN


def attribute(run: Interpreter, value: Parameter | Signature, name: str) -> Any:
    """`signature.parameters`, `parameter.default` and so on."""
    if isinstance(value, Signature):
        if name == "parameters":
            by_name = SourceDict((parameter.name, parameter) for parameter in value.parameters)
            by_name.doubtful |= value.doubtful
            return by_name
        return Method(value, name) if name == "replace" else UNKNOWN
    if name == "name":
        return value.name
    if name == "kind" or name.isupper():
        return External(f"inspect.Parameter.{value.how if name == 'kind' else name}")
    if name in ("default", "annotation"):
        found_value = value.default if name == "default" else value.type_in(run)
        return _EMPTY if found_value is MISSING else found_value
    if name == "empty":
        return _EMPTY
    return Method(value, name) if name == "replace" else UNKNOWN


def replaced(value: Parameter | Signature, call: Call) -> Any:
    """`signature.replace(parameters=…)` and `parameter.replace(default=…)`."""
    if not call.complete:
        return UNKNOWN
    return (value.replace(call.kwargs) or UNKNOWN) if isinstance(value, Parameter) else _with(value, call.kwargs)


def _with(value: Signature, changes: dict[str, Any]) -> Any:
    """A signature with other parameters or another return type."""
    parameters, doubtful = value.parameters, value.doubtful
    if "parameters" in changes:
        given = changes["parameters"]
        items = items_of(given)
        if items is None or extent_of(given) is OPEN or not all(isinstance(item, Parameter) for item in items):
            return UNKNOWN
        parameters = items
        doubtful = doubtful | {items[index].name for index in doubtful_positions(given)}
    returns = changes.get("return_annotation", value.returns)
    return Signature(parameters, returns if returns is None else _or_missing(returns), doubtful)


def either(left: Signature, right: Signature) -> Signature:
    """One of two signatures; parameters that only one of them has are doubtful."""
    # The longer one first, whose order is then that of the result.
    if len(left.parameters) < len(right.parameters):
        left, right = right, left
    ours, theirs = ({parameter.name for parameter in signature.parameters} for signature in (left, right))
    more = [parameter for parameter in right.parameters if parameter.name not in ours]
    returns = left.returns if left.returns is right.returns else UNKNOWN
    return Signature([*left.parameters, *more], returns, left.doubtful | right.doubtful | (ours ^ theirs))
