"""UTF-8 files: decode them, with the position of what is invalid."""

from __future__ import annotations

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class NotUtf8Error(ValueError):
    """Bytes that are not UTF-8, with the line and column of the first invalid one."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def decode_utf8(data: bytes) -> str:
    """Decode a file; a byte order mark is accepted and removed. Raises NotUtf8Error."""
    if data.startswith(_UTF_16_MARKS):
        raise NotUtf8Error("not UTF-8: this is UTF-16; save it as UTF-8", 1, 1)
    data = data.removeprefix(BYTE_ORDER_MARK)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        message = f"not UTF-8: invalid byte 0x{data[error.start]:02x} (a binary file?)"
        raise NotUtf8Error(message, line, column) from None
