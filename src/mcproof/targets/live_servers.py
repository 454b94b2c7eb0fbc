"""Read the catalogs of live servers, all at once; each is treated like a snapshot of its responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcproof.client.capture import Capture, OpenServer
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.errors import ConnectError
    from mcproof.core.catalog.model import Catalog
    from mcproof.core.errors import McproofError
    from mcproof.targets.argument import Input


class LiveCatalogs:
    """The catalogs of the live servers among some inputs."""

    def __init__(self, inputs: list[Input], options: ConnectOptions, progress: Callable[[int, str], None]) -> None:
        from mcproof.client.capture import capture_all

        sources = [each for each in inputs if each.server is not None]
        done = 0

        def count(_: object) -> None:
            nonlocal done
            done += 1
            progress(done, f"of {len(sources)} servers have answered")

        results, self.interrupted = capture_all([each.server for each in sources if each.server], options, count)
        self._results: dict[str, Capture | ConnectError | None] = {
            each.name: result for each, result in zip(sources, results, strict=True)
        }

    def catalog(self, source: Input) -> Catalog | None:
        """The catalog of a server; None if the run was interrupted first. Raises the error that prevented it."""
        from mcproof.core.errors import McproofError

        result = self._results[source.name]
        if result is None:
            return None
        if isinstance(result, McproofError):
            raise _placed(result, source)
        return captured_catalog(result, source)


def listed_catalog(server: OpenServer, source: Input) -> Catalog:
    """The catalog of a server that stays open for calls. Raises ConnectError and KeyboardInterrupt."""
    from mcproof.client.errors import ConnectError

    try:
        return captured_catalog(server.capture(), source)
    except ConnectError as error:
        raise _placed(error, source) from None


def captured_catalog(capture: Capture, source: Input) -> Catalog:
    """The catalog of a capture that was just made."""
    from mcproof.targets.snapshot import read_snapshot

    catalog = read_snapshot(capture.text.encode("utf-8", "surrogatepass"), source.title)
    catalog.connection, catalog.origin = capture.connection, source.origin
    return catalog


def _placed(error: McproofError, source: Input) -> McproofError:
    """An error of a configured server at the line that names it; other servers are named by their error."""
    origin = source.origin
    if origin is None or origin.line is None:
        return error
    name = source.name.removeprefix(f"{origin.file}#")
    return type(error)(f"server `{name}`: {error.message}", file=origin.file, line=origin.line)
