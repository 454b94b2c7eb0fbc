#!/bin/sh
# Installs the browser that the tests of the HTML report drive: Chromium and its driver, from the packages of a
# Debian-like system, as root or with sudo that asks for no password. Anywhere else it does nothing, and says so.
set -eu

if command -v chromedriver >/dev/null 2>&1; then
    for browser in chromium chromium-browser google-chrome google-chrome-stable chrome; do
        if command -v "$browser" >/dev/null 2>&1; then
            echo "install_browser: $browser and chromedriver are there already"
            exit 0
        fi
    done
fi

if ! command -v apt-get >/dev/null 2>&1; then
    echo "install_browser: no apt-get here, so nothing is installed" >&2
    exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    as_root="sudo -n"
else
    echo "install_browser: neither root nor sudo without a password, so nothing is installed" >&2
    exit 0
fi

# shellcheck disable=SC2086 (empty, or a command and its option)
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver
