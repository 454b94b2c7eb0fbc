"""The effect of a tool: whether its name, description and parameters suggest that it reads, changes or destroys.

The tables of verbs are here: `DESTRUCTIVE`, `CHANGING`, `READING` and others. They are English; a tool whose effect
is not clear is not a reading one.
Why a call needs evidence: docs/decisions/0031-permission-needs-evidence.md.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from mcproof.core.catalog.model import Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import (
    agent_verb_forms,
    first_sentence,
    lead_end,
    verb_forms,
    without_negations,
    word_set,
    words_of,
)

DESTRUCTIVE = word_set(
    "abort ban cancel clear del delete deprovision destroy discard disconnect drop erase evict expunge flush hdel "
    "kill lrem nuke overwrite purge remove reset revert revoke rm rollback shred shutdown srem terminate trash "
    "truncate unassign unban undeploy uninstall unlink unpublish unregister unsubscribe wipe xdel zrem"
)
"""Verbs of tools that destroy something. They count anywhere in a name."""

CHANGING = word_set(
    "accept activate add allocate append apply approve arrappend arrpop arrtrim assign attach authorize buy cas "
    "checkin checkout cherry clean click clone configure confirm connect create curl customize deactivate decline decr "
    "deny deploy detach disable dismiss dispatch drag duplicate edit enable enqueue enroll eval evaluate exec execute "
    "exercise fill give grant handle highlight hset incr increment init initialize inject insert install "
    "interact interrupt invite invoke join launch leave login logout lpop lpush manage migrate modify move mutate mute "
    "navigate notify opt pay persist populate prepend press promote provision psubscribe publish put quit react rebase "
    "reconnect redeem refresh register reinvite reject rename reopen reorder replace replicate reply reschedule resize "
    "respond restart restore resume retry rotate rpop rpush run sadd save sell send set spawn start stop submit "
    "subscribe swipe sync synthesize tap toggle transact trigger tweet unarchive unlock unmute unpin unprotect update "
    "updater upgrade upload upsert withdraw write xack xadd xreadgroup zadd"
)
"""Verbs of tools that change something or execute their input. A word too many leaves a tool untested; a missing one
is refused anyway, unless a reading verb stands beside it."""

CHANGING_OR_NOUN = word_set(
    "agent archive back change commit copy fit fork forward import merge patch pause post protect pull purchase push "
    "refund reserve schedule share stash store switch trade transfer transition vote"
)
"""As `CHANGING`, but nouns elsewhere than before an object: `get_post`, `commit_list`."""

IN_FRONT = word_set(
    "answer batch book build bulk call charge close comment compile complete design dial download draft email empty "
    "expire export fix hover issue link lock log mark message new open order pin place play print process prompt queue "
    "receive record release report request resolve say scroll select sign snapshot speak tag take touch track "
    "return type void"
)
"""Words that are verbs only at the beginning of a name, or between a product name and an object: `log_in` and
`blog_log_in`, but not `git_log`."""

AT_THE_END = word_set(
    "build call close design dial do hover lock open play print say scroll select sign speak touch type"
)
"""Words that are also verbs as the last word after a product name: `browser_type`, but not `git_log`."""

EXECUTING = word_set("answer call execute exec invoke launch run")
"""First verbs of descriptions that do not tell the effect: `list_topics`, "Execute the `list_topics` operation"."""

GENERIC = word_set("conduct do make perform")
"""Verbs of descriptions whose object tells the effect: "Performs a web search"."""

READING = word_set(
    "analyze analyse assess compare count describe detect determine diagnose discover display explain explore fetch "
    "geocode get grep has identify inspect introspect is locate look lookup ls measure peek ping preview read "
    "recommend retrieve scrape show suggest summarise summarize troubleshoot understand validate whoami whois"
)
"""Reading verbs; words after them are nouns (`get_call_status`)."""

READING_OR_NOUN = word_set("check diff filter find lint list query scan search view")
"""Reading verbs that are also nouns; a changing verb after them may be the verb: `todo_list_add`."""

READING_IN_DESCRIPTIONS = word_set("obtain provides return")
"""Verbs that mean reading only as first verb of a description: not in `return_item`."""

COMPUTING = word_set(
    "addition calc calculate compute cos divide division echo estimate factorial fibonacci gcd lcm log10 median "
    "multiplication multiply parse sin sqrt subtract subtraction tan tokenise tokenize"
)
"""Verbs, and names of functions, of tools that only compute."""

ARITHMETIC = word_set("abs add ceil exp floor log max mean min minus mod modulo plus pow power round sum")
"""Functions, if every argument is a number; other tools have these words, too (`power_off`)."""

NUMBERS = word_set(
    "a addend addends b base c calc calculator exponent first float floats i int integer integers left m math n num "
    "number numbers nums operand operands p q right second two value values x y z"
)
"""Other words in the names of arithmetic tools and of their parameters."""

CONVERTING = word_set(
    "beautify convert decode differentiate encode factor format integrate minify normalise normalize reverse simplify "
    "solve sort split transform translate"
)
EXTRACTING = word_set("capture extract")
DRAWING = word_set("draw flip generate plot render roll")
"""Verbs of tools that compute or read, depending on what they make; see `VALUES` and `DRAWINGS`."""

VALUES = word_set(
    "address addresses angle area array base base64 bases binary case celsius color colors colour content contents "
    "currency data date dates datetime decimal degrees distance equation equations expression fahrenheit hex html "
    "integral json jwt keyword keywords length line lines links list markdown matrix metadata number numbers percent "
    "polynomial roman screenshot section sections snapshot speed string strings table tables temperature text time "
    "timestamp timezone timezones transcript transcription unit units url volume weight words xml yaml"
)
"""What is converted or extracted without an effect."""

DRAWINGS = word_set(
    "chart charts checksum coin diagram diagrams dice die graph guid hash heatmap histogram map palette plot tree "
    "treemap uuid uuids"
)
"""What is drawn or generated without an effect. Not a text or an image, which may cost, nor a key or a link."""

COSTLY = word_set("audio image images music song sound speech video voice")
"""Products, costly or large, of tools that name them after `to`: `text_to_speech`."""

DOCUMENTS = word_set("csv docx epub excel jpeg jpg mp3 mp4 pdf png pptx svg wav word xlsx zip")
"""Kinds of files; a tool that makes one writes it."""

PHRASES = {
    ("check", "in"),
    ("check", "out"),
    ("display", "notification"),
    ("git", "fetch"),
    ("show", "alert"),
    ("show", "notification"),
}
"""Words that look like a reading verb and change something."""

CONJUNCTIONS = word_set("and or then")
"""Words after which a name has another verb: `get_or_create`."""

WRITTEN = word_set("download dest destination export out output result results save target write")
FILES = word_set("dir directory file filename folder path uri")
"""A parameter whose name has one word of each names a file to write: `output_path`."""
WRITING_PARAMETERS = word_set("confirm confirmed outfile overwrite save savepath saveto")
"""Words of parameters that only tools with an effect have; also `dry_run`."""
CODE_PARAMETERS = word_set("cmd command commands cql javascript program script shell sql statement statements")
"""Last words of parameters with text to execute; also `code` and `python_code`, but not `postal_code`."""
LANGUAGES = word_set("javascript js py python source typescript")
ACTION_PARAMETERS = word_set("action actions command method mode op operation")
"""Parameters whose `enum` has verbs: `{"action": {"enum": ["list", "create"]}}`."""
UNITS = word_set("unit units")
"""Words of parameters of tools that convert quantities."""

RECORD_PARAMETERS = FILES | word_set(
    "bucket cell column device element id ids index key node page prompt range row sheet slide uuid worksheet"
)
"""Words of parameters that refer to more than the value to convert or to draw."""


_REPORTS = word_set("details history info information metadata overview stat statistics stats status summary")
"""Last words of the names of tools that report: `pdf_info`."""
_NEW_VALUES = word_set("body content data message new note reason state status text value")
"""Words of parameters with what a report would be replaced by."""
_LABEL = re.compile(r"\W{0,5}(?:[\w+]{1,20} ){1,3}[—–]\s+|(?:[A-Z]{4,20}): [^\n]{0,1000}\n\s*\n\s*")
"""What may precede a description: `Pro — View the pantry`, or a paragraph of warnings: `SECURITY: …`."""

_LONGEST_DESCRIPTION = 4_000
"""How much of a description is read, in characters."""

_CHANGES = CHANGING | CHANGING_OR_NOUN
_READS = READING | READING_OR_NOUN | COMPUTING
_NEVER_NOUNS = CHANGING | DESTRUCTIVE
_ALL_CHANGES = _CHANGES | DESTRUCTIVE | IN_FRONT | AT_THE_END
_KNOWN_CHANGES = _ALL_CHANGES - {"report"}
_MAKES = CONVERTING | EXTRACTING | DRAWING
_AFTER_NOUNS = (READING | READING_OR_NOUN) - {"read"}
"""Verbs before which `order` or `forward` is not the verb: `order_list`, but not `mark_read`."""
_KNOWN = _ALL_CHANGES | _READS | READING_IN_DESCRIPTIONS | _MAKES | GENERIC

_WORD = re.compile(r"[A-Za-z][A-Za-z']*|,")
_READ_ONLY = re.compile(r"(?<!not )(?<!non-)\bread[- ]?only\b(?!.*\bdefault\b)|\bSELECT\b", re.IGNORECASE | re.DOTALL)
_WRITING_SQL = re.compile(r"\b(?:INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|DDL|DML|writes?)\b", re.IGNORECASE)
_WRITES = re.compile(
    r"\b(?:saves?|writes?|stores?)\s+(?:\w+\s+){0,5}?(?:files?|disk|folder|directory)\b"
    r"|\bsaved? (?:it )?(?:to|in|as)\b|\bwill be (?:appended|downloaded|overwritten|saved|written)\b"
    r"|\b(?:directory|file|folder|path)\b[^.]{0,30}\bto (?:save|write)\b",
    re.IGNORECASE,
)


class ToolEffect(NamedTuple):
    """What a tool seems to do, and what shows it."""

    changes: bool
    evidence: str
    """As the end of a sentence: "`create` in its name"."""


def effect_of(tool: Tool) -> ToolEffect | None:
    """Return what a tool seems to do; None if nothing shows it."""
    words = [word.strip("0123456789") or word for word in words_of(tool.name)]
    parameters = _parameters(tool)
    text = _description(tool.fields)
    if _is_arithmetic(words, parameters):
        return ToolEffect(False, "arithmetic by its name and parameters")
    named = _of_name(words, parameters, text)
    # A sign of a change outranks a sign of reading, wherever it is: docs/decisions/0031-permission-needs-evidence.md.
    if named is not None and named.changes:
        return named
    described = _of_description(words, parameters, text, is_reading=named is not None)
    if described is not None and described.changes:
        return described
    return _of_parameters(words, parameters, text) or named or described or _of_noun(words, parameters)


def _of_name(words: list[str], parameters: dict[str, Any], text: str) -> ToolEffect | None:
    if words[:1] == ["random"] and (COSTLY | _ALL_CHANGES).isdisjoint(words):
        return ToolEffect(False, "`random` in its name")
    for number, word in enumerate(words):
        if number and number == len(words) - 1:  # the agent of a verb, as in `unit_converter`
            word = next((verb for verb in agent_verb_forms(word) if verb in _READS | _MAKES), word)  # noqa: PLW2901
        rest = words[number + 1 :]
        if rest and (word, rest[0]) in PHRASES:
            return ToolEffect(True, f"`{word} {rest[0]}` in its name")
        if word in _READS and (rest or not number or word != "query"):  # `query` at the end is a noun
            changing = _second_verb(word, rest, is_first=number == 0)
            return ToolEffect(changing is not None, f"`{changing or word}` in its name")
        if word in _MAKES and READING.isdisjoint(rest[:1]):
            made_of = [*words[:number], *(rest or [token.lower() for token in _WORD.findall(first_sentence(text))[:8]])]
            return ToolEffect(not _only_makes(word, made_of, parameters), f"`{word}` in its name")
        if word in CHANGING or _is_verb_here(word, number, words):
            return ToolEffect(True, f"`{word}` in its name")
    costly = next((after for before, after in pairwise(words) if before == "to" and after in COSTLY), None)
    return ToolEffect(True, f"`to {costly}` in its name") if costly is not None else None


def _of_noun(words: list[str], parameters: dict[str, Any]) -> ToolEffect | None:
    """The effect of a tool that is named after what it reports, and takes nothing to put in its place."""
    named = {word for parameter in parameters for word in words_of(parameter)}
    if not _REPORTS.isdisjoint(words[-1:]) and named.isdisjoint(_NEW_VALUES) and _KNOWN_CHANGES.isdisjoint(words):
        return ToolEffect(False, f"`{words[-1]}` in its name")
    return None


def _is_verb_here(word: str, number: int, words: list[str]) -> bool:
    """Whether a word that may be a noun is the verb of a name."""
    is_last = number == len(words) - 1
    if word in AT_THE_END and is_last and number == 1:
        return True
    is_verb = word in CHANGING_OR_NOUN or (word in IN_FRONT and (number == 0 or (number == 1 and not is_last)))
    is_noun = not is_last and words[number + 1] in _AFTER_NOUNS
    return is_verb and not is_noun


def _second_verb(verb: str, rest: list[str], *, is_first: bool) -> str | None:
    """The changing verb after a reading one: `get_or_create`, `todo_list_add`."""
    after = next(
        (word for before, word in pairwise([verb, *rest]) if before in CONJUNCTIONS and word in _ALL_CHANGES),
        None,
    )
    if after is not None or verb not in READING_OR_NOUN:
        return after
    where = rest if not is_first else rest if len(rest) == 1 and verb != "check" else []
    return next((word for word in where if word in CHANGING and word != "send"), None)


def _only_makes(verb: str, made_of: list[str], parameters: dict[str, Any]) -> bool:
    """Whether a tool converts, extracts or draws values without another effect."""
    if verb in DRAWING and "random" in made_of[:4] and (COSTLY | _NEVER_NOUNS).isdisjoint(made_of):
        return True
    products = DRAWINGS if verb in DRAWING else VALUES
    named = {word for parameter in parameters for word in words_of(parameter)}
    # Parameters such as `from_unit` show what is converted.
    has_units = verb in CONVERTING and not UNITS.isdisjoint(named)
    if (products.isdisjoint(made_of) and not has_units) or not COSTLY.isdisjoint(made_of):
        return False
    return verb in EXTRACTING or (named.isdisjoint(RECORD_PARAMETERS) and DOCUMENTS.isdisjoint(made_of))


def _is_arithmetic(words: list[str], parameters: dict[str, Any]) -> bool:
    """Whether a tool such as `add` only computes: all it takes is numbers that are called so."""
    operators = ARITHMETIC.intersection(words)
    others = [*words, *(word for name in parameters for word in words_of(name.strip("0123456789")))]
    return (
        bool(operators and parameters)
        and all(word in NUMBERS or word in operators for word in others)
        and all(_is_number(schema) for schema in parameters.values())
    )


def _is_number(schema: Any, depth: int = 0) -> bool:
    if not isinstance(schema, dict) or depth > 2:
        return False
    if isinstance(branches := schema.get("anyOf"), list):
        return bool(branches) and all(_is_number(branch, depth + 1) for branch in branches)
    if schema.get("type") == "array":
        return _is_number(schema.get("items"), depth + 1)
    kinds = schema.get("type")
    return bool(kinds) and set(kinds if isinstance(kinds, list) else [kinds]) <= {"number", "integer"}


def _of_description(words: list[str], parameters: dict[str, Any], text: str, *, is_reading: bool) -> ToolEffect | None:
    """The effect by the first verb of a description."""
    label = _LABEL.match(text)
    sentence = first_sentence(text[label.end() :] if label is not None else text)
    tokens = [word.lower() for word in _WORD.findall(sentence[lead_end(sentence) :])]
    if not tokens:
        return None
    if tokens[0] in _ALL_CHANGES - _NEVER_NOUNS and _stem(tokens[1] if len(tokens) > 1 else "") in _AFTER_NOUNS:
        tokens = tokens[1:]  # an adjective and no verb, as in "Forward geocode"
    verb = _stem(tokens[0])
    shown = ToolEffect(True, f"`{tokens[0]}` as first verb of its description")
    if verb in EXECUTING:
        if _is_stated_read_only(sentence):
            return shown._replace(changes=False)
        return shown if not is_reading or _code_parameter(words, parameters) is not None else None
    if verb in GENERIC:
        stems = (stem for word in tokens[1:7] if (stem := _stem(word)) in _ALL_CHANGES | _READS)
        verb = next(stems, verb)
    joined = _joined(tokens)
    second = next((word for word in joined if _stem(word) in _ALL_CHANGES), None) or _conjoined(tokens)
    if second is not None:
        return ToolEffect(True, f"`{second}` in the first sentence of its description")
    if verb == "report" and not _REPORTS.isdisjoint(words[-1:]):
        return None
    if verb in _READS | READING_IN_DESCRIPTIONS:
        return shown._replace(changes=False) if all(_stem(word) in _READS | _MAKES for word in joined) else None
    if verb in _MAKES and not is_reading:
        return shown._replace(changes=not _only_makes(verb, tokens[1:8], parameters))
    return shown if verb in _ALL_CHANGES else None


def _description(fields: Any) -> str:
    description = fields.get("description") if isinstance(fields, dict) else None
    return description[:_LONGEST_DESCRIPTION] if isinstance(description, str) else ""


def _joined(tokens: list[str]) -> list[str]:
    """The verbs directly joined to the first one: "Validates and tests", "List, create or close"."""
    joined = []
    separators = CONJUNCTIONS | {","}
    rest = tokens[1:]
    while rest and rest[0] in separators:
        following = next((number for number, word in enumerate(rest) if word not in separators), len(rest))
        joined += rest[following : following + 1]
        rest = rest[following + 1 :]
    return joined


def _conjoined(tokens: list[str]) -> str | None:
    """The changing verb after a conjunction, in the form of the first verb: "Fetches a page and saves it"."""
    is_base = _stem(tokens[0]) == tokens[0]
    # "Find what is similar to an item, a decision, or update": the last of three nouns has no object. A verb that
    # destroys is one wherever it stands.
    is_list = tokens.count(",") > 1 and tokens[-3] == "," and tokens[-2] in CONJUNCTIONS
    is_list = is_list and _stem(tokens[-1]) not in DESTRUCTIVE
    for before, after in pairwise(tokens[:-1] if is_list else tokens):
        stem = _stem(after)
        is_changing = before in CONJUNCTIONS and stem in _NEVER_NOUNS
        if is_changing and (stem == after) == is_base and not after.endswith("ing"):
            return after
    return None


def _is_stated_read_only(sentence: str) -> bool:
    return _READ_ONLY.search(sentence) is not None and _WRITING_SQL.search(sentence) is None


def _stem(word: str) -> str:
    """The base form of a verb, if it is a known one: `list` for `lists` and `listing`."""
    return next((form for form in verb_forms(word) if form in _KNOWN), word)


def _of_parameters(words: list[str], parameters: dict[str, Any], text: str) -> ToolEffect | None:
    """A change that the parameters or the description show: a file to write, an action to choose."""
    for name, schema in parameters.items():
        parts = set(words_of(name))
        if parts & WRITING_PARAMETERS or {"dry", "run"} <= parts or (parts & WRITTEN and parts & FILES):
            return ToolEffect(True, f"its parameter `{name}`")
        values = schema.get("enum") if isinstance(schema, dict) and parts & ACTION_PARAMETERS else None
        for value in values if isinstance(values, list) else ():
            if isinstance(value, str) and set(words_of(value)[:1]) & _ALL_CHANGES:
                return ToolEffect(True, f"the value `{value}` of its parameter `{name}`")
    if "method" in parameters and {"url", "path", "body"} & parameters.keys():
        return ToolEffect(True, "its parameter `method`")
    code = _code_parameter(words, parameters)
    # A verb may state what else is done with code: `validate_sql`, `get_code`.
    has_other_verb = any(word in (_READS | _MAKES) - {"query"} for word in words)
    if code is not None and not has_other_verb and not _is_stated_read_only(first_sentence(text)):
        return ToolEffect(True, f"its parameter `{code}`")
    described = [without_negations(said) for said in (text, *map(_description, parameters.values()))]
    written = next((match[0] for description in described if (match := _WRITES.search(description)) is not None), None)
    return ToolEffect(True, f"`{' '.join(written.split())}` in a description") if written is not None else None


def _code_parameter(words: list[str], parameters: dict[str, Any]) -> str | None:
    """The parameter with text to execute, also the `query` of a `sql_query`."""
    if words[-1:] == ["query"] and "query" in parameters:
        return "query"
    for name in parameters:
        *before, last = words_of(name) or [""]
        if last in CODE_PARAMETERS or (last == "code" and (not before or before[-1] in LANGUAGES)):
            return name
    return None


def _parameters(tool: Tool) -> dict[str, Any]:
    """The declared properties by name, also those one level down."""
    properties = (tool.schema or {}).get("properties")
    parameters = dict(properties) if isinstance(properties, dict) else {}
    for schema in list(parameters.values()):
        nested = schema.get("properties") if isinstance(schema, dict) else None
        parameters.update(nested if isinstance(nested, dict) else {})
    return parameters
