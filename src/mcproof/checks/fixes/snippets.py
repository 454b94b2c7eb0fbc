"""What to write in the code of a server about a finding, for the framework that the server uses.

Snippets are filled with the parameter, tool or server of a finding; `snippet_tables` has them.
Why every snippet was tried: docs/decisions/0036-snippets-are-tried.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mcproof.checks.fixes.snippet_tables import (
    COMMONEST,
    EITHER_LITERAL,
    FRAMEWORKS,
    LIST_SIZE,
    LITERAL,
    LOW_LEVEL,
    MCP1,
    MCP2,
    OF_FRAMEWORKS,
    TEXT_SIZE,
    ZOD,
    SnippetTemplate,
    frameworks_of,
    has_format,
    is_flat,
    literal_members,
    live_frameworks,
    python_type,
    python_value,
    templates_of,
    with_imports,
    with_likely_type,
    zod_type,
)
from mcproof.checks.reporting import written_item
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.stored_form import record
from mcproof.core.text.json_positions import resolve

if TYPE_CHECKING:
    from mcproof.checks.findings import Finding
    from mcproof.core.catalog.model import Catalog, Item


_MOST_TRIED = 20
"""How many findings of a rule are tried before its snippets are left out."""
_LONGEST_DEFAULT = 40
_plain_name = re.compile(r"[A-Za-z_][\w.\-]{0,63}", re.ASCII).fullmatch
"""Names that are shown; others could be anything that a server makes up."""
_identifier = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII).fullmatch
_ROOT = "/inputSchema"
_argument_path = re.compile(r"/inputSchema/properties/[^/]+").fullmatch
_variable = re.compile(r"\$(\w+)")


_DESCRIBED, _TYPED = ("prop-no-description", "MP002"), ("prop-no-type", "SCH-003")
"""Rules whose snippets describe a parameter, and rules whose snippets only say its type."""


@record()
class CodeHelp(NamedTuple):
    """What to write about the findings of a rule, for one framework."""

    rule: str
    """The id of the rule."""
    framework: str
    """The framework, or the frameworks, that it is for."""
    place: str
    """Where to write it, in words."""
    code: str
    """What to write."""


def code_help(catalog: Catalog, findings: Iterable[Finding], source: Catalog | None = None) -> list[CodeHelp]:
    """Return the snippets for the findings of a server in code: for each rule, about its first suitable finding.

    `source` is what the source of a live server shows: it knows the framework of each item.
    """
    tried: dict[tuple[str, bool], list[Finding]] = {}
    for finding in findings:
        tried_findings = tried.setdefault((finding.rule.id, _is_nested(finding)), [])
        if len(tried_findings) < _MOST_TRIED:
            tried_findings.append(finding)
    recognised = live_frameworks(catalog) if catalog.source is None else ()
    result: dict[str, list[CodeHelp]] = {}
    # The snippet with a description has the type, too: one snippet for a parameter with several findings.
    described: set[tuple[int, str]] = set()
    # Snippets with a description come first, as they make those with the type alone unnecessary.
    for (rule, is_nested), tried_findings in sorted(
        tried.items(), key=lambda entry: (entry[0][1], entry[0][0] in _TYPED)
    ):
        templates = [template for template in templates_of(rule) if template.nested in (None, is_nested)]
        if rule in result:
            # A template for both was filled for the arguments already.
            templates = [template for template in templates if template.nested is not None]
        is_certain = len(recognised) == 1 or recognised == (MCP2, MCP1)
        if is_certain and (caused := _caused_by(recognised[0], tried_findings)) is not None:
            result[rule] = [caused]
            continue
        for finding in tried_findings if templates else ():
            if snippets := _fill_all(catalog, finding, templates, _written_with(finding.item, source) or recognised):
                place = id(finding.item), finding.pointer
                if rule not in _TYPED or place not in described:
                    result.setdefault(rule, []).extend(snippets)
                if rule in _DESCRIBED:
                    described.add(place)
                break
    return [snippet for snippets in result.values() for snippet in snippets]


def _written_with(item: Item, source: Catalog | None) -> tuple[str, ...]:
    """Return the frameworks that the source of a live server shows for an item; empty if it shows none."""
    written = None if source is None else written_item(item, source)
    return () if source is None or written is None else frameworks_of(source, written)


def _caused_by(framework: str, findings: list[Finding]) -> CodeHelp | None:
    """Return what says that the framework causes the findings of a rule; None unless it causes all of them."""
    rule = findings[0].rule.id
    words, does = OF_FRAMEWORKS.get((rule, framework), ("", ""))
    if not words or not all(words in finding.message for finding in findings):
        return None
    return CodeHelp(rule, FRAMEWORKS[framework], "nothing to change in your code", does)


def example_help(rule: str) -> list[CodeHelp]:
    """Return the snippets of a rule with example names, for its documentation."""
    schema = {"type": "string"}
    names = {"tool": "`search`", "prompt": "`summary`", "resource": "`hours`", "server": "library", "model": "Filters"}
    names |= {"signature": "the signature of `search`", "schema": "the inputSchema of `search`"}
    parameter = _parameter("query", schema, is_required=True, members=literal_members(schema, is_python=True))
    values = {**names, **parameter, "required": "True", "optional": ""}
    shown: dict[tuple[str, str], list[str]] = {}
    for template in templates_of(rule):
        code, place = _filled(template.code, values), _filled(template.place, values)
        if code is not None and place is not None:
            shown.setdefault((place, code), []).extend(FRAMEWORKS[framework] for framework in template.frameworks)
    return [CodeHelp(rule, ", ".join(names), place, code) for (place, code), names in shown.items()]


def _fill_all(
    catalog: Catalog, finding: Finding, templates: list[SnippetTemplate], recognised: tuple[str, ...]
) -> list[CodeHelp]:
    """Return the snippets about one finding, one for each framework; empty if it needs none or is not suitable."""
    if finding.fix is not None and catalog.source is not None:
        from mcproof.checks.fixes.source import may_be_fixed

        if may_be_fixed(catalog.source, finding):
            return []
    shown: dict[tuple[str, str], list[str]] = {}
    for framework in recognised or frameworks_of(catalog, finding.item):
        for template in templates:
            if framework in template.frameworks:
                values = _values(catalog, finding, framework)
                code, place = _filled(template.code, values), _filled(template.place, values)
                if code is not None and place is not None:
                    code = with_imports(code) if place.startswith(f"in {values.get('signature', '?')}") else code
                    shown.setdefault((place, code), []).append(FRAMEWORKS[framework])
    return [
        CodeHelp(finding.rule.id, " or ".join(frameworks), place, code) for (place, code), frameworks in shown.items()
    ]


def _is_nested(finding: Finding) -> bool:
    """Whether a finding is inside an object that is not the arguments themselves."""
    is_argument = finding.parameter is not None and _argument_path(finding.pointer)
    return finding.pointer.startswith(f"{_ROOT}/") and not is_argument


def _filled(template: str, values: Mapping[str, str]) -> str | None:
    """Return a template with its variables replaced; None if the value of one is unknown."""
    if any(name not in values for name in _variable.findall(template)):
        return None
    return _variable.sub(lambda match: values[match[1]], template)


def _values(catalog: Catalog, finding: Finding, framework: str) -> dict[str, str]:
    """Return the values of the variables that a finding determines."""
    item = finding.item
    kind = "resource" if item.kind == "template" else item.kind
    label = item.given_name
    shown = f"`{label}`" if len(label) <= 100 and label.isprintable() and "`" not in label else f"the {kind}"
    server = catalog.server_info.get("name")
    values: dict[str, str] = {
        kind: shown,
        "server": server if isinstance(server, str) and _plain_name(server) else "name",
    }
    if item.kind == "prompt":
        return values | _prompt_argument(item.raw, finding, framework)
    if item.kind != "tool":
        return values
    pointer = finding.pointer
    schema = _value_at(item.raw, pointer)
    holder = pointer if finding.parameter is None else pointer.rpartition("/properties/")[0]
    values |= _holder(_value_at(item.raw, holder), holder, shown)
    if finding.parameter is None:
        # The first property is an example of what the object may require.
        properties = schema.get("properties") if isinstance(schema, dict) else None
        first = next(iter(properties.items()), None) if isinstance(properties, dict) else None
        return values if first is None else values | _named(*first, framework, is_required=True)
    declaring = _value_at(item.raw, holder)
    required = declaring.get("required") if isinstance(declaring, dict) else None
    is_required = isinstance(required, list) and finding.parameter in required
    return values | _named(finding.parameter, schema, framework, is_required=is_required)


def _value_at(document: Any, pointer: str) -> Any:
    """Return the value at a pointer; None if there is none."""
    try:
        return resolve(document, pointer)
    except LookupError:
        return None


def _prompt_argument(prompt: Any, finding: Finding, framework: str) -> dict[str, str]:
    argument = _value_at(prompt, finding.pointer)
    name = argument.get("name") if isinstance(argument, dict) else None
    if not isinstance(name, str) or not _plain_name(name):
        return {}
    is_required = argument.get("required") is True
    values = _named(name, {"type": "string"}, framework, is_required=is_required)
    if not is_required:
        return values | {"required": "False", "optional": ".optional()", "default": ' = ""'}
    return values | {"required": "True", "optional": ""}


def _holder(schema: Any, pointer: str, tool: str) -> dict[str, str]:
    """Return what declares a parameter: the signature of a tool, or the class of a nested object."""
    values = {"signature": f"the signature of {tool}", "schema": f"the inputSchema of {tool}"}
    if pointer in ("", _ROOT):
        return values
    title = schema.get("title") if isinstance(schema, dict) else None
    holder, _, last = pointer.rpartition("/")
    name = last if holder.endswith(("/$defs", "/definitions")) else title
    model = name if isinstance(name, str) and _identifier(name) else "Model"
    shown = pointer.removeprefix(_ROOT)
    where = f", at {shown}" if len(shown) <= 100 and shown.isprintable() else ""
    return {"signature": f"the class {model}", "schema": f"{values['schema']}{where}", "model": model}


def _named(name: str, schema: Any, framework: str, *, is_required: bool) -> dict[str, str]:
    """Return the values of a parameter, if the framework can have one of this name."""
    if framework in (LOW_LEVEL, LITERAL):
        if not _plain_name(name):
            return {}
        is_python = framework == LOW_LEVEL
        members = literal_members(with_likely_type(schema) if isinstance(schema, dict) else schema, is_python=is_python)
        return _parameter(name, schema, is_required=is_required, members=members)
    if not _identifier(name):
        if framework != ZOD or not _plain_name(name):
            return {}
        return _parameter(name, schema, is_required=is_required) | {"name": f'"{name}"'}
    return _parameter(name, schema, is_required=is_required)


def _parameter(name: str, schema: Any, *, is_required: bool, members: str = "") -> dict[str, str]:
    """Return the values of a parameter. An optional one without a default has null for it in Python."""
    fields = with_likely_type(schema if isinstance(schema, dict) else {})
    python, zod = python_type(fields), zod_type(fields)
    values = {
        "name": name,
        "type": python,
        "required_type": python.removesuffix(" | None"),
        "zod": zod,
        "required_zod": zod,
        "members": members,
        **({"json_type": fields["type"]} if isinstance(fields.get("type"), str) else {}),
        **_size(fields),
    }
    if not has_format(fields):
        values |= {"bounded": python_type(fields, bounded=True), "zod_bounded": zod_type(fields, bounded=True)}
    default = _default(fields, python, is_required=is_required)
    if default is None:
        return {key: value for key, value in values.items() if key not in ("type", "bounded", "zod", "zod_bounded")}
    in_zod = ".optional()" if not is_required and "default" not in fields else ""
    for key in ("zod", "zod_bounded"):
        if key in values:
            values[key] += in_zod
    return values | {"default": default}


def _default(schema: dict[str, Any], python: str, *, is_required: bool) -> str | None:
    """Return the default of a parameter as Python; None if it is too long to show."""
    if "default" in schema:
        shown = python_value(schema["default"]) if is_flat(schema["default"]) else None
        return f" = {shown}" if shown is not None and len(shown) <= _LONGEST_DEFAULT else None
    if is_required:
        return ""
    return " = None" if python.endswith("None") else ""


def _size(schema: dict[str, Any]) -> dict[str, str]:
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if "string" in kinds and "maxLength" not in schema:
        return {"size_keyword": "maxLength", "size": str(TEXT_SIZE)}
    return {"size_keyword": "maxItems", "size": str(LIST_SIZE)} if "array" in kinds else {}


def framework_names(catalog: Catalog) -> tuple[str, ...]:
    """The names of the frameworks that a server is written with; empty if nothing shows them."""
    if catalog.source is not None:
        of_tools = {tool.source.framework for tool in catalog.tools if tool.source is not None}
        return tuple(FRAMEWORKS[name] for name in sorted(of_tools & {*FRAMEWORKS}))
    frameworks = live_frameworks(catalog)
    return () if frameworks in (COMMONEST, EITHER_LITERAL) else tuple(FRAMEWORKS[name] for name in frameworks)
