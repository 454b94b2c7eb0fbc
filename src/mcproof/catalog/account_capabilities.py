"""Capabilities that affect accounts, data and people: credentials, rights, deletion, messages, money."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcproof.catalog import capability_words as known
from mcproof.catalog.capability_matches import (
    ActPattern,
    CapabilityMatch,
    by_act,
    by_parameter,
    by_patterns,
    by_word,
    effects,
    parameters_with,
)
from mcproof.core.text.english import word_set, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcproof.catalog.tool_acts import Act, ToolText

_READ_ONLY = re.compile(r"(?<!not )(?<!non-)\bread[- ]?only\b|\bselect\b(?! an?\b)", re.IGNORECASE)
_WRITING_SQL = re.compile(r"\b(?:INSERT|UPDATE|DELETE|DROP|ALTER|TRUNCATE)\b|\b(?:DDL|DML|write quer)", re.IGNORECASE)


# Credentials


def access_credentials(text: ToolText) -> Iterator[CapabilityMatch]:
    """Secrets that a tool returns, issues or stores, or takes to log in."""
    named = text.name_act
    for act in text.acts:
        if act.source != "name" and named is not None and named.verb not in known.ACCESSING:
            continue
        secret = _secret_in(act, text)
        if secret and act.verb in known.ACCESSING and not (act.verb == "generate" and "password" in secret):
            yield by_act("access_credentials", act, secret)
        if act.verb in known.LOGGING_IN or (act.verb == "log" and act.words[:1] == ("in",)):
            for name in parameters_with(text, known.SECRET_PARAMETERS):
                yield by_parameter("access_credentials", name, "takes a secret to log in")
    if named is None:
        for word in known.SECRET_STORES.intersection(text.words):
            yield by_word("access_credentials", word)
    is_read = named is None or named.is_reading
    if text.words == ["printenv"] or (is_read and (text.words[-1:] == ["env"] or text.words[-2:] == ["env", "file"])):
        yield by_word("access_credentials", "env", why=": the environment holds credentials")
    if named is not None and named.verb in known.ACCESSING and named.is_reading:
        for name in text.parameters:
            if tuple(words_of(name)[-2:]) in known.SECRET_REFERENCES:
                yield by_parameter("access_credentials", name, "selects a stored secret")


def _secret_in(act: Act, text: ToolText) -> str | None:
    """The secret that an act is about: the last noun of its object, or of one part of it."""
    words = act.object
    for at, word in enumerate(words):
        rest = words[at + 1 :]
        end = next((number for number, each in enumerate(rest) if each in {"and", "or", "of"}), len(rest))
        if not known.AFTER_SECRETS.issuperset(rest[:end]):
            continue
        pair = (words[at - 1] if at else "", word)
        if word in known.SECRETS and not (word == "vault" and not known.NOTES.isdisjoint(text.first_words)):
            return word
        if pair in known.SECRET_PAIRS:
            return "_".join(pair)
        if word in {"token", "tokens"} and at == 0 and any(each in text.opening.lower() for each in known.LOGINS):
            return word
    return None


# Administration

_ADMINISTRATION = (
    ActPattern(known.ADMINISTRATIVE),
    ActPattern(word_set("power shut"), objects=word_set("down off")),
    ActPattern(known.STOPPING, objects=known.MACHINES),
    ActPattern(known.STOPPING, heads=frozenset({"", "force"})),
    ActPattern(word_set("stop"), heads=known.MACHINES - known.RUNNING_TASKS),
    ActPattern(known.CHANGING_RIGHTS, heads=known.RIGHTS),
    ActPattern(word_set("give grant"), objects=word_set("access rights role")),
    ActPattern(known.CHANGING_RIGHTS, heads=word_set("policies policy"), objects=known.POLICIES_OF),
    ActPattern(
        word_set("create deactivate delete disable enable lock remove unlock"),
        heads=word_set("account accounts user users"),
        targets=frozenset({""}),
        sources=("name", "description"),
    ),
    ActPattern(word_set("add remove"), objects=known.PRINCIPALS, targets=known.MEMBERSHIPS),
    ActPattern(word_set("change reset set"), heads=word_set("password passwords"), about=word_set("user users")),
)


def admin_control(text: ToolText) -> Iterator[CapabilityMatch]:
    """Machines, accounts and rights that a tool controls."""
    yield from by_patterns("admin_control", text, _ADMINISTRATION)
    named = text.name_act
    if (named is None or not named.is_reading) and not text.read_only:
        for word in text.words:
            if word in {"admin", "sudo"}:
                yield by_word("admin_control", word)


# Destruction


def delete_data(text: ToolText) -> Iterator[CapabilityMatch]:
    """Data that a tool deletes, by its verb or by SQL that the caller writes."""
    for act in effects(text):
        is_text = act.verb in {"erase", "truncate"} and not known.NO_DATA.isdisjoint(act.object)
        if (act.verb in known.DELETING and not is_text) or (act.verb in known.MAY_DELETE and _is_loss(act, text)):
            yield by_act("delete_data", act, act.verb, is_overwriting=True)
        if act.verb in known.EXECUTING and "destructive" in act.object:
            yield by_act("delete_data", act, "destructive", is_overwriting=True)
    if not text.read_only:
        yield from _runs_sql(text)


def _is_loss(act: Act, text: ToolText) -> bool:
    """Whether a verb that often only undoes something loses data here."""
    words = set(act.object)
    if act.verb == "drop":
        return not known.TABLES.isdisjoint({*words, *text.words, *text.parameter_words})
    if act.source == "schema" or not known.NO_DATA.isdisjoint(words):
        return False
    if act.verb == "remove" and "from" in act.words:
        return not known.RECORDS.isdisjoint(words)
    is_permanent = "permanently" in " ".join(text.sentences[:1])
    return text.destructive or is_permanent or not known.DATA.isdisjoint(words)


def _runs_sql(text: ToolText) -> Iterator[CapabilityMatch]:
    """SQL that the caller writes, unless only reading is allowed."""
    about = " ".join(text.sentences)
    writes = _WRITING_SQL.search(about) is not None
    if (_READ_ONLY.search(about) is not None and not writes) or not text.parameters:
        return
    if text.name_act is not None and text.name_act.is_reading and not text.destructive:
        return
    for act in text.acts:
        words = {*act.object, *(text.words if act.source == "name" else ())}
        is_sql = not known.SQL.isdisjoint(words) or (writes and "query" in words)
        if act.verb in known.RUNNING_SQL and is_sql:
            yield by_act("delete_data", act, "sql", is_overwriting=True)


# Messages

_SENDING = (
    ActPattern(known.NOTIFYING, sources=("name", "description")),
    ActPattern(word_set("forward post send"), objects=known.MESSAGES),
    ActPattern(word_set("reply"), sources=("name",)),
    ActPattern(word_set("reply respond"), targets=known.CONVERSATIONS),
    ActPattern(word_set("dial email mail"), parameters=known.RECIPIENTS, sources=("name",)),
    ActPattern(known.STARTING, heads=word_set("call calls"), about=known.PHONE),
    ActPattern(known.STARTING, heads=word_set("call calls"), objects=known.PHONE),
    ActPattern(known.STARTING, heads=word_set("call calls"), parameters=known.PHONE),
    ActPattern(known.STARTING, heads=word_set("broadcast sms tweet")),
    ActPattern(word_set("publish"), parameters=word_set("email phone sms subject")),
    ActPattern(
        word_set("create post publish share"), heads=word_set("post update status"), about=known.SOCIAL_NETWORKS
    ),
)


def send_message(text: ToolText) -> Iterator[CapabilityMatch]:
    """Mails, messages, notifications and calls that a tool sends."""
    yield from by_patterns("send_message", text, _SENDING)


# Money

_PAYMENT = (
    ActPattern(known.PAYING, sources=("name", "description"), unless=word_set("attention battery device")),
    ActPattern(known.PROMPTING, heads=known.MONEY),
    ActPattern(known.PROMPTING, heads=word_set("intent link session"), objects=known.MONEY),
    ActPattern(word_set("cancel create execute place submit"), heads=word_set("order orders")),
    ActPattern(word_set("send sign submit"), heads=word_set("transaction transactions")),
    ActPattern(word_set("create execute submit"), heads=word_set("transaction"), parameters=known.CURRENCY),
    ActPattern(known.MOVING_MONEY, objects=known.CURRENCY),
    ActPattern(known.MOVING_MONEY - {"send"}, parameters=word_set("amount")),
    ActPattern(word_set("invoice"), sources=("name",)),
)


def financial_action(text: ToolText) -> Iterator[CapabilityMatch]:
    """Money that a tool moves or asks for."""
    yield from by_patterns("financial_action", text, _PAYMENT)
