"""Default values of settings: of environment variables, options, parameters, fields and keys.

A setting is known by its last name, whatever holds it: `config.host`, `args.host` and `settings["host"]` are `host`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NamedTuple

from mcproof.discovery.configuration.syntax_trees import dotted, last_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mcproof.core.observations.source import SourcePlace
    from mcproof.discovery.configuration.syntax_trees import SourceTree

UNKNOWN = object()
"""A value that is not written in the source."""
_ENVIRONMENT = (
    "os.getenv",
    "getenv",
    "os.environ.get",
    "environ.get",
    "os.environ.setdefault",
    "env.get",
    "config.get",
)
_FIELDS = ("Field", "field", "pydantic.Field", "typer.Option", "Option", "click.Option")


class SameAs(NamedTuple):
    """The value of another setting."""

    setting: str


class SettingDefault(NamedTuple):
    """A value that a setting has unless something else is configured."""

    name: str
    value: Any
    place: SourcePlace
    how: str
    is_decisive: bool
    """Whether it is what a program passes on; false for defaults of fields and parameters, which that replaces."""


class DefaultValue(NamedTuple):
    """The default of an expression: its value, the node that it is written in, and how it gets there."""

    value: Any
    node: ast.expr
    how: str


def default_of(node: ast.expr) -> DefaultValue:
    """Return the value that an expression has if nothing is configured."""
    if isinstance(node, ast.Constant):
        return DefaultValue(node.value, node, "constant")
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return default_of(node.values[-1])
    if isinstance(node, ast.Call):
        return _default_of_call(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.In):
        return _default_of_comparison(node)
    name = last_name(node)
    return DefaultValue(SameAs(name.lower()) if name else UNKNOWN, node, "")


def _default_of_call(node: ast.Call) -> DefaultValue:
    name = dotted(node.func)
    if name in _ENVIRONMENT and node.args and isinstance(node.args[0], ast.Constant):
        variable = str(node.args[0].value)
        given = node.args[1] if len(node.args) > 1 else _keyword(node, "default")
        if given is None:
            return DefaultValue(None, node, f"default of {variable}")
        return default_of(given)._replace(how=f"default of {variable}")
    if name in _FIELDS:
        given = _keyword(node, "default") or (node.args[0] if node.args else None)
        return DefaultValue(UNKNOWN, node, "") if given is None else default_of(given)
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("lower", "strip", "upper"):
        return default_of(node.func.value)
    if name in ("str", "bool") and len(node.args) == 1:
        return default_of(node.args[0])
    return DefaultValue(UNKNOWN, node, "")


def _default_of_comparison(node: ast.Compare) -> DefaultValue:
    """Return the default of `os.getenv("X", "false").lower() == "true"` and of `… in ("1", "true")`."""
    left, right = default_of(node.left), node.comparators[0]
    if left.value is UNKNOWN or isinstance(left.value, SameAs):
        return DefaultValue(UNKNOWN, node, "")
    values = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else [right]
    known = [each.value for each in values if isinstance(each, ast.Constant)]
    return (
        DefaultValue(left.value in known, node, left.how) if len(known) == len(values) else left._replace(value=UNKNOWN)
    )


def resolved(name: str, defaults: Mapping[str, Sequence[SettingDefault]]) -> list[SettingDefault]:
    """Return the defaults that a setting may have; what a program passes on comes before fields and parameters."""
    found: list[SettingDefault] = []
    seen, waiting = {name}, [name]
    while waiting:
        known = defaults.get(waiting.pop(), ())
        for each in [default for default in known if default.is_decisive] or known:
            if not isinstance(each.value, SameAs):
                found.append(each)
            elif each.value.setting not in seen:
                seen.add(each.value.setting)
                waiting.append(each.value.setting)
    return found


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in node.keywords if each.arg == name), None)


def setting_defaults(trees: Iterable[SourceTree]) -> dict[str, list[SettingDefault]]:
    """Return the known defaults of the settings in some source, by their lower-case names."""
    found: dict[str, list[SettingDefault]] = {}
    for tree in trees:
        for each in _defaults_in(tree):
            if each.value is not UNKNOWN and each.value != SameAs(each.name.lower()):
                found.setdefault(each.name.lower(), []).append(each)
    return found


def _defaults_in(tree: SourceTree) -> Iterator[SettingDefault]:
    for node in tree.nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            is_field = isinstance(tree.parents.get(node), ast.ClassDef)
            for target in targets:
                yield _setting(tree, last_name(target), node.value, is_decisive=not is_field)
        elif isinstance(node, ast.Call):
            yield from _defaults_of_call(tree, node)
        elif isinstance(node, ast.arguments):
            yield from _of_parameters(tree, node)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield _setting(tree, key.value, value, is_decisive=False)


def _setting(tree: SourceTree, name: str, value: ast.expr, *, is_decisive: bool) -> SettingDefault:
    default = default_of(value)
    how = default.how if default.how != "constant" else f"default of {name}"
    return SettingDefault(name, default.value, tree.place(default.node), how, is_decisive)


def _defaults_of_call(tree: SourceTree, node: ast.Call) -> Iterator[SettingDefault]:
    """Yield the defaults of options of the command line, and those that are passed on by keyword."""
    words = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    options = [word for word in words if word.startswith("--")]
    given = _keyword(node, "default")
    if options and given is not None:
        name = options[0].lstrip("-").partition("/")[0].replace("-", "_")
        default = default_of(given)
        yield SettingDefault(
            name, default.value, tree.place(default.node), f"default of {options[0]}", is_decisive=True
        )
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg != "default":
            yield _setting(tree, keyword.arg, keyword.value, is_decisive=not isinstance(keyword.value, ast.Constant))


def _of_parameters(tree: SourceTree, node: ast.arguments) -> Iterator[SettingDefault]:
    positional = [*node.posonlyargs, *node.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(positional[len(positional) - len(node.defaults) :], node.defaults, strict=True),
        *zip(node.kwonlyargs, node.kw_defaults, strict=True),
    ]
    for argument, value in pairs:
        if value is not None:
            yield _setting(tree, argument.arg, value, is_decisive=False)
