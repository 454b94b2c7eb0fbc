"""Commands for a shell or a database in a sentence in lower case."""

from __future__ import annotations

import re

is_ruinous = re.compile(
    r"\b(?:rm\s+-\w{0,9}[rf]|drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from|mkfs|dd\s+if=|format\s+c:"
    r"|shutdown\s+[-/]|kill\s+-9|killall|chmod\s+(?:-r\s+)?[0-7]?777|del\s+/[fsq]|rmdir\s+/s"
    r"|git\s+push\s+(?:-f|--force)|git\s+reset\s+--hard|terraform\s+destroy|kubectl\s+delete"
    r"|docker\s+(?:system\s+prune|rm\b))"
).search
is_shell = re.compile(
    r"\$\(|\s&&\s|\s\|\|?\s?(?:sh|bash|nc|base64|curl|tee)\b"
    r"|(?:^|[\s`'\":])(?:sudo|curl|wget|chmod|chown|scp|powershell|iex|whoami|crontab)\s+[-~/$'\"\w]"
).search
