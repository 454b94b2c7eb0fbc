"""Words that show what a tool can do: run code, write files, send messages, pay, …"""

from __future__ import annotations

from mcproof.core.text.english import word_set

# Code

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

# Files

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
CHANGING_DOCUMENTS = (WRITING - {"export"}) | word_set(
    "add convert customize fit format highlight merge protect set sort transform unprotect"
)
OUTPUTS = word_set("dest destination download export out output save")
REMOTE_STORES = word_set("bucket remote repository s3")

# Destruction

DELETING = word_set(
    "del delete deprovision destroy erase expunge hdel lrem nuke purge rm rmdir shred srem truncate wipe xdel zrem"
)
MAY_DELETE = word_set(
    "clean cleanup clear discard drop empty evict flush overwrite prune remove reset trash uninstall unlink"
)
DATA = word_set(
    "account all cache caches cells collection collections column columns conversation data database databases db "
    "directories directory document documents email emails entities entries everything file files folder folders "
    "history index indices key keys keyspace logs memory message messages notes partition queue range record records "
    "resource resources row rows schema table tables user users"
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

# Messages

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

# Money

PAYING = word_set("buy charge donate pay purchase refund sell withdraw")
MONEY = word_set(
    "charge charges checkout donation funds invoice invoices money payment payments payout payouts purchase refund "
    "refunds trade trades transfer wire withdrawal"
)
CURRENCY = word_set(
    "amount balance bitcoin btc cash coin coins crypto currency dollars eth ether funds lamports money payment sol "
    "stablecoin token tokens usdc usdt wallet"
)
PROMPTING = word_set(
    "add capture complete confirm create execute finalize initiate issue make place process send start submit void"
)
MOVING_MONEY = word_set("deposit send stake swap trade transfer wire")

# Administration

ADMINISTRATIVE = word_set("ban deprovision impersonate reboot revoke shutdown sudo suspend")
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
PRINCIPALS = word_set("account accounts group groups user users")
MEMBERSHIPS = word_set("admins group groups organization role roles sudoers")

POLICIES_OF = word_set("access group iam inline managed role user")

# Credentials

SECRETS = word_set(
    "apikey apikeys credential credentials dotenv keychain keystore passphrase passphrases passwd password passwords "
    "privatekey secret secrets vault"
)
NOTES = word_set("file files markdown note notes obsidian")
"""Words of tools for a vault that holds notes rather than secrets."""
SECRET_STORES = word_set("credentials keychain secrets vault")
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
        ("session", "cookie"),
        ("session", "cookies"),
        ("environment", "variables"),
        ("env", "variables"),
        ("env", "vars"),
        ("env", "var"),
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
SECRET_REFERENCES = frozenset(
    [(first, second) for first in ("secret", "credential", "vault") for second in ("id", "name", "path", "arn", "key")]
)
"""Names of parameters that select a stored secret."""
LOGINS = ("auth", "oauth", "bearer", "login", "log in", "jwt", "api token", "access token", "credential")

# Network

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
