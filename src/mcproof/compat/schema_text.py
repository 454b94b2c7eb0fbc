"""Edit a schema as text: remove, rename and set members, and write a definition where it is referenced.

Every edit leaves all other characters as they are. A definition is copied with its own formatting, indented like its
new place.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mcproof.core.text.json_document import Edit, JsonText, splice
from mcproof.core.text.json_positions import members_at

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcproof.core.text.json_document import RevisedText
    from mcproof.core.text.json_positions import Member, Pointer


class SchemaText:
    """A schema in a larger text: its revised text, its value, and the edits that change members."""

    def __init__(self, revised: RevisedText, lead: str) -> None:
        self.revised = revised
        self._lead = lead
        """The indentation of the line that the schema starts in."""
        self._document = JsonText.parse(revised.text, "")
        self.value: Any = self._document.value
        self.has_duplicate_keys = self._document.has_duplicate_keys

    @property
    def text(self) -> str:
        return self.revised.text

    def after(self, edits: Iterable[Edit]) -> SchemaText:
        """The schema after these edits."""
        return SchemaText(self.revised.revised(sorted(edits)), self._lead)

    def starts(self, pointers: Iterable[Pointer]) -> dict[Pointer, int]:
        """The offset of the value at each pointer."""
        return {pointer: span.start for pointer, span in self._document.spans(pointers).items()}

    def setting(self, pointer: Pointer, key: str, value: Any) -> list[Edit]:
        """The edits that set a member of the object at a pointer."""
        return self._document.member_edits([(pointer, key, value)])

    def replacing(self, start: int, key: str, value: Any) -> list[Edit]:
        """The edits that give a member of the object that starts here another value."""
        member = self._member(start, key)
        return [Edit(member.start, member.end, json.dumps(value, ensure_ascii=False))]

    def removing(self, start: int, keys: Collection[str]) -> list[Edit]:
        """The edits that remove members of the object that starts here."""
        members = members_at(self.text, start)
        edits: list[Edit] = []
        last_kept: Member | None = None
        first_gone: Member | None = None
        for member in members:
            if member.name in keys:
                first_gone = first_gone or member
                continue
            if first_gone is not None:
                edits.append(Edit(first_gone.key, member.key, ""))
            last_kept, first_gone = member, None
        if first_gone is not None:
            end = members[-1].end
            if last_kept is not None:
                edits.append(Edit(last_kept.end, end, ""))
            else:
                edits.append(Edit(start + 1, self.text.index("}", end), ""))
        return edits

    def enumerating(self, start: int, key: str, new_key: str) -> list[Edit]:
        """The edits that rename a member of the object that starts here and put its value into a list."""
        member = self._member(start, key)
        name = Edit(member.key, member.key_end, json.dumps(new_key))
        return [name, Edit(member.start, member.start, "["), Edit(member.end, member.end, "]")]

    def inlining(self, start: int, key: str, target: int) -> list[Edit]:
        """The edits that replace a member of the object that starts here with the members of the object at `target`.

        Members that both objects have keep the value they have here.
        """
        members = members_at(self.text, start)
        if len(members) == 1:
            copy = self._copied(target, self._end_of(target))
            return [Edit(start, self._end_of(start), _indented(copy, self._indent_at(target), self._indent_at(start)))]
        known = {member.name for member in members}
        kept = [member for member in members_at(self.text, target) if member.name not in known]
        if not kept:
            return self.removing(start, {key})
        member = self._member(start, key)
        copy = self._copied(kept[0].key, kept[-1].end, self.removing(target, known))
        return [
            Edit(member.key, member.end, _indented(copy, self._indent_at(kept[0].key), self._indent_at(member.key)))
        ]

    def _copied(self, start: int, end: int, removed: Iterable[Edit] = ()) -> str:
        inside = [Edit(edit.start - start, edit.end - start, "") for edit in removed if start <= edit.start < end]
        return splice(self.text[start:end], inside)

    def _member(self, start: int, key: str) -> Member:
        return next(member for member in members_at(self.text, start) if member.name == key)

    def _end_of(self, start: int) -> int:
        """The offset after the object that starts here."""
        members = members_at(self.text, start)
        return self.text.index("}", members[-1].end if members else start) + 1

    def _indent_at(self, offset: int) -> str:
        """The indentation of the line at an offset."""
        return indent_of(self.text, offset) if self.text.find("\n", 0, offset) >= 0 else self._lead


def indent_of(text: str, offset: int) -> str:
    """The indentation of the line at an offset."""
    line = text.rfind("\n", 0, offset) + 1
    end = line
    while end < offset and text[end] in " \t":
        end += 1
    return text[line:end]


def _indented(text: str, old: str, new: str) -> str:
    """A text with the indentation of its lines, except the first, moved; strings of JSON have no line ends."""
    first, *lines = text.split("\n")
    return "\n".join([first, *(f"{new}{line[len(old) :]}" if line.startswith(old) else line for line in lines)])
