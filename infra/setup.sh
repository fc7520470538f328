#!/usr/bin/env bash
# Prepare this machine: `setup.sh environment PYTHON VENV`, `setup.sh tesseract` and, for tests, `setup.sh chromium` and
# `setup.sh postgresql`. make calls them; repeats are safe.
set -euo pipefail

stop() {
    echo "layoutray: $*" >&2
    exit 1
}

# apt_install REASON PACKAGE...: install with apt, as root or with sudo without a password. If neither is possible, stop
# with a message that names the packages.
apt_install() {
    local reason=$1
    shift
    local root=()
    command -v apt-get >/dev/null \
        || stop "$reason; this system has no apt. Install the equivalents of these Debian packages and try again: $*"
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || stop "$reason; run: sudo apt-get install $*"
        root=(sudo -n)
    fi
    echo "layoutray: $reason; installing $*"
    # Package lists can be missing on a fresh machine. An unreachable package source must not stop the installation.
    "${root[@]}" apt-get update -qq || true
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" </dev/null \
        || stop "apt could not install $*; install it and try again"
}

environment() {
    local python=$1 venv=$2 version
    command -v "$python" >/dev/null \
        || stop "$python is not on PATH; install Python 3.11 or newer, or name one: make setup PYTHON=python3.12"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
        || stop "$python is Python $version; it must be 3.11 or newer. Name another one: make setup PYTHON=python3.12"
    # On Debian, ensurepip is a separate package.
    "$python" -c 'import ensurepip, venv' 2>/dev/null \
        || apt_install "$python cannot create virtual environments" "python$version-venv"
    if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --clear "$venv"
    fi
    echo "layoutray: installing into $venv; the first time takes some minutes"
    "$venv/bin/python" -m pip install --progress-bar off --constraint constraints.txt \
        --editable '.[all,dev,pretrained]' --editable benchmarks
}

chromium() {
    # Not `command -v`, which finds this function.
    if ! type -P chromium-headless-shell >/dev/null && ! type -P chromium >/dev/null; then
        apt_install "Chromium, in which tests open pages, is missing" chromium-headless-shell
    fi
}

postgresql() {
    # Debian keeps the programs of a server outside PATH.
    if ! type -P initdb >/dev/null && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then
        apt_install "PostgreSQL, in which tests keep jobs, is missing" postgresql
    fi
}

tesseract() {
    if ! command tesseract --list-langs 2>/dev/null | grep -qx eng; then
        apt_install "Tesseract with its English language pack is missing" tesseract-ocr tesseract-ocr-eng
    fi
}

"$@"
