"""Words that show what a tool can do: run code, write files, send messages, pay, …"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Code

EXECUTING = _words("eval evaluate exec execute interpret invoke launch run spawn")
CODE = _words(
    "bash binary cli cmd code command commands executable javascript js kubectl node notebook notebooks perl php "
    "powershell program programs python repl ruby script scripts shell snippet snippets subprocess terminal typescript "
    "zsh do-file"
)
SHELLS = _words("bash cmd exec powershell repl shell ssh subprocess terminal zsh eval")
"""Words that name an interpreter: a tool with one and a parameter for its text runs code."""
CODE_PARAMETERS = _words(
    "bash code cmd command commands expression function input javascript js program python script shell snippet source"
)
"""Last words of parameters that hold what is run."""
SURE_CODE_PARAMETERS = _words("bash cmd command commands javascript python script shell")
NOT_CODE = _words(
    "automation cql cypher expression expressions flow formula graphql imap job jobs metric metrics model pipeline "
    "promql query queries redis search smtp sql statement statements template templates test tests tools valkey "
    "workflow workflows"
)
"""Words after an executing verb that name something else than code."""

# Files

FILES = _words(
    "dir directories directory file files filename filepath filesystem folder folders path paths symlink symlinks disk"
)
WRITING = _words(
    "append change clean copy create delete download edit export insert make modify move mv overwrite patch prepend "
    "put remove rename replace save store touch unzip update write extract"
)
FILE_COMMANDS = _words("chmod chown mkdir rmdir unlink")
OVERWRITING = _words(
    "append change chmod delete edit insert modify move mv overwrite patch put remove rename replace rmdir unlink update write clean"
)
"""Verbs of tools that change or delete files that exist."""
REMOTE = _words(
    "airtable artifact attachment attachments blob bitbucket box branch bucket buckets channel cloud collection commit "
    "container drive dropbox email figma gcs gist github gitlab google issue notion object onedrive project pull "
    "record repo repository repositories s3 sharepoint slack spec specification storage supabase wiki mailbox imap "
    "issues vault dbfs kubernetes kubectl k8s manifest iam grafana databricks"
)
"""Where files are that are not files of the server's machine."""
LOCAL = ("local", "disk", "filesystem", "file system", "absolute path", "working directory", "your computer")
DOCUMENTS = _words(
    "csv database document documents docx excel image notebook pdf powerpoint presentation presentations sheet "
    "sheets slide slides spreadsheet spreadsheets word workbook workbooks worksheet xlsx file files"
)
FILE_PARAMETERS = _words("dir directory file filename filepath folder path")
READ_PARAMETERS = _words("config image input manifest patch schema src template yaml source")
"""Words of parameters that name a file to read."""

# Destruction

DELETING = _words(
    "del delete deprovision destroy erase expunge hdel lrem nuke purge rm shred srem truncate wipe xdel zrem rmdir"
)
MAY_DELETE = _words(
    "clean cleanup clear discard drop empty evict flush overwrite prune remove reset trash uninstall unlink"
)
DATA = _words(
    "all account cache caches cells collection collections column columns conversation data database databases db "
    "directories directory document documents email emails entities entries everything file files folder folders "
    "history index indices key keys keyspace logs memory message messages notes partition queue range record records "
    "resource resources row rows schema table tables user users view views"
)
"""Objects that are lost if a tool clears, drops or removes them."""
NO_DATA = _words(
    "access assignment flag flags label labels member permission policy protection role setting settings tag tags"
)
"""Objects that are no loss of data."""
RECORDS = _words(
    "data directories directory document documents email emails entries file files folder folders keys message messages record records row rows"
)
"""What is lost even if it is removed from something."""
TABLES = _words("collection column database databases db index indices keyspace partition schema table tables view")
SQL = _words("cql cypher sql")

# Messages

NOTIFYING = _words("broadcast dm notify sms toot tweet")
MESSAGES = _words(
    "alert alerts announcement announcements chat direct dm email emails fax invitation invitations invite mail "
    "message messages mms newsletter notification notifications reminder reply sms text texts tweet tweets whatsapp"
)
RECIPIENTS = _words("bcc cc channel chat email phone recipient recipients subject to")
PHONE = _words("outbound outgoing phone phones telephone voice")

# Money

PAYING = _words("buy charge donate pay purchase refund sell withdraw")
MONEY = _words(
    "charge charges checkout donation funds invoice invoices money payment payments payout payouts purchase "
    "refund refunds transfer trade trades wire withdrawal"
)
ORDERS = _words("order orders transaction transactions")
CURRENCY = _words(
    "amount balance bitcoin btc cash coin coins crypto currency dollars eth ether funds lamports money payment sol "
    "stablecoin token tokens usdc usdt wallet"
)
PROMPTING = _words(
    "add capture complete confirm create execute finalize initiate issue make place process send start submit void"
)
MOVING_MONEY = _words("deposit send stake swap trade transfer wire")

# Administration

ADMINISTRATIVE = _words("ban deprovision impersonate reboot revoke shutdown sudo suspend")
STOPPING = _words("cordon drain halt kill restart terminate")
MACHINES = _words(
    "cluster clusters container containers daemon database databases host hosts instance instances machine machines node nodes "
    "pod process processes server servers service services session sessions system vm vms"
)
CHANGING_RIGHTS = _words(
    "add assign attach change create delete demote detach disable elevate enable give grant manage modify promote put "
    "remove set update"
)
RIGHTS = _words("acl admin admins administrator iam permission permissions privilege privileges role roles superuser")
PRINCIPALS = _words("account accounts group groups user users")
MEMBERSHIPS = _words("admins group groups organization role roles sudoers")

# Credentials

SECRETS = _words(
    "apikey apikeys credential credentials dotenv keychain keystore passphrase passphrases password passwords passwd privatekey "
    "secret secrets vault"
)
SECRET_PAIRS = frozenset(
    [
        *(
            (first, second)
            for first in ("access", "api", "encryption", "private", "secret", "signing", "ssh", "deploy", "master")
            for second in ("key", "keys")
        ),
        *(
            (first, second)
            for first in (
                "access",
                "api",
                "auth",
                "authentication",
                "bearer",
                "bot",
                "jwt",
                "oauth",
                "refresh",
                "session",
                "id",
            )
            for second in ("token", "tokens")
        ),
        ("environment", "variables"),
        ("env", "variables"),
        ("env", "vars"),
        ("env", "var"),
    ]
)
AFTER_SECRETS = _words(
    "content contents data file files list lists name names store string strings text value values version versions manager"
)
"""Words after which a secret is still what a tool handles: `get_secret_value`."""
ACCESSING = _words(
    "access add copy create decrypt dump export fetch find generate get import issue list load look lookup mint obtain "
    "put read refresh request resolve retrieve return reveal rotate save search set show store update view display"
)
LOGGING_IN = _words("authenticate login signin")
SECRET_PARAMETERS = _words("password passwd passphrase secret")
SECRET_REFERENCES = frozenset(
    [(first, second) for first in ("secret", "credential", "vault") for second in ("id", "name", "path", "arn", "key")]
)
"""Names of parameters that select a stored secret."""
AUTHENTICATION = ("auth", "oauth", "bearer", "login", "log in", "jwt", "api token", "access token", "credential")

# Network

FETCHING = _words(
    "browse call capture check convert crawl curl download extract fetch get go import load make map navigate open parse "
    "perform post read request retrieve scrape screenshot send summarize transcribe visit wget analyze"
)
BROWSING = _words("browse crawl curl navigate scrape visit wget")
WEB = _words(
    "browser http https internet link links page pages site sites url urls web webpage webpages website websites"
)
URL_PARAMETERS = _words("url urls uri uris link links website webpage href")
TRANSFERS = _words("download upload")
TRANSFERRED = _words(
    "artifact artifacts asset assets attachment attachments audio blob content contents document documents file files image images "
    "media object objects photo photos video videos"
)
