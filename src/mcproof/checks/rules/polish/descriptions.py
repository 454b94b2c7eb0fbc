"""Rules on descriptions: not too short or too long, in plain words, consistent with types and with each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mcproof.checks.findings import Problem
from mcproof.checks.rule import rule
from mcproof.checks.rules.polish.prose import (
    is_latin,
    matches_from,
    may_be_english,
    pointer_of,
    size,
    tool_words,
    unquoted,
)
from mcproof.checks.rules.polish.schemas import leaves_format_open
from mcproof.checks.scores.tokens import is_blank, length, trim
from mcproof.core.catalog.model import Catalog, Tool
from mcproof.core.schema.acceptance import KINDS, kinds_of
from mcproof.core.text.english import EMPTY, PURPOSES, USELESS, WHEN, word_set, words_of

COMPARED_FROM = 20
"""The shortest description, in characters, that is compared with others."""

_BEGINNING = r"(?:\(?optional\)?[:,.]? )?(?:(?:an?|the) )?"
_states_kind = re.compile(
    rf"(?i){_BEGINNING}(?:"
    r"(?P<number>(?:maximum |max\.? |minimum |min\.? |total )?(?:number|count) of (?!the |this |an? )"
    r"|how many |integer\b|float\b)"
    r"|(?P<boolean>whether (?:to|or not|the|this|it)\b|true (?:if|to|when)\b|if true\b|set to true\b|boolean\b)"
    r"|(?P<array>(?:list|array) of |(?:list|array)\b(?= containing| with))"
    r")"
).match
_FIRST_WORDS = frozenset(
    (
        *("optional", "optional.", "optional:", "optional,", "(optional)", "(optional).", "(optional):", "(optional),"),
        *("a", "an", "the", "number", "count", "maximum", "max", "max.", "minimum", "min", "min.", "total", "how"),
        *("integer", "float", "whether", "true", "if", "set", "boolean", "list", "array"),
    )
)
_is_written_as_text = re.compile(
    r"(?i)\bstring|\btext\b|\bjson\b|separated|delimited|\bor\b(?! not)|encoded|serialized|\bformat|\bas an? |[\"'`]"
    r"|\bcsv\b|\byaml\b|per line|\bexpression\b"
).search
_DECIMALS = frozenset(("qty", "quantity", "amount", "price", "notional", "balance", "cost", "fee", "shares", "wei"))
_is_decimal = re.compile(
    r"(?i)\b(?:decimals?|fraction(?:al)?|precision|shares|contracts|currency|money|price|usd|eur|wei)\b"
).search
"""Names and descriptions of quantities that are sent as strings on purpose, to keep every digit."""
_SHOWS_FORM = frozenset(("enum", "const", "pattern", "format"))
"""Keywords that define how a value is written."""
_TYPES = {"number": ("number", "integer"), "boolean": ("boolean",), "array": ("array",)}
_COMPOUND = ("array", "object")


@rule(
    Tool,
    "MP030",
    ruleset="polish",
    name="param-type-mismatch",
    severity="error",
    category="consistency",
)
def param_type_mismatch(tool: Tool) -> Iterator[Problem]:
    """A parameter's description names one kind of value, and its type allows only another.

    Only the beginning of a description is taken for its kind: "Number of results", "Whether to …", "List of …". Nothing
    is reported if it goes on to explain how the value is written as text, nor for decimal quantities such as an amount
    of money, which many APIs take as strings to keep every digit.

    Why: a model follows one or the other, and half of its calls are rejected.
    Fix: correct the type, or explain in the description how the value is written.
    """
    for name, schema, described in tool_words(tool).parameters:
        text = described.lstrip()
        if not text or schema.get("type") in _COMPOUND or text.partition(" ")[0].lower() not in _FIRST_WORDS:
            continue
        stated = _states_kind(text)
        if stated is None or schema.get("type") in _TYPES[expected := str(stated.lastgroup)]:
            continue
        if not _SHOWS_FORM.isdisjoint(schema) or _is_written_as_text(text[:2000]) or tool.tree is None:
            continue
        kinds = kinds_of(schema, tool.tree) - {"null"}
        if expected in kinds or not kinds or kinds == KINDS - {"null"} or not kinds.isdisjoint(_COMPOUND):
            continue
        if expected == "number" and kinds == {"string"} and _is_quantity(name, text):
            continue
        pointer = pointer_of(name)
        if not tool.knows_all(pointer):
            continue
        declared = " or ".join(sorted(kinds))
        yield Problem(f"parameter `{name}` has type {declared} but is described as {_ARTICLE[expected]}", pointer, name)


def _is_quantity(name: str, description: str) -> bool:
    """Whether a number may have more digits than a JSON number keeps."""
    return not _DECIMALS.isdisjoint(words_of(name)) or _is_decimal(description[:2000]) is not None


_ARTICLE = {"number": "a number", "boolean": "a boolean", "array": "a list"}


@rule(
    Catalog,
    "MP033",
    ruleset="polish",
    name="duplicate-tool-description",
    severity="error",
    category="consistency",
)
def duplicate_tool_description(catalog: Catalog) -> Iterator[Problem]:
    """Two or more tools with different names have the same description.

    Case and whitespace are ignored; descriptions of fewer than 20 characters are not compared.

    Why: a model can only choose by name, and may choose the wrong tool.
    Fix: describe how each tool differs from the others; if they are one tool under two names, serve one.
    """
    alike: dict[str, list[Tool]] = {}
    for tool in catalog.tools:
        if tool.description and tool.name and tool.knows("/description") and tool.knows("/name"):
            beginning = " ".join(tool.description[:100].split()[:4]).lower()
            alike.setdefault(beginning, []).append(tool)
    for candidates in alike.values():
        if len(candidates) > 1:
            yield from _twins(candidates)


def _twins(candidates: list[Tool]) -> Iterator[Problem]:
    """The problems of tools whose descriptions start with the same text."""
    alike: dict[str, list[Tool]] = {}
    for tool in candidates:
        text = " ".join(tool.description.split()).lower()
        if len(text) >= COMPARED_FROM:
            alike.setdefault(text, []).append(tool)
    for tools in alike.values():
        names = list(dict.fromkeys(tool.name for tool in tools))
        if len(names) < 2:
            continue
        for tool in tools:
            others = [name for name in names[:4] if name != tool.name][:3]
            listed = ", ".join(f"`{name}`" for name in others)
            more = f" and {len(names) - 1 - len(others)} more" if len(names) - 1 > len(others) else ""
            yield Problem(f"the description is the same as that of {listed}{more}", at="/description", item=tool)


SHORT, LONG = 50, 1500
VERY_SHORT = 15
"""A description with fewer characters needs two words that the tool's name does not have; a longer one needs one."""
FEWEST_WORDS, MOST_JARGON = 8, 0.25
LOOKED_AT = 1000
"""How many characters of a description are searched for abbreviations."""


_PURPOSE = rf"(?:{'|'.join(sorted(PURPOSES))})"
_when = re.compile(
    r"\buse:? (?:[\w`'\"-]{1,40} ){0,4}(?:when|if|for|to|before|after|whenever|only|instead|as)\b|(?<=, )use\b"
    r"|\bused (?:\w{1,30} )?(?:when|if|for|to|by)\b|\buse cases?\b"
    r"|\b(?:call|invoke|run|try) (?:[\w`'\"-]{1,40} ){0,4}(?:when|if|before|after|first|once|over|instead)\b"
    r"|\b(?:useful|helpful|appropriate|ideal|best|perfect|great|suitable|intended|designed|meant|recommended|needed)"
    r" (?:when|for|to|if|before)\b"
    r"|\bonly (?:when|if|after|for)\b"
    r"|\bwhen(?:ever)? (?:the user|you|a user|users|asked|to use|not to use|needed|\w{2,20}ing)\b"
    r"|\bif (?:the user|you|users)\b"
    r"|\b(?:not|don't|never|avoid) (?:use|using|call|calling)\b"
    r"|\b(?:must|should) be (?:used|called)\b"
    r"|\bbefore (?:using|calling|making|doing|running|editing|any|you|other)\b|\bconsider (?:using|calling)\b"
    r"|\b(?:prefer|choose|favou?r)s? \S|\bdeprecated\b|\binstead of\b|\brather than\b|\bunlike\b"
    r"|\b(?:primary|main|preferred) (?:tool|way|method|choice|entry|starting)\b|\bstart (?:here|with)\b"
    r"|\bhelps? (?:you|users?|to|with|in|\w{2,20}ing)\b"
    rf"|(?<=\bto ){_PURPOSE}\b|(?<=\bfor ){_PURPOSE}\b"
).match
_TOOL_NOUN = r"(?:tools?|way|utility|function|method|interface|server|helper|wrapper|feature|solution)\b"
_useless = re.compile(
    r"\b(?:[Ee]ffortlessly|awesome|amazing|[Ee]asy-to-use"
    # Only of the tool: "more powerful than" compares, and "powerful and" may describe what the tool is about.
    r"|(?<!ore )(?<!ess )(?<!as )(?<!is )(?<!are )(?<!be )[Pp]owerful(?=,? \w)"
    r"(?! (?:and|or|for|when|to|if|enough|than)\b)"
    r"|(?:very|really) (?:useful|helpful|powerful|easy|simple|convenient|great)"
    rf"|(?:convenient|perfect|great|useful|helpful)(?= {_TOOL_NOUN})|(?<=[Aa] )simple(?= {_TOOL_NOUN})"
    r"|(?<![Nn]o )(?<!any )(?<!more )(?<!most )(?:useful|helpful)(?= (?:information|insights?|details)\b)"
    r"|(?:(?<=[.!?:] )|(?<![\s\S]))(?:Simply|Basically|Essentially|Obviously"
    r"|Just(?= (?:call|use|pass|provide|give|send|run)\b))"
    r")(?!\w)"
).match
_words = re.compile(r"[A-Za-z][A-Za-z0-9_]+").findall
_SHAPES = bytes(ord("A") if 65 <= code <= 90 else ord("0") if 48 <= code <= 57 else ord(" ") for code in range(256))
"""`A` for every capital and `0` for every digit."""
_is_acronym = re.compile(r"[A-Z][A-Z0-9]{1,5}").fullmatch
_PLAIN = word_set(
    "API APIS URL URLS URI JSON XML HTTP HTTPS MCP SQL ID IDS HTML CSS CSV PDF UUID ISO UTC AWS SDK CLI CPU GPU RAM "
    "DNS IP TCP UDP SSH SSL TLS REST RPC YAML TOML JWT UI UX AI LLM OS IDE GET POST PUT PATCH HEAD DELETE SELECT FROM "
    "WHERE AND OR NOT NOTE TODO OK USD EUR GB MB KB TB EU US UK PNG JPG JPEG SVG GIF MP3 MP4 WAV ASCII UTF UTF8 MD "
    "DB ORM FAQ PR CI CD VM S3 EC2 IAM VPC SMS"
)
_EMPHASIS = word_set(
    "ALL ALWAYS ANY ARE AT AVOID BE BEFORE BEST BOTH BUT BY CALL CAN DO DOES EACH ERROR EVERY FALSE FIRST FOR HAS HOW "
    "IF IN INPUT IS IT ITS KEY LAST LIST MAX MAY MIN MORE MOST MUST NEVER NEW NO NONE NOW NULL OF ON ONE ONLY OUTPUT "
    "PLEASE READ RULE RULES SAME SET SHOULD SO STEP STOP TAKE THAN THAT THE THEN THIS TO TOOL TRUE TWO USE USER USING "
    "VALUE VERY WHAT WHEN WHERE WHICH WHY WILL WITH WRITE YES YOU YOUR"
)


@rule(
    Tool,
    "MP020",
    ruleset="polish",
    name="description-too-short",
    severity="warn",
    category="description",
    same_as="tool-short-description",
)
def description_too_short(tool: Tool) -> Iterator[Problem]:
    """A tool's description has fewer than 50 characters and adds nothing to the tool's name.

    A text that adds something, such as "Square root of a number" for `sqrt`, is not reported. An ideograph counts as
    three characters, a syllabic character as two.

    Why: a few words rarely explain what the tool does, when to use it and what it returns.
    Fix: add the one or two sentences that a colleague would ask for.
    """
    text = tool.description
    if is_blank(text) or not tool.knows("/description") or not tool.knows("/name") or not _is_short(text):
        return
    is_very_short = size(text) < VERY_SHORT
    added = _added_words(text, tool.name)
    if (not is_very_short and (added or not is_latin(text))) or len(added) > 1:
        return
    count = min(size(text), length(trim(text)))
    adds = f" and adds {f'only `{added[0]}`' if added else 'nothing'} to the name" if is_latin(text) else ""
    yield Problem(f"the description has only {count} character{'s' * (count > 1)}{adds}", at="/description")


def _is_short(text: str) -> bool:
    return size(text[: 2 * SHORT]) < SHORT and size(text) < SHORT  # the beginning usually decides


def _added_words(description: str, name: str) -> list[str]:
    """The words of a description that carry a meaning and that a tool's name does not have."""
    own = {_stem(word) for word in words_of(name)}
    added = dict.fromkeys(word for word in words_of(description) if word not in EMPTY and _stem(word) not in own)
    return list(added)


def _stem(word: str) -> str:
    """A word without the endings of English verbs and plurals, for comparing words."""
    endings = (ending for ending in ("ing", "ies", "ed") if word.endswith(ending) and len(word) > len(ending) + 2)
    return word.removesuffix(next(endings, "")).rstrip("seiy") or word


@rule(
    Tool,
    "MP021",
    ruleset="polish",
    name="description-too-long",
    severity="note",
    category="description",
    same_as="tool-long-description",
)
def description_too_long(tool: Tool) -> Iterator[Problem]:
    """A tool's description has more than 1,500 characters.

    Layout whitespace does not count; an ideograph counts as three characters, a syllabic character as two.

    Why: every description is sent with every request, and the important sentence gets lost.
    Fix: move details about parameters to the parameters, and long guides to a resource or a prompt.
    """
    text = tool.description
    if (
        len(text) > (LONG if text.isascii() else LONG // 3)
        and tool.knows("/description")
        and (letters := size(text)) > LONG
    ):
        count = length(trim(text))
        is_dense = count <= LONG
        much = f"is as long as {letters:,} letters" if is_dense else f"has {count:,} characters"
        yield Problem(f"the description {much}", at="/description")


@rule(
    Tool,
    "MP022",
    ruleset="polish",
    name="missing-example",
    severity="note",
    category="description",
)
def missing_example(tool: Tool) -> Iterator[Problem]:
    """A parameter has a format that neither its description nor its schema shows.

    Applies to values that callers get wrong without an example: times, colours, codes, choices such as a status,
    filters and other structures. An `enum`, a format, a pattern, a default, declared properties, and listed or quoted
    values in the description of the parameter or the tool all show the format. A parameter without a description is
    reported by MP002.

    Why: one example explains a format better than a paragraph.
    Fix: add `examples`, or end the description with "such as `2024-05-01`".
    """
    words = tool_words(tool)
    for name, schema, text in () if words.is_foreign else words.parameters:
        if text and leaves_format_open(name, schema, text) and may_be_english(text):
            pointer = pointer_of(name)
            if tool.knows_all(pointer) and not _explains(tool.description, name):
                yield Problem(f"parameter `{name}` has no example of its format", pointer, name)


def _explains(description: str, name: str) -> bool:
    """Whether a tool's description goes into a parameter: `status: …`, `status=…`, "`status`"."""
    mention = rf"\b{re.escape(name)}s?\b[`'\"]?\*{{0,2}}\s?[:=(`]"
    return name in description and re.search(mention, description) is not None


@rule(
    Tool,
    "MP023",
    ruleset="polish",
    name="no-trigger-condition",
    severity="note",
    category="description",
)
def no_trigger_condition(tool: Tool) -> Iterator[Problem]:
    """A tool's description does not say when to use it.

    A purpose ("to compare prices", "for debugging"), an alternative ("prefer `read_page`", "rather than") and a
    deprecation say so too.

    Why: among similar tools, a model needs to know when to choose a tool, not only what it does.
    Fix: add a sentence such as "Use this when the user reports a new bug".
    """
    words = tool_words(tool)
    if words.is_english and not words.says(WHEN, _when):
        yield Problem("the description does not say when to use the tool", at="/description")


@rule(
    Tool,
    "MP024",
    ruleset="polish",
    name="jargon-density",
    severity="note",
    category="description",
)
def jargon_density(tool: Tool) -> Iterator[Problem]:
    """More than a quarter of a description's words are unexplained abbreviations.

    Common abbreviations, words in capitals for emphasis, quoted values, parts of the tool's name, and abbreviations in
    brackets after their meaning do not count.

    Why: a model may not know them, or confuse them with something else.
    Fix: write them out at least once.
    """
    text = tool.description[:LOOKED_AT]
    if not _has_capitals(text) or not tool_words(tool).is_english:
        return
    prose = unquoted(text)
    words = _words(prose)
    own = {word.upper() for word in words_of(tool.name)}
    jargon = [
        word
        for word in words
        if _is_acronym(word)
        and word not in _PLAIN
        and word not in _EMPHASIS
        and word not in own
        and f"({word})" not in prose
    ]
    if len(words) >= FEWEST_WORDS and len(jargon) > MOST_JARGON * len(words):
        named = ", ".join(list(dict.fromkeys(jargon))[:5])
        yield Problem(f"{len(jargon)} of {len(words)} words are abbreviations: {named}", at="/description")


def _has_capitals(text: str) -> bool:
    """Whether there are enough capitals for that many abbreviations: a cheap test that usually decides."""
    shape = text.encode("ascii", "replace").translate(_SHAPES)
    if shape.count(b"AA") + shape.count(b"A0") <= MOST_JARGON * FEWEST_WORDS:
        return False
    words = text.split()
    return sum(map(str.isupper, words)) > 0.5 * MOST_JARGON * len(words)


@rule(
    Tool,
    "MP025",
    ruleset="polish",
    name="useless-qualifier",
    severity="note",
    category="description",
)
def useless_qualifier(tool: Tool) -> Iterator[Problem]:
    """A tool's description contains praise such as "powerful", or filler such as "Simply" in front of a sentence.

    Uses with a meaning do not count: "useful for", "very slow", "more powerful than", "simply opens the form"; nor do
    quotations.

    Why: filler costs tokens and does not help a model to choose.
    Fix: remove the word, or describe what it stands for.
    """
    words = tool_words(tool)
    present = USELESS & words.watched
    if not present or not words.is_english:
        return
    text = " ".join(unquoted(tool.description).split())
    filler = min(
        matches_from([*present, *map(str.capitalize, present)], _useless, text), key=re.Match.start, default=None
    )
    if filler:
        yield Problem(f"the description contains the filler word `{filler[0].strip()}`", at="/description")
