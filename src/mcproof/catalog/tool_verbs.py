"""Words that show what a tool does: in its name, in its description and in the names of its parameters."""

from __future__ import annotations

from mcproof.core.text.english import word_set

DESTRUCTIVE = word_set(
    "abort ban cancel clear del delete deprovision destroy discard disconnect drop erase evict expunge flush hdel "
    "kill lrem nuke overwrite purge remove reset revert revoke rm rollback shred shutdown srem terminate trash "
    "truncate unassign unban undeploy uninstall unlink unpublish unregister unsubscribe wipe xdel zrem"
)
"""Verbs of tools that destroy something. They count anywhere in a name."""

CHANGING = word_set(
    "accept activate add allocate append apply approve arrappend arrpop arrtrim assign attach authorize buy cas "
    "checkin checkout cherry clean click clone configure confirm connect create curl customize deactivate decline decr "
    "deny deploy detach disable dismiss dispatch drag duplicate edit enable enqueue enroll eval evaluate exec execute "
    "exercise fill give grant handle highlight hset incr increment init initialize inject insert install "
    "interact interrupt invite invoke join launch leave login logout lpop lpush manage migrate modify move mutate mute "
    "navigate notify opt pay persist populate prepend press promote provision psubscribe publish put quit react rebase "
    "reconnect redeem register reinvite reject rename reopen reorder replace replicate reply reschedule resize respond "
    "restart restore resume retry rotate rpop rpush run sadd save sell send set spawn start stop submit subscribe "
    "swipe sync synthesize tap toggle transact trigger tweet unarchive unlock unmute unpin unprotect update updater "
    "upgrade upload upsert withdraw write xack xadd xreadgroup zadd"
)
"""Verbs of tools that change something or execute their input. A word too many leaves a tool untested; a missing one
is refused anyway, unless a reading verb stands beside it."""

CHANGING_OR_NOUN = word_set(
    "agent archive back change commit copy fit fork forward import merge patch pause post protect pull purchase push "
    "refund reserve schedule share stash store switch trade transfer transition vote"
)
"""As `CHANGING`, but nouns elsewhere than before an object: `get_post`, `commit_list`."""

IN_FRONT = word_set(
    "answer batch book build bulk call charge close comment compile complete design dial download draft email empty "
    "expire export fix hover issue link lock log mark message new open order pin place play print process prompt queue "
    "receive record refresh release report request resolve say scroll select sign snapshot speak tag take touch track "
    "return type void"
)
"""Words that are verbs only at the beginning of a name, or between a product name and an object: `log_in` and
`blog_log_in`, but not `git_log`."""

AT_THE_END = word_set(
    "build call close design dial do hover lock open play print refresh say scroll select sign speak touch type"
)
"""Words that are also verbs as the last word after a product name: `browser_type`, but not `git_log`."""

EXECUTING = word_set("answer call execute exec invoke launch run")
"""First verbs of descriptions that do not tell the effect: `list_topics`, "Execute the `list_topics` operation"."""

GENERIC = word_set("conduct do make perform")
"""Verbs of descriptions whose object tells the effect: "Performs a web search"."""

READING = word_set(
    "analyze analyse assess compare count describe detect determine diagnose discover display explain explore fetch "
    "geocode get grep has identify inspect introspect is locate look lookup ls measure peek ping preview read "
    "recommend retrieve scrape show suggest summarise summarize troubleshoot understand validate whoami whois"
)
"""Reading verbs; words after them are nouns (`get_call_status`)."""

READING_OR_NOUN = word_set("check diff filter find lint list query scan search view")
"""Reading verbs that are also nouns; a changing verb after them may be the verb: `todo_list_add`."""

READING_IN_DESCRIPTIONS = word_set("obtain provides return")
"""Verbs that mean reading only as first verb of a description: not in `return_item`."""

COMPUTING = word_set(
    "calc calculate compute cos divide echo estimate factorial fibonacci gcd lcm log10 median multiply parse sin sqrt "
    "subtract tan tokenise tokenize"
)
"""Verbs, and names of functions, of tools that only compute."""

ARITHMETIC = word_set("abs add ceil exp floor log max mean min minus mod modulo plus pow power round sum")
"""Functions, if every argument is a number; other tools have these words, too (`power_off`)."""

NUMBERS = word_set(
    "a addend addends b base c calc calculator exponent first float floats i int integer integers left m math n num "
    "number numbers nums operand operands p q right second two value values x y z"
)
"""Other words in the names of arithmetic tools and of their parameters."""

CONVERTING = word_set(
    "beautify convert decode differentiate encode factor format integrate minify normalise normalize reverse simplify "
    "solve sort split transform translate"
)
EXTRACTING = word_set("capture extract")
DRAWING = word_set("draw flip generate plot render roll")
"""Verbs of tools that compute or read, depending on what they make; see `VALUES` and `DRAWINGS`."""

VALUES = word_set(
    "address addresses angle area array base base64 bases binary case celsius color colors colour content contents "
    "currency data date dates datetime decimal degrees distance equation equations expression fahrenheit hex html "
    "integral json jwt keyword keywords length line lines links list markdown matrix metadata number numbers percent "
    "polynomial roman screenshot section sections snapshot speed string strings table tables temperature text time "
    "timestamp timezone timezones transcript transcription unit units url volume weight words xml yaml"
)
"""What is converted or extracted without an effect."""

DRAWINGS = word_set(
    "chart charts checksum coin diagram diagrams dice die graph guid hash heatmap histogram map palette plot tree "
    "treemap uuid uuids"
)
"""What is drawn or generated without an effect. Not a text or an image, which may cost, nor a key or a link."""

COSTLY = word_set("audio image images music song sound speech video voice")
"""Products, costly or large, of tools that name them after `to`: `text_to_speech`."""

DOCUMENTS = word_set("csv docx epub excel jpeg jpg mp3 mp4 pdf png pptx svg wav word xlsx zip")
"""Kinds of files; a tool that makes one writes it."""

PHRASES = {
    ("check", "in"),
    ("check", "out"),
    ("display", "notification"),
    ("git", "fetch"),
    ("show", "alert"),
    ("show", "notification"),
}
"""Words that look like a reading verb and change something."""

CONJUNCTIONS = word_set("and or then")
"""Words after which a name has another verb: `get_or_create`."""

WRITTEN = word_set("download dest destination export out output result results save target write")
FILES = word_set("dir directory file filename folder path uri")
"""A parameter whose name has one word of each names a file to write: `output_path`."""
WRITING_PARAMETERS = word_set("confirm confirmed outfile overwrite save savepath saveto")
"""Words of parameters that only tools with an effect have; also `dry_run`."""
CODE_PARAMETERS = word_set("cmd command commands cql javascript program script shell sql statement statements")
"""Last words of parameters with text to execute; also `code` and `python_code`, but not `postal_code`."""
LANGUAGES = word_set("javascript js py python source typescript")
ACTION_PARAMETERS = word_set("action actions command method mode op operation")
"""Parameters whose `enum` has verbs: `{"action": {"enum": ["list", "create"]}}`."""
UNITS = word_set("unit units")
"""Words of parameters of tools that convert quantities."""

RECORD_PARAMETERS = FILES | word_set("bucket device id ids key prompt uuid")
"""Words of parameters that refer to more than the value to convert or to draw."""
