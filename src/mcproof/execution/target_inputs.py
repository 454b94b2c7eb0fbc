"""From target names to inputs and catalogs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mcproof.config.settings import DEFAULTS
from mcproof.core.errors import InputError, Notice, UsageError, nearest
from mcproof.core.protocol import REVISIONS
from mcproof.execution.events import MessageSent, NoticeRaised, ignore
from mcproof.execution.planning import resolve_target, shown_target
from mcproof.targets.arguments import Input, find_inputs, is_single, read_catalog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcproof.client.connect import ConnectOptions
    from mcproof.config.settings import Settings
    from mcproof.core.catalog.model import Catalog
    from mcproof.execution.events import Listener
    from mcproof.execution.run_requests import TargetSelection
    from mcproof.targets.arguments import SkippedFiles, Target


def inputs_of(
    names: Iterable[Target],
    targets: TargetSelection,
    *,
    command: str = "lint",
    skipped: SkippedFiles | None = None,
    as_one: bool = False,
) -> list[Input]:
    """The inputs behind some targets and documents; see `find_inputs`."""
    documents = [Input(each.name, data=each.data) for each in targets.documents]
    return [*find_inputs(names, targets.live, command=command, skipped=skipped, as_one=as_one), *documents]


def is_single_target(names: Iterable[Target], targets: TargetSelection, inputs: list[Input]) -> bool:
    """Whether the user names one target, as opposed to several or a folder of them."""
    if len(inputs) > 1 or any(source.folder for source in inputs):
        return False
    others = ["--"] * (bool(targets.live.command) + len(targets.documents))
    return not targets.live.all_configured and len([*names, *others]) == 1


def is_file(source: Input) -> bool:
    """Whether an input is a file or a folder, as opposed to standard input, a server or a document."""
    return not source.is_stdin and source.server is None and source.data is None


def connect_options(targets: TargetSelection, timeout: float | None) -> ConnectOptions:
    """How to connect to live servers, with the time limits of the request or else a configured one for responses."""
    from mcproof.client.connect import ConnectOptions
    from mcproof.client.connection import Limits

    refuse_unknown_protocol(targets.protocol)
    limits = Limits()
    timeout = targets.timeout if targets.timeout is not None else timeout
    if timeout is not None:
        limits = limits._replace(request=timeout, total=max(limits.total, 20 * timeout))
    if targets.start_timeout is not None:
        limits = limits._replace(start=targets.start_timeout)
    return ConnectOptions(limits, targets.protocol, targets.answers)


def refuse_unknown_protocol(revision: str | None) -> None:
    """Raise a UsageError if the user names a protocol revision that does not exist."""
    if revision is not None and revision not in REVISIONS:
        hint = nearest(revision, list(REVISIONS))
        raise UsageError(f"unknown protocol revision `{revision}`{hint}; there are {', '.join(REVISIONS)}")


def omissions(catalog: Catalog) -> list[Notice]:
    """What a source contains that its catalog does not."""
    if catalog.source is None:
        return []
    return [Notice("not-checked", what, file, line) for file, line, _, what in catalog.source.omissions]


def refuse_partial(catalog: Catalog) -> None:
    """Raise an InputError if a server did not serve all it declares: a part must not pass for the whole."""
    if catalog.missing is not None:
        raise InputError(f"not the whole catalog: {catalog.missing}", file=catalog.name)


def one_input(targets: TargetSelection, settings: Settings = DEFAULTS, listen: Listener = ignore) -> Input:
    """The only input behind some targets, whose names may come from the configuration.

    Raises an error if there are several, or if it cannot be read.
    """
    names = resolved_names(targets, settings, listen)
    for name in names:
        if isinstance(name, str) and name != "-" and os.path.isdir(name) and not is_single([name]):
            raise InputError("is a folder; name one catalog", file=name)
    inputs = inputs_of(names, targets, as_one=True)
    if len(inputs) != 1:
        listed = ", ".join(source.title for source in inputs)
        raise UsageError(f"expected one target, got {len(inputs)}: {listed}")
    (source,) = inputs
    if source.obstacle is not None:
        raise source.obstacle
    return source


def resolved_names(targets: TargetSelection, settings: Settings, listen: Listener) -> list[Target]:
    """The named targets, names from the configuration resolved."""
    return [_resolved(name, settings, listen) for name in targets.names]


def _resolved(name: str, settings: Settings, listen: Listener) -> Target:
    """A target by its name in the configuration, which is reported; or as it is."""
    target = resolve_target(name, settings)
    if target is not name:
        listen(MessageSent(f"{name}: {shown_target(target)} ({settings.locations[f'targets.{name}']})"))
    return target


def read_one(
    targets: TargetSelection,
    timeout: float | None,
    listen: Listener,
    *,
    settings: Settings = DEFAULTS,
    is_partial_allowed: bool = False,
) -> Catalog:
    """Read the catalog of exactly one target: a file, a document or a live server."""
    source = one_input(targets, settings, listen)
    if source.server is None:
        read = read_catalog(source, whole=True)
        for notice in omissions(read):
            listen(NoticeRaised(notice))
        return read
    from mcproof.targets.snapshots import LiveCatalogs

    catalog = LiveCatalogs([source], connect_options(targets, timeout), lambda *_: None).catalog(source)
    if catalog is None:
        raise KeyboardInterrupt
    if not is_partial_allowed:
        refuse_partial(catalog)
    return catalog


def catalog_text(catalog: Catalog) -> str:
    """The text of the catalog, without a JSON-RPC envelope; a bare list of tools becomes an object.

    Serialising the values again would lose what Python cannot represent, such as very large numbers.
    """
    document = catalog.document
    if catalog.server.raw:
        whole = catalog.server.pointer
    else:
        whole = catalog.tools[0].pointer.rpartition("/")[0].removesuffix("/tools")
    span = document.spans([whole])[whole]
    text = document.text[span.start : span.end]
    return f'{{"tools": {text}}}\n' if text.startswith("[") else f"{text}\n"
