#!/usr/bin/env bash
# What some tests need beyond Python: a browser for the HTML report, shells for their completion scripts,
# npm for a real server and the conformance suite, PostgreSQL for the store.
# On Debian and its like, where this may install packages; elsewhere it does nothing, and those tests skip with a reason.
set -euo pipefail

missing=()
command -v chromium >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
command -v chromedriver >/dev/null || missing+=(chromium-driver)
command -v zsh >/dev/null || missing+=(zsh)
command -v fish >/dev/null || missing+=(fish)
command -v npm >/dev/null || missing+=(npm)
command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing+=(postgresql)
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

sudo=()
if [ "$(id -u)" -ne 0 ]; then sudo=(sudo -n); fi
if ! command -v apt-get >/dev/null || ! "${sudo[@]}" true 2>/dev/null; then
    echo "cannot install ${missing[*]}: no apt-get, or not allowed to" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
