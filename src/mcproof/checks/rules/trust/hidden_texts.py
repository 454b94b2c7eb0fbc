"""Rules on texts that a person does not see as a model does: hidden, encoded, rendered or out of place.

What a text hides or encodes is found in `checks.texts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcproof.checks.findings import Problem
from mcproof.checks.rules.trust.rule import escaped, problem_of_text, quoted, trust_rule
from mcproof.checks.texts.model_texts import PROSE, ModelText, ModelTexts
from mcproof.core.catalog.model import Catalog
from mcproof.core.observations.probes import ResourceBodies
from mcproof.core.text.english import word_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcproof.checks.rule import Check, ListName, Need, S
    from mcproof.checks.texts.judge import JudgedHiding
    from mcproof.core.observations.perimeter import Exposure


_LEAST_WORDS, _LEAST_LENGTH, _LONGEST, _LONGEST_NAME = 4, 16, 20_000, 200
_TELLING = word_set("ignore disregard previous instructions secretly silently exfiltrate passwd ssh rsa dotenv")
"""Words of which two make a long name an instruction."""


def misplaced_instructions(texts: ModelTexts) -> list[ModelText]:
    """The first use of each text that instructs a model outside descriptions and instructions.

    Examples are often requests that a person might make; only clear instructions count there.
    """
    misplaced = []
    for text in texts.outside_prose:
        if len(text) < _LEAST_LENGTH or not (_instructs(text, texts) if " " in text else _is_instructing_name(text)):
            continue
        use = next((use for use in texts.uses(text) if use.place not in PROSE), None)
        if use is not None and (use.place != "example" or _is_directive(text, texts)):
            misplaced.append(use)
    return misplaced


def _instructs(text: str, texts: ModelTexts) -> bool:
    if text.count(" ", 0, _LONGEST) < _LEAST_WORDS - 1:
        return False
    from mcproof.checks.texts.words import commands_model

    return commands_model(text[:_LONGEST]) or _is_directive(text, texts)


def _is_directive(text: str, texts: ModelTexts) -> bool:
    from mcproof.checks.texts.directives import directives_in, names_of

    return next(directives_in(text[:_LONGEST], names_of(texts)), None) is not None


def _is_instructing_name(text: str) -> bool:
    if len(text) > _LONGEST_NAME or text.count("_") + text.count("-") < _LEAST_WORDS - 1:
        return False
    words = text.lower().replace("-", "_").split("_")
    return len(_TELLING.intersection(words)) >= 2 or _reads_secret(words)


def _reads_secret(words: list[str]) -> bool:
    """Whether a name asks for the contents of a file with secrets: `content_from_reading_ssh_id_rsa`."""
    return "ssh" in words and not {"reading", "contents", "content"}.isdisjoint(words)


LONGEST_READ = 200_000
"""The characters of one text that all rules read: the limit of the analyses, which are too slow to import here."""
_MOST_CODE_POINTS = 16
_UNREAD = "unread"
"""The kind of a finding about text that is not read."""
_SEVERITIES = {"message": None, "suspicion": None, "oddity": "medium"}
"""The severity of a problem by how certain it is; None is that of the rule."""


def _is_message(evidence: Mapping[str, Any], _exposure: Exposure) -> bool:
    """Whether the hidden text was decoded."""
    return bool(evidence.get("isMessage"))


def _title(evidence: Mapping[str, Any]) -> str | None:
    """The title of a finding about texts that no rule reads; None for hidden ones."""
    is_unread = evidence.get("kind") == _UNREAD
    return "Texts are beyond the limits of the rules, so part of them is not read" if is_unread else None


@trust_rule(
    ModelTexts,
    "TRU-101",
    name="hidden-characters",
    severity="critical",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    hard_fail=_is_message,
    in_lint=True,
    same_as="MP040",
    title_of=_title,
)
def hidden_characters(texts: ModelTexts) -> Iterator[Problem]:
    """A text has a part that a model reads and a person does not see.

    Reported are tag characters, zero-width characters, variation selectors used as bytes, direction controls, escape
    sequences, lookalike or styled letters in words, comments, hidden elements, and text beyond much whitespace. Every
    text that a model may read is searched. Not reported are emoji and flags, joiners in words of scripts that use them,
    direction marks in right-to-left text, a byte order mark at the start, words that are entirely in another script,
    and comments in code spans.

    A server with more texts than rules read, with longer ones, or with deeper nesting, is reported as well.

    The verdict is `block` if the hidden part decodes to words, or breaks a rule about instructions. The severity is
    medium if it may be an accident, such as a single zero-width space.

    Why: reviewers approve what they see; whole instructions can be hidden from them.
    Fix: delete the hidden part; if it came with copied text, retype the words. Shorten texts that are too long to read.

    OWASP MCP03; SAFE-T1402.
    """
    from mcproof.checks.texts.suspicious import hiding_suspects

    if texts.left_out:
        evidence: dict[str, Any] = {"kind": _UNREAD, "count": texts.left_out, "isMessage": False}
        noun = "text" if texts.left_out == 1 else "texts"
        yield Problem(f"has {texts.left_out:,} {noun} beyond the limits that no rule reads", evidence=evidence)
    for text in texts.distinct:
        if len(text) > LONGEST_READ:
            evidence = {"kind": _UNREAD, "count": len(text) - LONGEST_READ, "isMessage": False}
            message = f"a text has {len(text):,} characters, of which rules read {LONGEST_READ:,}"
            if (problem := problem_of_text(texts, text, message, evidence)) is not None:
                yield problem
    suspects = hiding_suspects(texts)
    if not suspects:
        return
    from mcproof.checks.texts.directives import names_of
    from mcproof.checks.texts.judge import hidings

    for text, hidings_of_text in hidings(suspects, names_of(texts)).items():
        for judgement in hidings_of_text:
            hidden = judgement.hidden
            evidence = {
                "kind": hidden.kind,
                "codePoints": [f"U+{ord(character):04X}" for character in hidden.characters[:_MOST_CODE_POINTS]],
                "count": len(hidden.characters),
                "decoded": escaped(hidden.decoded) if hidden.decoded else None,
                "isMessage": judgement.certainty == "message",
                "rule": judgement.rule or None,
            }
            problem = problem_of_text(texts, text, _message(judgement), evidence, _SEVERITIES[judgement.certainty])
            if problem is not None:
                yield problem


def _message(judged: JudgedHiding) -> str:
    hidden = judged.hidden
    if hidden.kind in ("comment", "hidden element", "whitespace"):
        article = {"comment": "in a comment", "hidden element": "in a hidden element", "whitespace": "after whitespace"}
        return f"hides text {article[hidden.kind]}: {quoted(hidden.decoded)}"
    characters = hidden.characters
    count = f"{len(characters)} from U+{ord(characters[0]):04X}" if characters else "of a terminal"
    if hidden.kind in ("lookalike letters", "styled letters"):
        return f"has words with {hidden.kind} ({count}), which read {quoted(hidden.decoded)}"
    if hidden.decoded:
        return f"hides text in {hidden.kind} ({count}): {quoted(hidden.decoded)}"
    return f"contains {hidden.kind} ({count})"


@trust_rule(
    ModelTexts,
    "TRU-102",
    name="encoded-instruction",
    severity="critical",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    hard_fail=_is_message,
    in_lint=True,
)
def encoded_instruction(texts: ModelTexts) -> Iterator[Problem]:
    """A text has an encoded part that, once decoded, instructs a model.

    Decoded are base64, base32, base85 and hexadecimal, also split, reversed, compressed or nested; character codes;
    escapes of HTML, URLs and strings; shifted, mirrored and reversed letters; digits for letters; spaced letters; Morse
    and Braille. Encoded examples that instruct nobody are not reported.

    The verdict is `block` if the decoded text breaks a rule about instructions, which the evidence names. The severity
    is medium if the decoded text is prose without a clear command.

    Why: models decode such text without being asked; reviewers and filters do not.
    Fix: write what is meant in plain words, or remove it.

    OWASP MCP03; SAFE-T1402.
    """
    from mcproof.checks.texts.suspicious import encoded_suspects

    suspects = encoded_suspects(texts)
    if not suspects:
        return
    from mcproof.checks.texts.directives import names_of
    from mcproof.checks.texts.judge import encodings

    for text, judgement in encodings(suspects, names_of(texts)).items():
        encoded = judgement.encoded
        evidence = {
            "encoding": encoded.encoding,
            "decoded": escaped(encoded.decoded),
            "isMessage": judgement.certainty == "message",
            "rule": judgement.rule or None,
        }
        message = f"has an encoded text ({encoded.encoding}), which reads {quoted(encoded.decoded)}"
        problem = problem_of_text(texts, text, message, evidence, _SEVERITIES[judgement.certainty])
        if problem is not None:
            yield problem


MOST_HITS = 100
"""How many hits the evidence of one finding has."""
_WORDS = {
    "markdown_dangerous_link": "a link that runs code",
    "html_element": "an HTML element that loads something",
    "non_https_url": "an address without encryption",
}


def _identity(evidence: dict[str, Any]) -> str:
    """All hits, in any order, so that a baseline does not hide a new one."""
    return "\0\0".join(sorted("\0".join(map(str, hit.values())) for hit in evidence["hits"]))


def _markup_rule(
    subject: type[S],
    id: str,
    name: str,
    *,
    needs: Need | None = None,
    reads: tuple[ListName, ...] = ("tools",),
    chosen: tuple[str, ...] = (),
) -> Callable[[Check[S]], Check[S]]:
    return trust_rule(
        subject,
        id,
        name=name,
        severity="medium",
        category="security",
        dimension="Tool surface risk",
        phase="post-handshake",
        weight=5,
        sums_up=_identity,
        needs=needs,
        reads=reads,
        chosen=chosen,
    )


@_markup_rule(Catalog, "no_description_injection", "description-markup")
def no_description_injection(catalog: Catalog) -> Iterator[Problem]:
    """The description of a tool has markup that acts when it is rendered, or an address without encryption.

    Reported are Markdown links to `javascript:` or `data:`, elements `script`, `img`, `iframe`, `svg`, `object` and
    `embed` with attributes or a script, and `http://`, `ftp://` and `ws://` addresses. Not reported are code spans,
    bare mentions such as `<img>`, and addresses that are not links: local and reserved hosts, placeholders, namespaces.

    Why: clients show descriptions in consent dialogs and chats; rendered markup runs or loads what the server chooses.
    Fix: write plain text; put examples of markup into code spans; use `https://`.

    OWASP MCP03.
    """
    hits = [
        {"toolName": tool.label, **hit} for tool in catalog.tools if tool.description for hit in _hits(tool.description)
    ]
    yield from _problem(hits, "toolName", "descriptions of tools")


@_markup_rule(
    Catalog,
    "no_resource_or_prompt_injection",
    "resource-or-prompt-markup",
    reads=("resources", "resourceTemplates", "prompts"),
)
def no_resource_or_prompt_injection(catalog: Catalog) -> Iterator[Problem]:
    """The description of a resource or prompt, or the name of a resource, has markup that acts when it is rendered.

    The same is reported as for the descriptions of tools; the descriptions of a prompt's arguments are read too.

    Why: clients list resources and prompts in menus; rendered markup runs or loads what the server chooses.
    Fix: write plain text; put examples of markup into code spans; use `https://`.

    OWASP MCP03.
    """
    hits = [
        {"source": item.kind, "identifier": item.label, **hit}
        for item in (*catalog.resources, *catalog.templates, *catalog.prompts)
        for text in _texts_of(item.fields, with_name=item.kind != "prompt")
        for hit in _hits(text)
    ]
    yield from _problem(hits, "identifier", "resources and prompts")


@_markup_rule(Catalog, "initialize_instructions_no_injection", "instructions-markup", needs="server")
def initialize_instructions_no_injection(catalog: Catalog) -> Iterator[Problem]:
    """The instructions of a server have markup that acts when it is rendered, or an address without encryption.

    The same is reported as for the descriptions of tools.

    Why: instructions become part of the model's system prompt, and clients show them.
    Fix: write plain text; put examples of markup into code spans; use `https://`.

    OWASP MCP03.
    """
    for key in ("initialize", "discover"):
        introduction = catalog.server.fields.get(key)
        text = introduction.get("instructions") if isinstance(introduction, dict) else None
        if isinstance(text, str):
            hits = list(_hits(text))
            yield from _problem(hits, None, "instructions of the server", f"/{key}/instructions")


@_markup_rule(
    ResourceBodies, "resource_contents_no_injection", "resource-contents-markup", chosen=("severity", "weight")
)
def resource_contents_no_injection(bodies: ResourceBodies) -> Iterator[Problem]:
    """The contents of a resource have markup that acts when it is rendered, or an address without encryption.

    Up to three resources are read, 8 KB of each. The same is reported as for the descriptions of tools. HTML pages are
    made of elements: only their links that run code are reported.

    Why: models and clients take contents of resources as context; markup in them runs or loads what the server chooses.
    Fix: serve plain text or Markdown without such markup; use `https://`.

    OWASP MCP03.
    """
    hits = [
        {"kind": hit["kind"], "uri": uri, "snippet": hit["snippet"]}
        for uri, text in bodies.bodies
        for hit in _hits(text)
        if not _is_html(text) or hit["kind"] == "markdown_dangerous_link"
    ]
    yield from _problem(hits, "uri", "contents of resources")


def _is_html(text: str) -> bool:
    return text.lstrip()[:15].lower().startswith(("<!doctype html", "<html", "<?xml", "<svg"))


def _texts_of(fields: dict[str, Any], *, with_name: bool) -> Iterator[str]:
    arguments = fields.get("arguments")
    described = [fields, *(arguments if isinstance(arguments, list) else ())]
    texts = [part.get("description") for part in described if isinstance(part, dict)]
    if with_name:
        texts.append(fields.get("name"))
    yield from (text for text in texts if isinstance(text, str))


def _hits(text: str) -> Iterator[dict[str, str]]:
    from mcproof.checks.texts.markup import dangerous_markup

    for markup in dangerous_markup(text):
        yield {"kind": markup.kind, "snippet": markup.snippet}


def _problem(hits: list[dict[str, str]], named_by: str | None, place: str, pointer: str = "") -> Iterable[Problem]:
    """One problem with all hits; its message has the first and the items concerned."""
    if not hits:
        return
    names = list(dict.fromkeys(hit[named_by] for hit in hits)) if named_by is not None else []
    named = ", ".join(f"`{name}`" for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    first = hits[0]
    message = f"{place} have {_WORDS[first['kind']]}: `{first['snippet']}`" + (f" in {named}" if named else "")
    yield Problem(message, pointer, evidence={"hits": hits[:MOST_HITS]})


@trust_rule(
    ModelTexts,
    "TRU-110",
    name="chat-markup",
    severity="medium",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    in_lint=True,
    same_as="MP041",
)
def chat_markup(texts: ModelTexts) -> Iterator[Problem]:
    """A text has markup of a chat template, such as `<|im_start|>`, `[INST]`, `<system>` or a role at a line's start.

    Not reported are code spans, and placeholders such as `<user>` in a path.

    Why: a model may take what follows for the words of its operator or user.
    Fix: delete the markup; put an example of it into a code span.

    OWASP MCP03; SAFE-T1001.
    """
    from mcproof.checks.texts.markup import chat_markup as found_markup

    for markup in found_markup(texts):
        message = f"has markup of a chat template: {quoted(markup.marker)}"
        problem = problem_of_text(texts, markup.text, message, {"marker": escaped(markup.marker)})
        if problem is not None:
            yield problem


@trust_rule(
    ModelTexts,
    "TRU-113",
    name="instruction-outside-description",
    severity="medium",
    category="security",
    dimension="Tool surface risk",
    phase="post-handshake",
    in_lint=True,
)
def instruction_outside_description(texts: ModelTexts) -> Iterator[Problem]:
    """A name, title, value, default, example or unknown key instructs the model.

    Read is everything of a catalog that is not a description or the server's instructions.

    Why: clients pass whole schemas to models; reviewers read the descriptions.
    Fix: describe the value in the description of its parameter; leave the model's behaviour to the client.

    OWASP MCP03; SAFE-T1001.
    """
    for use in misplaced_instructions(texts):
        message = f"instructs the model in {_article(use.place)}: {quoted(use.text)}"
        problem = problem_of_text(texts, use.text, message, {"text": escaped(use.text)})
        if problem is not None:
            yield problem


def _article(place: str) -> str:
    return f"an {place}" if place[0] in "aeiou" else f"a {place}"
