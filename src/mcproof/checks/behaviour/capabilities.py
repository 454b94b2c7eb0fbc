"""Capabilities: how a tool shows that it runs code, writes files, sends messages, pays or handles personal data.

A match has the words that show it. The patterns and words are here, and `capability_tables` applies them.
Why a capability is a verb with its object: docs/decisions/0049-capabilities-are-verbs.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, Literal

from mcproof.checks.behaviour.acts import LONGEST, Act, Source, ToolText, parameters_of
from mcproof.core.catalog.model import Tool
from mcproof.core.named_tuple import NamedTuple
from mcproof.core.text.english import word_set, words_of

Capability = Literal[
    "execute_code",
    "access_credentials",
    "write_files",
    "admin_control",
    "delete_data",
    "send_message",
    "financial_action",
    "network_access",
]

_NONE: frozenset[str] = frozenset()


class CapabilityMatch(NamedTuple):
    """A capability of a tool, with what shows it."""

    capability: Capability
    keyword: str
    """The word or words that show it, as in `write_file`."""
    source: Source
    why: str
    """As a sentence without a full stop."""
    is_sure: bool = True
    """Whether its name or description states it, rather than a parameter."""
    is_overwriting: bool = False
    """Whether what exists is changed or lost."""


class ActPattern(NamedTuple):
    """Verbs, with what must be around them; what is None may be anything."""

    verbs: frozenset[str]
    objects: frozenset[str] | None = None
    """Words of which one is in the object."""
    heads: frozenset[str] | None = None
    """Words of which one is the last noun of the object."""
    targets: frozenset[str] | None = None
    """Words of which one is after the preposition; the empty word if there is none."""
    parameters: frozenset[str] | None = None
    """Words of which one is in the name of a parameter."""
    about: frozenset[str] | None = None
    """Words of which one is in the name or in the first sentence."""
    sources: tuple[Source, ...] = ("name", "description", "schema")
    unless: frozenset[str] = _NONE
    """Words that must not be in the object."""
    not_about: frozenset[str] = _NONE
    """Words that must not be in the name or in the first sentence."""

    def fits(self, act: Act, text: ToolText) -> bool:
        """Whether an act has everything that the pattern needs."""
        return (
            act.verb in self.verbs
            and act.source in self.sources
            and (self.objects is None or not self.objects.isdisjoint(act.object))
            and (self.heads is None or act.head in self.heads)
            and (self.targets is None or not self.targets.isdisjoint(act.target or ("",)))
            and self.unless.isdisjoint(act.object)
            and self.not_about.isdisjoint(text.first_words)
            and (self.parameters is None or not self.parameters.isdisjoint(text.parameter_words))
            and (self.about is None or not self.about.isdisjoint(text.first_words))
        )


def effects(text: ToolText) -> Iterator[Act]:
    """The acts that may be effects: not those that a description or a value adds to a reading name."""
    named = text.name_act
    for act in text.acts:
        if act.source != "name" and named is not None and named.is_reading:
            continue
        if act.source == "schema" and text.read_only:
            continue
        if not act.is_reading:
            yield act


def by_patterns(capability: Capability, text: ToolText, patterns: Iterable[ActPattern]) -> Iterator[CapabilityMatch]:
    """Yield the effects of a tool that fit a pattern."""
    for act in effects(text):
        if any(pattern.fits(act, text) for pattern in patterns):
            yield by_act(capability, act)


WHERE: dict[Source, str] = {
    "name": "its name",
    "description": "its description",
    "schema": "a value of its parameters",
    "source": "its source",
}


def by_act(capability: Capability, act: Act, keyword: str = "", *, is_overwriting: bool = False) -> CapabilityMatch:
    """The match that an act shows."""
    shown = " ".join((act.verb, *act.object[:4]))
    why = f"`{shown}` in {WHERE[act.source]}"
    return CapabilityMatch(capability, keyword or act.keyword, act.source, why, act.source != "schema", is_overwriting)


def by_word(capability: Capability, word: str, source: Source = "name", why: str = "") -> CapabilityMatch:
    """The match that a word or a phrase shows."""
    return CapabilityMatch(capability, word, source, f"`{word}` in {WHERE[source]}{why}")


def by_parameter(capability: Capability, name: str, why: str) -> CapabilityMatch:
    """The match that a parameter shows."""
    return CapabilityMatch(capability, name, "schema", f"its parameter `{name}` {why}", is_sure=False)


def described_by(schema: Any) -> str:
    """The beginning of a parameter's description; empty if it has none."""
    description = schema.get("description") if isinstance(schema, dict) else None
    return description[:500] if isinstance(description, str) else ""


def parameters_with(text: ToolText, last_words: frozenset[str]) -> Iterator[str]:
    """The parameters for free text whose last word is one of these."""
    for name, schema in text.parameters.items():
        if not last_words.isdisjoint(words_of(name)[-1:]) and _is_text(schema):
            yield name


def _is_text(schema: Any) -> bool:
    """Whether a parameter takes free text, or a list of texts."""
    if not isinstance(schema, dict) or "enum" in schema or "const" in schema:
        return False
    kinds = schema.get("type")
    return not kinds or not {"string", "array"}.isdisjoint(kinds if isinstance(kinds, list) else [kinds])


EXECUTING = word_set("eval evaluate exec execute interpret invoke launch run spawn")
CODE = word_set(
    "bash binary cell cells cli cmd code command commands do-file executable javascript js kubectl node notebook "
    "notebooks perl php powershell program programs python repl ruby script scripts shell snippet snippets subprocess "
    "terminal typescript zsh"
)
SHELLS = word_set("bash cmd eval exec powershell repl shell ssh subprocess terminal zsh")
"""Words that name an interpreter: a tool with one and a parameter for its text runs code."""
CODE_PARAMETERS = word_set(
    "bash cmd code command commands expression function input javascript js program python script shell snippet source"
)
"""Last words of parameters that hold what is run."""
SURE_CODE_PARAMETERS = word_set("bash cmd command commands javascript python script shell")
NOT_CODE = word_set(
    "automation cql cypher expression expressions flow formula graphql imap job jobs metric metrics model pipeline "
    "promql queries query redis search smtp sql statement statements template templates test tests tools valkey "
    "workflow workflows"
)
"""Words after an executing verb that name something else than code."""

SURE_CODE = word_set("code javascript python script scripts")
FORMULAS = word_set("expression expressions formula formulas math mathematical template templates")
ABOUT_CODE = word_set("explain generate lint review validate")
"""Verbs of tools that do something else with code than run it."""
TERMINALS = word_set("process processes repl shell terminal")


FILES = word_set(
    "dir directories directory disk file filename filepath files filesystem folder folders path paths symlink symlinks"
)
WRITING = word_set(
    "append change clean copy create delete download edit export extract insert make modify move mv overwrite patch "
    "prepend put remove rename replace save store touch unzip update write"
)
FILE_COMMANDS = word_set("chmod chown mkdir rmdir unlink")
OVERWRITING = word_set("clean delete edit move mv overwrite patch put remove replace rmdir unlink write")
"""Verbs of tools that change or delete files that exist."""
REMOTE = word_set(
    "airtable artifact attachment attachments bitbucket blob box branch bucket buckets channel cloud collection "
    "commit container databricks dbfs drive dropbox email figma gcs gist github gitlab google grafana iam imap issue "
    "issues k8s kubectl kubernetes mailbox manifest notion object onedrive project pull record repo repositories "
    "repository s3 sharepoint slack spec specification storage supabase vault wiki"
)
"""Where files are that are not files of the server's machine."""
LOCAL = ("local", "disk", "filesystem", "file system", "absolute path", "working directory", "your computer")
DOCUMENTS = word_set(
    "csv database document documents docx excel file files image notebook pdf powerpoint presentation presentations "
    "sheet sheets slide slides spreadsheet spreadsheets word workbook workbooks worksheet xlsx"
)
FILE_PARAMETERS = word_set("dir directory file filename filepath folder path")
READ_PARAMETERS = word_set("config image input manifest new old patch schema source src template yaml")
"""Words of parameters that name a file to read."""

PARTS_OF_FILES = word_set("block content contents lines text")
CHANGING_DOCUMENTS = (WRITING - {"export", "extract"}) | word_set(
    "add convert customize fit format highlight merge protect set sort transform unprotect"
)
OUTPUTS = word_set("dest destination download export out output save")
REMOTE_STORES = word_set("bucket remote repository s3")


DELETING = word_set(
    "del delete deprovision destroy erase expunge hdel lrem nuke purge rm rmdir shred srem truncate wipe xdel zrem"
)
MAY_DELETE = word_set(
    "clean cleanup clear discard drop empty evict flush overwrite prune remove reset trash uninstall unlink"
)
DATA = word_set(
    "account all cache caches cells changes collection collections column columns commit commits conversation data "
    "database databases db dir directories directory dirs document documents email emails entities entries everything "
    "file files folder folders git head history index indices key keys keyspace logs memory message messages notes "
    "partition queue range record records resource resources row rows schema table tables user users"
)
"""Objects that are lost if a tool clears, drops or removes them."""
NO_DATA = word_set(
    "accents access assignment background flag flags label labels member permission policy protection role setting "
    "settings string tag tags text watermark whitespace"
)
"""Objects that are no loss of data."""
RECORDS = word_set(
    "data directories directory document documents email emails entries file files folder folders keys message "
    "messages record records row rows"
)
"""What is lost even if it is removed from something."""
TABLES = word_set("collection column database databases db index indices keyspace partition schema table tables view")
SQL = word_set("cql cypher sql")

RUNNING_SQL = EXECUTING | {"transact", "write"}


NOTIFYING = word_set("broadcast dm notify sms toot tweet")
MESSAGES = word_set(
    "alert alerts announcement announcements chat direct dm email emails fax invitation invitations invite mail "
    "message messages mms newsletter notification notifications reminder reply sms text texts tweet tweets whatsapp"
)
RECIPIENTS = word_set("bcc cc channel chat email phone recipient recipients subject to")
PHONE = word_set("outbound outgoing phone phones telephone voice")

STARTING = word_set("create initiate make place start")
CONVERSATIONS = word_set("comment conversation email message thread tweet")
SOCIAL_NETWORKS = word_set("bluesky facebook instagram linkedin mastodon reddit threads tiktok twitter x")


PAYING = word_set("buy charge donate pay purchase refund sell withdraw")
MONEY = word_set(
    "charge charges checkout donation funds invoice invoices money payment payments payout payouts purchase refund "
    "refunds trade trades transfer wire withdrawal"
)
CURRENCY = word_set(
    "amount balance bitcoin btc cash coin coins crypto currency dollars eth ether funds lamports money payment sol "
    "stablecoin token tokens usdc usdt wallet"
)
TRADED = CURRENCY | word_set(
    "buy cart customer item items limit market price product products purchase qty quantity sell shop sku stock symbol "
    "ticker trade trading volume"
)
"""Words of tools and parameters about orders that are paid."""
PROMPTING = word_set(
    "add capture complete confirm create execute finalize initiate issue make place process send start submit void"
)
MOVING_MONEY = word_set("deposit send stake swap trade transfer wire")


ADMINISTRATIVE = word_set("ban deprovision impersonate reboot shutdown sudo suspend")
STOPPING = word_set("cordon drain halt kill restart terminate")
MACHINES = word_set(
    "cluster clusters container containers daemon database databases host hosts instance instances machine machines "
    "node nodes pod process processes server servers service services session sessions system vm vms"
)
RUNNING_TASKS = word_set("process processes session sessions")
CHANGING_RIGHTS = word_set(
    "add assign attach change create delete demote detach disable elevate enable give grant manage modify promote put "
    "remove set update"
)
RIGHTS = word_set("acl admin administrator admins iam permission permissions privilege privileges role roles superuser")
REVOKED = RIGHTS | word_set(
    "access authorization certificate certificates consent credential credentials grant grants key keys license "
    "session sessions share token tokens user users"
)
PRINCIPALS = word_set("account accounts group groups user users")
MEMBERSHIPS = word_set("admins group groups organization role roles sudoers")

POLICIES_OF = word_set("access group iam inline managed role user")


SECRETS = word_set(
    "apikey apikeys credential credentials dotenv keychain keystore passphrase passphrases passwd password passwords "
    "privatekey secret secrets vault"
)
NOTES = word_set("file files markdown note notes obsidian")
"""Words of tools for a vault that holds notes rather than secrets."""
SECRET_STORES = word_set("credentials keychain secrets vault")
LINKS = word_set("association associations link links relation relations")
ASSETS = word_set("asset assets deposits erc shares staking tokenized yield")
"""Words of tools for a vault that holds assets of a blockchain."""
BOOKKEEPING = word_set("accounting bookkeeping budget budgets budgeting expense expenses journal ledger track tracker")
"""Words of tools that record what was paid elsewhere."""
SECRET_PAIRS = frozenset(
    [
        *product(word_set("access api encryption private secret signing ssh deploy master"), ("key", "keys")),
        *product(
            word_set("access api auth authentication bearer bot jwt oauth refresh session id"), ("token", "tokens")
        ),
        *product(("session",), ("cookie", "cookies")),
        *product(("env",), ("variables", "vars", "var")),
        ("environment", "variables"),
    ]
)
AFTER_SECRETS = word_set(
    "content contents data file files list lists manager name names store string strings text value values version "
    "versions"
)
"""Words after which a secret is still what a tool handles: `get_secret_value`."""
ACCESSING = word_set(
    "access add copy create decrypt display dump export fetch find generate get import issue list load look lookup "
    "manage mint obtain put read refresh request resolve retrieve return reveal rotate save search set show store "
    "update view"
)
LOGGING_IN = word_set("authenticate login signin")
SECRET_PARAMETERS = word_set("passphrase passwd password secret")
SECRET_REFERENCES = frozenset(product(("secret", "credential", "vault"), ("id", "name", "path", "arn", "key")))
"""Names of parameters that select a stored secret."""
LOGINS = ("auth", "oauth", "bearer", "login", "log in", "jwt", "api token", "access token", "credential")


FETCHING = word_set(
    "analyze browse call capture check convert crawl curl download extract fetch get go import load make map navigate "
    "open perform post read request retrieve scrape screenshot send summarize take transcribe visit wget"
)
BROWSING = word_set("browse crawl curl navigate scrape visit wget")
WEB = word_set(
    "browser http https internet link links page pages site sites url urls web webpage webpages website websites"
)
URL_PARAMETERS = word_set("href link links uri uris url urls webpage website")
TRANSFERRED = word_set(
    "artifact artifacts asset assets attachment attachments audio blob content contents document documents file files "
    "image images media object objects photo photos video videos"
)
STORED_URLS = word_set("avatar base callback icon image logo queue redirect region tracker webhook")
"""Words of parameters with URLs that are stored or shown, or that select a part of the service."""


_WORDS = word_set(
    "birthdate birthday cvv dob email emails ethnicity gender iban passport password passwords patient patients phone "
    "salary ssn surname telephone"
)
_PAIRS = {
    **{(first, "name"): "name" for first in ("first", "full", "given", "last", "middle", "maiden")},
    **{(first, "address"): "address" for first in ("billing", "home", "mailing", "postal", "shipping", "street")},
    ("bank", "account"): "bank account",
    ("birth", "date"): "birth date",
    ("card", "number"): "card number",
    ("credit", "card"): "credit card",
    ("date", "birth"): "birth date",
    ("driver", "license"): "driver license",
    ("drivers", "license"): "driver license",
    ("health", "record"): "health record",
    ("medical", "record"): "medical record",
    ("mobile", "number"): "phone",
    ("national", "id"): "national id",
    ("phone", "number"): "phone",
    ("social", "security"): "social security",
    ("tax", "id"): "tax id",
}
_OTHER_ADDRESSES = word_set(
    "bind block blockchain cell contract crypto endpoint ethereum ip mac memory network range server socket solana "
    "token url wallet web"
)
_PHRASE = re.compile(
    r"\b(?:e-?mail address(?:es)?|phone numbers?|social security(?: numbers?)?|dates? of birth|passport numbers?|"
    r"credit cards?|home address(?:es)?|postal address(?:es)?|bank account numbers?|medical records?|"
    r"personal (?:data|information)|personally identifiable|PII)\b",
    re.IGNORECASE,
)


class PersonalWord(NamedTuple):
    """A word that names personal data."""

    keyword: str
    source: Source
    why: str
    """As a sentence without a full stop."""


def personal_data_in(tool: Tool) -> list[PersonalWord]:
    """Return the words for personal data of a tool, each once."""
    personal: dict[str, PersonalWord] = {}
    for word in _personal(words_of(tool.name)):
        personal.setdefault(word, PersonalWord(word, "name", f"`{word}` in its name"))
    for name, schema in parameters_of(tool).items():
        words = words_of(name)
        for word in _personal(words):
            personal.setdefault(word, PersonalWord(word, "schema", f"its parameter `{name}`"))
        if words == ["address"]:
            described = schema.get("description") if isinstance(schema, dict) else ""
            about = {*words_of(tool.name), *words_of(described[:300] if isinstance(described, str) else "")}
            if _OTHER_ADDRESSES.isdisjoint(about):
                personal.setdefault("address", PersonalWord("address", "schema", f"its parameter `{name}`"))
    phrase = _PHRASE.search(tool.description[:LONGEST])
    if phrase is not None:
        keyword = " ".join(phrase[0].lower().split())
        personal.setdefault(keyword, PersonalWord(keyword, "description", f"`{keyword}` in its description"))
    return list(personal.values())


def _personal(words: list[str]) -> Iterable[str]:
    for at, word in enumerate(words):
        following = words[at + 1] if at + 1 < len(words) else ""
        if word in _WORDS:
            yield word
        elif (word, following) in _PAIRS:
            yield _PAIRS[word, following]
