"""The faults of `contract.py`, each in one place, and what must be found in each.

The argument `fires` of a class names the rules that must find something, and nothing else may; without it the server
only looks faulty, and everything must stay silent. A fault that exists in one era or in one transport says so. What a
fault does with a call it does with that of one tool, mostly `find_book`, so that the others show that nothing else is
blamed.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from servers.library import (
    BAD_PARAMS,
    BAD_REQUEST,
    NEVER,
    NO_METHOD,
    NO_RESOURCE,
    SCHEMAS,
    Library,
    RefusalError,
    Reply,
    text_result,
    violations,
)

if TYPE_CHECKING:
    from email.message import Message

    from servers.library import Violation

HUGE = 100_000
"""More characters than anybody means."""

FAULTS: dict[str, type[Broken]] = {}


def die() -> NoReturn:
    """End as a server does that nobody caught."""
    sys.stderr.write("library: the catalogue is gone\n")
    sys.stderr.flush()
    os._exit(3)


class Broken(Library):
    """A server with a name; the arguments of its class are its attributes."""

    fires: ClassVar[tuple[str, ...]] = ()
    era: ClassVar[str | None] = None
    """The one era in which it is a fault."""
    transport: ClassVar[str | None] = None
    """The one transport in which it is a fault."""
    tool: ClassVar[str] = "find_book"
    """The tool whose calls go wrong."""

    def __init_subclass__(cls, fault: str | None = None, fires: str = "", **attributes: Any) -> None:
        super().__init_subclass__()
        cls.fires = tuple(fires.split())
        for name, value in attributes.items():
            setattr(cls, name, value)
        if fault is not None:
            FAULTS[fault] = cls


class Good(Broken, fault="good"):
    """Keeps to everything that it promises."""


# Unknown tools.


class UnknownToolResult(Broken, fault="unknown-tool-result", fires="WIR-011"):
    """Answers the call of a tool that it does not have with an ordinary result."""

    def unknown_tool(self, name: str) -> Any:
        return text_result("Done")


class UnknownToolText(Broken, fault="unknown-tool-text", fires="WIR-011"):
    """Says that there is no such tool, as a success."""

    def unknown_tool(self, name: str) -> Any:
        return text_result("Error: no such tool")


class UnknownToolIsError(Broken, fault="looks-lenient-unknown-tool"):
    """Refuses an unknown tool as most servers do: with a result that is an error."""

    def unknown_tool(self, name: str) -> Any:
        return text_result("Unknown tool", isError=True)


# Promises of a schema that are not kept.


class Accepts(Broken):
    """Does not check one keyword, in one tool."""

    keyword: ClassVar[str]
    below: ClassVar[str] = "/"
    """The place in the arguments from which on it is not checked."""

    def found(self, name: str, arguments: dict[str, Any]) -> list[Violation]:
        return [each for each in super().found(name, arguments) if not self.is_missed(name, each)]

    def is_missed(self, name: str, violation: Violation) -> bool:
        is_here = violation.pointer.startswith(self.below)
        return name == self.tool and violation.keyword == self.keyword and is_here


class AcceptsMissing(Accepts, fault="accepts-missing", fires="WIR-012", keyword="required"):
    """Takes a call without its required argument."""


class AcceptsWrongType(Accepts, fault="accepts-wrong-type", fires="WIR-013", keyword="type"):
    """Takes an argument of any type."""


class AcceptsExtra(Accepts, fault="accepts-extra", fires="WIR-014", keyword="additionalProperties"):
    """Takes arguments that a closed schema does not know."""


class AcceptsOversized(Accepts, fault="accepts-oversized", fires="WIR-015", keyword="maxLength"):
    """Takes a text that is longer than its bound."""


class AcceptsTooMuch(Accepts, fault="accepts-above-maximum", fires="WIR-016", keyword="maximum"):
    """Takes a number above its bound."""


class AcceptsEmpty(Accepts, fault="accepts-below-min-length", fires="WIR-016", keyword="minLength"):
    """Takes an empty text where one character is asked for."""


class OnShelves(Accepts, tool="list_shelves"):
    """Does not check one keyword in the tool that has nested arguments."""


class AcceptsOther(OnShelves, fault="accepts-outside-enum", fires="WIR-016", keyword="enum"):
    """Takes a value that is not in the list of those allowed."""


class AcceptsMany(OnShelves, fault="accepts-too-many-items", fires="WIR-015", keyword="maxItems"):
    """Takes a list that is longer than its bound."""


class AcceptsNestedMissing(
    OnShelves, fault="accepts-nested-missing", fires="WIR-012", keyword="required", below="/near/"
):
    """Takes an object without its required member, inside the arguments."""


class AcceptsNestedType(OnShelves, fault="accepts-nested-wrong-type", fires="WIR-013", keyword="type", below="/near/"):
    """Takes a member of any type, inside the arguments."""


class AcceptsNestedExtra(
    OnShelves, fault="accepts-nested-extra", fires="WIR-014", keyword="additionalProperties", below="/near/"
):
    """Takes a member that a closed schema does not know, inside the arguments."""


class AcceptsNestedMaximum(
    OnShelves, fault="accepts-nested-above-maximum", fires="WIR-016", keyword="maximum", below="/near/"
):
    """Takes a number above its bound, inside the arguments."""


class AcceptsItemType(OnShelves, fault="accepts-item-wrong-type", fires="WIR-013", keyword="type", below="/tags/"):
    """Takes items of any type."""


class AcceptsItemOversized(
    OnShelves, fault="accepts-item-oversized", fires="WIR-015", keyword="maxLength", below="/tags/"
):
    """Takes an item that is longer than its bound."""


# Calls that end the server, or are never answered.


class OnCall(Broken):
    """Does something else than answer, on one kind of call."""

    on: ClassVar[str]
    """A keyword that the arguments violate; or `valid`, `huge` for a huge text, `unknown` for an unknown tool."""

    def request(self, message: dict[str, Any], headers: Message | None = None) -> Reply:
        reply = super().request(message, headers)
        if message["method"] == "tools/call" and self.is_hit(message["params"]):
            return self.react(message, reply)
        return reply

    def is_hit(self, params: dict[str, Any]) -> bool:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return False
        if self.on == "unknown":
            return name not in SCHEMAS
        return name == self.tool and self.on in occasions(name, arguments)

    def react(self, message: dict[str, Any], reply: Reply) -> Reply:
        """What to do instead of this reply."""
        raise NotImplementedError


def occasions(name: str, arguments: dict[str, Any]) -> set[str]:
    """What there is to say of a call; a huge text is that and nothing else."""
    if any(isinstance(value, str) and len(value) > HUGE for value in arguments.values()):
        return {"huge"}
    return {each.keyword for each in violations(SCHEMAS[name], arguments)} or {"valid"}


class Crash(OnCall):
    """Dies instead of an answer."""

    def react(self, message: dict[str, Any], reply: Reply) -> Reply:
        die()


class CrashOnMissing(Crash, fault="crash-on-missing", fires="WIR-017", on="required"):
    """Dies of a call without its required argument."""


class CrashOnWrongType(Crash, fault="crash-on-wrong-type", fires="WIR-017", on="type"):
    """Dies of an argument of the wrong type."""


class CrashOnExtra(Crash, fault="crash-on-extra", fires="WIR-017", on="additionalProperties"):
    """Dies of an argument that it does not know."""


class CrashOnHuge(Crash, fault="crash-on-oversized", fires="WIR-017", on="huge"):
    """Dies of a huge text; one that is just too long is refused."""


class CrashOnUnknown(Crash, fault="crash-on-unknown-tool", fires="WIR-017", on="unknown"):
    """Dies of a tool that it does not have."""


class CrashOnValid(Crash, fault="crash-on-valid", fires="WIR-017", on="valid"):
    """Dies of a valid call."""


class CrashAfter(OnCall, fault="crash-after-answer", fires="WIR-017", on="type"):
    """Refuses an argument of the wrong type, and dies at once."""

    after: ClassVar[float] = 0

    def react(self, message: dict[str, Any], reply: Reply) -> Reply:
        return reply._replace(dies_after=self.after)


class CrashSoonAfter(CrashAfter, fault="crash-soon-after-answer", fires="WIR-017", on="type", after=0.05):
    """Refuses an argument of the wrong type, and dies a moment later, when something else may have been asked."""


class CrashRegularly(Broken, fault="crash-every-20th-call", fires="WIR-017"):
    """Dies of every twentieth call, whatever it is."""

    calls = 0

    def called(self, params: dict[str, Any]) -> Any:
        self.calls += 1
        return die() if self.calls == 20 else super().called(params)


class CrashOnBoth(Broken, fault="crash-on-x-and-limit", fires="WIR-017"):
    """Dies of a valid call with an "x" in its query and a limit above 40: two things that have to meet."""

    def perform(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if "x" in arguments.get("query", "") and arguments.get("limit", 0) > 40:
            die()
        return super().perform(name, arguments)


class Hang(OnCall):
    """Never answers, but goes on with the next request."""

    def react(self, message: dict[str, Any], reply: Reply) -> Reply:
        return NEVER


class HangOnMissing(Hang, fault="hang-on-missing", fires="WIR-018", on="required"):
    """Never answers a call without its required argument."""


class HangOnWrongType(Hang, fault="hang-on-wrong-type", fires="WIR-018", on="type"):
    """Never answers an argument of the wrong type."""


class HangOnExtra(Hang, fault="hang-on-extra", fires="WIR-018", on="additionalProperties"):
    """Never answers an argument that it does not know."""


class HangOnHuge(Hang, fault="hang-on-oversized", fires="WIR-018", on="huge"):
    """Never answers a huge text."""


class HangOnUnknown(Hang, fault="hang-on-unknown-tool", fires="WIR-018", on="unknown"):
    """Never answers the call of a tool that it does not have."""


class HangOnValid(Hang, fault="hang-on-valid", fires="WIR-018", on="valid"):
    """Never answers a valid call."""


class Deaf(OnCall):
    """Never answers anything again; it still ends when its input is closed."""

    is_deaf = False

    def react(self, message: dict[str, Any], reply: Reply) -> Reply:
        self.is_deaf = True
        return NEVER

    def receive(self, data: bytes, headers: Message | None = None) -> Reply:
        return NEVER if self.is_deaf else super().receive(data, headers)


class DeafAfterMissing(Deaf, fault="deaf-after-missing", fires="WIR-018", on="required"):
    """Answers nothing any more after a call without its required argument."""


class DeafAfterWrongType(Deaf, fault="deaf-after-wrong-type", fires="WIR-018", on="type"):
    """Answers nothing any more after an argument of the wrong type."""


class DeafAfterHuge(Deaf, fault="deaf-after-oversized", fires="WIR-018", on="huge"):
    """Answers nothing any more after a huge text."""


class DeafAfterUnknown(Deaf, fault="deaf-after-unknown-tool", fires="WIR-018", on="unknown"):
    """Answers nothing any more after the call of a tool that it does not have."""


class DeafAfterValid(Deaf, fault="deaf-after-valid", fires="WIR-018", on="valid"):
    """Answers nothing any more after a valid call."""


# Answers that are no JSON-RPC.


class Malformed(OnCall, on="valid"):
    """Answers a valid call with another envelope."""

    def react(self, message: dict[str, Any], reply: Reply) -> Reply:
        return reply._replace(body=json.dumps(self.changed(json.loads(reply.body))).encode())

    def changed(self, envelope: dict[str, Any]) -> Any:
        raise NotImplementedError


class ResultAndError(Malformed, fault="result-and-error", fires="WIR-019"):
    """Answers with a result and an error."""

    def changed(self, envelope: dict[str, Any]) -> Any:
        return {**envelope, "error": {"code": 1, "message": "half done"}}


class NeitherResultNorError(Malformed, fault="neither-result-nor-error", fires="WIR-019"):
    """Answers with neither a result nor an error."""

    def changed(self, envelope: dict[str, Any]) -> Any:
        return {"jsonrpc": "2.0", "id": envelope["id"]}


class NoVersion(Malformed, fault="no-jsonrpc", fires="WIR-019"):
    """Answers without `jsonrpc`."""

    def changed(self, envelope: dict[str, Any]) -> Any:
        return {"id": envelope["id"], "result": envelope["result"]}


class ListResult(Malformed, fault="result-is-array", fires="WIR-019"):
    """Answers with a list as the result."""

    def changed(self, envelope: dict[str, Any]) -> Any:
        return {**envelope, "result": envelope["result"]["content"]}


class NoCode(Malformed, fault="error-without-code", fires="WIR-019"):
    """Answers with an error that has no code."""

    def changed(self, envelope: dict[str, Any]) -> Any:
        return {"jsonrpc": "2.0", "id": envelope["id"], "error": {"message": "no books"}}


class WrongId(Malformed, fault="wrong-id", fires="WIR-019"):
    """Answers with an id that nobody has used."""

    def changed(self, envelope: dict[str, Any]) -> Any:
        return {**envelope, "id": 4711}


class Bytes(OnCall, on="valid"):
    """Answers a valid call with something that is no envelope."""

    body: ClassVar[bytes]

    def react(self, message: dict[str, Any], reply: Reply) -> Reply:
        return reply._replace(body=self.body)


class NotJson(Bytes, fault="answer-not-json", fires="WIR-019", body=b"oops"):
    """Answers with a word."""


class HalfJson(Bytes, fault="answer-half-json", fires="WIR-019", body=b'{"jsonrpc": "2.0", "id": 7, "resul'):
    """Answers with the first half of an envelope."""


class ServerError(Bytes, fault="http-500", fires="WIR-019", transport="http", body=b"<html><h1>Oops</h1></html>"):
    """Answers with the error page of a web server."""

    def react(self, message: dict[str, Any], reply: Reply) -> Reply:
        return Reply(self.body, 500, "text/html")


class PlainText(Bytes, fault="http-plain-text", fires="WIR-019", transport="http", body=b"The library is closed."):
    """Answers with a plain text."""

    def react(self, message: dict[str, Any], reply: Reply) -> Reply:
        return Reply(self.body, 200, "text/plain")


class WrongKind(OnCall, fault="http-wrong-content-type", fires="WIR-019", transport="http", on="valid"):
    """Answers with a good envelope that is said to be plain text."""

    def react(self, message: dict[str, Any], reply: Reply) -> Reply:
        return reply._replace(kind="text/plain")


# Results that are not what the revision, or the tool, promises.


class Answers(Broken):
    """Answers a valid call with another result."""

    def perform(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = super().perform(name, arguments)
        return self.changed(result) if name == self.tool else result

    def changed(self, result: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


class StructuredInvalid(Answers, fault="structured-invalid", fires="WIR-020"):
    """Answers with structured content that breaks the tool's own schema."""

    def changed(self, result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "structuredContent": {"titles": ["The Name of the Rose"], "total": "one"}}


class StructuredArray(Answers, fault="structured-array", fires="WIR-020"):
    """Answers with a list as structured content where an object is promised."""

    def changed(self, result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "structuredContent": ["The Name of the Rose"]}


class StructuredMissing(Answers, fault="structured-missing", fires="WIR-021"):
    """Answers without the structured content that is promised."""

    def changed(self, result: dict[str, Any]) -> dict[str, Any]:
        return {"content": result["content"]}


class StructuredNotNeeded(Answers, fault="looks-structured-missing"):
    """Answers with an error, which needs no structured content."""

    def changed(self, result: dict[str, Any]) -> dict[str, Any]:
        return text_result("The library is closed", isError=True)


class ContentMissing(Answers, fault="content-missing", fires="WIR-022", tool="list_shelves"):
    """Answers without content."""

    def changed(self, result: dict[str, Any]) -> dict[str, Any]:
        return {}


class ContentText(Answers, fault="content-is-text", fires="WIR-022", tool="list_shelves"):
    """Answers with a text where a list of blocks belongs."""

    def changed(self, result: dict[str, Any]) -> dict[str, Any]:
        return {"content": "Shelves 3 and 4"}


class Blocks(Answers, tool="list_shelves"):
    """Answers with other content blocks."""

    blocks: ClassVar[tuple[Any, ...]]

    def changed(self, result: dict[str, Any]) -> dict[str, Any]:
        return {"content": list(self.blocks)}


TEXT = {"type": "text", "text": "Shelves 3 and 4"}
IMAGE = {"type": "image", "data": "R0lGODlhAQABAAAAACw=", "mimeType": "image/gif"}
AUDIO = {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}
RESOURCE = {"type": "resource", "resource": {"uri": "library://hours", "mimeType": "text/plain", "text": "9 to 5"}}
LINK = {"type": "resource_link", "uri": "library://hours", "name": "hours"}


class UnknownBlock(
    Blocks, fault="block-of-unknown-type", fires="WIR-022", blocks=(TEXT, {"type": "hologram", "data": "R0lG"})
):
    """Answers with a block of a type that does not exist."""


class BlockWithoutType(Blocks, fault="block-without-type", fires="WIR-022", blocks=({"text": "Shelves 3 and 4"},)):
    """Answers with a block that has no type."""


class BareText(Blocks, fault="block-is-text", fires="WIR-022", blocks=("Shelves 3 and 4",)):
    """Answers with a text where a block belongs."""


class TextWithoutText(Blocks, fault="text-without-text", fires="WIR-022", blocks=({"type": "text"},)):
    """Answers with a text block that has no text."""


class ImageWithoutData(
    Blocks, fault="image-without-data", fires="WIR-022", blocks=({"type": "image", "mimeType": "image/gif"},)
):
    """Answers with an invalid image."""


class ImageWithoutKind(
    Blocks, fault="image-without-mime-type", fires="WIR-022", blocks=({"type": "image", "data": "R0lG"},)
):
    """Answers with an image of no kind."""


class EarlyLink(
    Blocks,
    fault="resource-link-in-2025-03-26",
    fires="WIR-022",
    era="handshake",
    revisions=("2025-03-26", "2024-11-05"),
    blocks=(TEXT, LINK),
):
    """Answers with a link, which revision 2025-03-26 does not have."""


class EarlyAudio(
    Blocks,
    fault="audio-in-2024-11-05",
    fires="WIR-022",
    era="handshake",
    revisions=("2024-11-05",),
    blocks=(TEXT, AUDIO),
):
    """Answers with a sound, which revision 2024-11-05 does not have."""


class AllBlocks(Blocks, fault="looks-odd-blocks", blocks=(TEXT, IMAGE, AUDIO, RESOURCE, LINK)):
    """Answers with every type of block that the newer revisions have."""


class AudioInTime(
    Blocks, fault="looks-odd-audio", era="handshake", revisions=("2025-03-26", "2024-11-05"), blocks=(TEXT, AUDIO)
):
    """Answers with a sound in the first revision that has it."""


class NoBlocks(Blocks, fault="looks-empty-content", blocks=()):
    """Answers with no block at all, which is allowed."""


class NoResultType(Malformed, fault="result-type-missing", fires="WIR-022", era="stateless"):
    """Answers without saying what type of result it is."""

    def changed(self, envelope: dict[str, Any]) -> Any:
        return {**envelope, "result": {key: each for key, each in envelope["result"].items() if key != "resultType"}}


class TextFlag(Answers, fault="is-error-text-false", fires="WIR-022"):
    """Answers a valid call with `isError` as a text."""

    def changed(self, result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "isError": "false"}


class TextFlagOfRejection(Broken, fault="is-error-text-true", fires="WIR-022"):
    """Refuses bad arguments with `isError` as a text."""

    def rejection(self, name: str, arguments: dict[str, Any], found: list[Violation]) -> dict[str, Any]:
        result = super().rejection(name, arguments, found)
        return {**result, "isError": "true"} if name == self.tool else result


# Errors that are called a success.


class Says(Answers, tool="list_shelves"):
    """Answers a valid call with another text."""

    says: ClassVar[str]

    def changed(self, result: dict[str, Any]) -> dict[str, Any]:
        return text_result(self.says)


class SaysError(Says, fault="says-error", fires="WIR-023", says="Error: database is locked"):
    """Says that it failed."""


class SaysJsonError(Says, fault="says-json-error", fires="WIR-023", says='{"error": "database is locked"}'):
    """Says that it failed, in JSON."""


class SaysStatusError(
    Says, fault="says-status-error", fires="WIR-023", says='{"status": "error", "message": "database is locked"}'
):
    """Says that it failed, in JSON with a status."""


PYTHON_TRACE = """Traceback (most recent call last):
  File "/srv/app/library/db.py", line 42, in find
    row = self.rows[query]
KeyError: 'query'"""
NODE_TRACE = """TypeError: Cannot read properties of undefined (reading 'query')
    at findBook (/srv/app/dist/library/db.js:42:17)
    at processTicksAndRejections (node:internal/process/task_queues:95:5)"""


class SaysTraceback(Says, fault="says-traceback", fires="WIR-023 WIR-024", says=PYTHON_TRACE):
    """Says where it failed, as a success."""


class SaysGuide(Says, fault="looks-like-error-title", says="Error handling in Python: a guide"):
    """Names a book about errors."""


class SaysNoErrors(Says, fault="looks-like-error-none", says="No errors found"):
    """Says that nothing failed."""


class SaysEmptyErrors(Says, fault="looks-like-error-list", says='{"errors": [], "shelves": [3, 4]}'):
    """Says that nothing failed, in JSON."""


class SaysNullError(Says, fault="looks-like-error-null", says='{"status": "ok", "error": null, "shelves": [3, 4]}'):
    """Says that nothing failed, in JSON with a status."""


# Errors that say too much.


class Explains(Broken):
    """Refuses bad arguments with another text."""

    says: ClassVar[str]

    def rejection(self, name: str, arguments: dict[str, Any], found: list[Violation]) -> dict[str, Any]:
        result = super().rejection(name, arguments, found)
        return text_result(self.explanation(arguments), isError=True) if name == self.tool else result

    def explanation(self, arguments: dict[str, Any]) -> str:
        return self.says


class LeaksTraceback(Explains, fault="leaks-python-traceback", fires="WIR-024", says=PYTHON_TRACE):
    """Shows where in its source it failed."""


class LeaksNodeTrace(Explains, fault="leaks-node-trace", fires="WIR-024", says=NODE_TRACE):
    """Shows where in its source it failed, as Node does."""


class LeaksPath(
    Explains, fault="leaks-path", fires="WIR-024", says="Invalid arguments in /srv/app/library/db.py line 42"
):
    """Names a file of its source."""


class LeaksToken(
    Explains,
    fault="leaks-token",
    fires="WIR-024",
    says="Invalid arguments for the key ghp_" + "k3Vd9QzLm2Xw7RtYb5Nc8HsJf4Gp6TaEu1Wo",
):
    """Shows a key that it uses."""


class LeaksInError(Broken, fault="leaks-in-protocol-error", fires="WIR-024"):
    """Shows where in its source it failed, in an error of JSON-RPC."""

    def rejection(self, name: str, arguments: dict[str, Any], found: list[Violation]) -> dict[str, Any]:
        if name == self.tool:
            raise RefusalError(BAD_PARAMS, PYTHON_TRACE)
        return super().rejection(name, arguments, found)


class Repeats(Explains, fault="looks-like-leak-repeats"):
    """Repeats what it was sent: a path, a key or a hash of the client's own is no secret."""

    def explanation(self, arguments: dict[str, Any]) -> str:
        return f"Invalid arguments: {json.dumps(arguments, ensure_ascii=False)[:10_000]}"


class NamesRequest(
    Explains, fault="looks-like-leak-uuid", says="Invalid arguments (request 0b9a5c1e-3f64-4f0e-9a53-6f1d2c7b8e90)"
):
    """Names the request by a number that is no secret."""


class NamesDocs(
    Explains, fault="looks-like-leak-url", says="Invalid arguments, see https://example.com/docs/errors.py"
):
    """Names a page of its documentation."""


# The protocol.


class AnswersUnknown(Broken, fault="unknown-method-result", fires="WIR-025"):
    """Answers any method with a result."""

    def unknown_method(self, method: str) -> Any:
        return {}


class IgnoresUnknown(Broken, fault="unknown-method-ignored", fires="WIR-018"):
    """Never answers a method that it does not know."""

    def reply(self, number: Any, outcome: dict[str, Any] | RefusalError) -> Reply:
        is_unknown = isinstance(outcome, RefusalError) and outcome.code == NO_METHOD
        return NEVER if is_unknown else super().reply(number, outcome)


class DiesOfNotJson(Broken, fault="not-json-ends", fires="WIR-026"):
    """Dies of a line that is not JSON."""

    def not_json(self) -> Reply:
        die()


class SwallowsAfterNotJson(Broken, fault="not-json-swallows-next", fires="WIR-026"):
    """Answers a line that is not JSON, and never what comes next."""

    swallows = False

    def not_json(self) -> Reply:
        self.swallows = True
        return super().not_json()

    def request(self, message: dict[str, Any], headers: Message | None = None) -> Reply:
        if self.swallows:
            self.swallows = False
            return NEVER
        return super().request(message, headers)


class DiesOfList(Broken, fault="not-json-but-list-ends", fires="WIR-026"):
    """Takes every message for an object."""

    def checked(self, message: Any) -> dict[str, Any]:
        if not isinstance(message, dict):
            die()
        return super().checked(message)


class DemandsArguments(Broken, fault="ping-served-arguments-demanded", fires="WIR-037"):
    """Refuses a call without `arguments`, which the protocol allows."""

    def result(self, method: str, params: dict[str, Any]) -> Any:
        if method == "tools/call" and "arguments" not in params:
            return text_result("arguments: Required", isError=True)
        return super().result(method, params)


class HasNoPing(Broken, fault="ping-refused", fires="WIR-035", era="handshake"):
    """Knows no ping."""

    def result(self, method: str, params: dict[str, Any]) -> Any:
        return self.unknown_method(method) if method == "ping" else super().result(method, params)


class ReturnsNoValue(Broken, fault="says-nan", fires="WIR-034"):
    """Answers each valid call of one tool with a number that does not exist."""

    def called(self, params: dict[str, Any]) -> Any:
        result = super().called(params)
        is_success = params.get("name") == self.tool and not result.get("isError")
        return {**result, "content": [{"type": "text", "text": "NaN"}]} if is_success else result


class IgnoresNotJson(Broken, fault="looks-deaf-to-not-json"):
    """Says nothing about a line that is not JSON, and goes on; over HTTP the status says it."""

    def not_json(self) -> Reply:
        return Reply(b"", 400)


class EchoesVersion(Broken, fault="version-echoed", fires="WIR-027", era="handshake"):
    """Agrees to any revision."""

    def speaks(self, revision: str) -> bool:
        return True


class RefusesVersion(Broken, fault="version-refused", fires="WIR-027", era="handshake"):
    """Answers an unknown revision with an error, and not with its own."""

    def other_revision(self, asked: str) -> str:
        raise RefusalError(BAD_PARAMS, "Unsupported protocol version")


class TakesVersion(Broken, fault="version-accepted", fires="WIR-027", era="stateless"):
    """Answers requests of any revision."""

    def speaks(self, revision: str) -> bool:
        return True


class RefusesVersionOddly(Broken, fault="version-wrong-code", fires="WIR-031", era="stateless"):
    """Refuses an unknown revision with a code that means something else."""

    def unsupported(self, revision: str) -> RefusalError:
        return RefusalError(BAD_REQUEST, "Unsupported protocol version")


class Pages(Broken, fault="looks-lenient-pages"):
    """Lists one item on each page, and refuses cursors that it never issued."""

    def listed(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        [(key, items)] = super().listed(method, {}).items()
        pages: dict[Any, int] = {None: 0, **{f"page {number}": number for number in range(1, len(items))}}
        cursor = params.get("cursor")
        if cursor not in pages:
            self.bad_cursor()
        number = pages.get(cursor, 0)
        following = {"nextCursor": f"page {number + 1}"} if number + 1 < len(items) else {}
        return {key: items[number : number + 1], **following}


class TakesCursor(Pages, fault="bad-cursor-accepted", fires="WIR-028"):
    """Returns the first page for any cursor that it never issued."""

    def bad_cursor(self) -> None:
        pass


class IgnoresCursor(Broken, fault="looks-lenient-cursor"):
    """Has one page, and returns it for any cursor, as SDKs do."""

    def bad_cursor(self) -> None:
        pass


class TakesPrompt(Broken, fault="unknown-prompt-result", fires="WIR-029"):
    """Has an answer to any prompt."""

    def unknown_prompt(self, name: Any) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "Recommend a book."}}]}


class TakesResource(Broken, fault="unknown-resource-contents", fires="WIR-030"):
    """Has contents for any resource."""

    def unknown_resource(self, uri: Any) -> dict[str, Any]:
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "not found"}]}


class EmptyResource(Broken, fault="unknown-resource-empty", fires="WIR-030"):
    """Answers any resource without contents."""

    def unknown_resource(self, uri: Any) -> dict[str, Any]:
        return {"contents": []}


class OldResourceCode(Broken, fault="unknown-resource-old-code", fires="WIR-031", era="stateless"):
    """Refuses an unknown resource with the code of the older era."""

    def unknown_resource(self, uri: Any) -> dict[str, Any]:
        raise RefusalError(NO_RESOURCE, "Resource not found", {"uri": uri})
