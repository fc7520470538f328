#!/usr/bin/env bash
# Prepare this machine: `setup.sh environment PYTHON VENV` and `setup.sh tesseract`. Called by make; safe to repeat.
set -euo pipefail

stop() {
    echo "layoutray: $*" >&2
    exit 1
}

# apt_install REASON PACKAGE...: through apt as root or through sudo that asks nothing; otherwise one line saying what to install.
apt_install() {
    local reason=$1
    shift
    local root=()
    command -v apt-get >/dev/null || stop "$reason; this system has no apt: install what Debian calls $* and try again"
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || stop "$reason; please run: sudo apt-get install $*"
        root=(sudo -n)
    fi
    echo "layoutray: $reason; installing $*"
    # A package list may be stale or absent on a fresh machine; one broken source must not stop the others.
    "${root[@]}" apt-get update -qq || true
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" </dev/null \
        || stop "apt could not install $*; please install it and try again"
}

environment() {
    local python=$1 venv=$2 version
    command -v "$python" >/dev/null || stop "no program $python; install Python 3.11 or newer, or name one: make setup PYTHON=python3.12"
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
        || stop "$python is Python $version, 3.11 or newer is needed; name a newer one: make setup PYTHON=python3.12"
    # Debian ships ensurepip apart from Python.
    "$python" -c 'import ensurepip, venv' 2>/dev/null || apt_install "$python cannot make virtual environments" "python$version-venv"
    if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --clear "$venv"
    fi
    echo "layoutray: installing into $venv; the first time takes some minutes"
    "$venv/bin/python" -m pip install --progress-bar off --constraint constraints.txt --editable '.[dev,pretrained]'
}

tesseract() {
    if ! command tesseract --list-langs 2>/dev/null | grep -qx eng; then
        apt_install "Tesseract with English is missing" tesseract-ocr tesseract-ocr-eng
    fi
}

"$@"
