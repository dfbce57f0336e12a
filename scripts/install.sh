#!/usr/bin/env bash
# Install a lock into a virtual environment, which is made where it is missing:
#
#   scripts/install.sh FOLDER LOCK [--editable | WHEEL]
#
# --editable installs Merrow in place, WHEEL a built one. uv does the work where it is present, pip elsewhere; both compare
# every package with its hash in the lock. PYTHON names another interpreter. Their output is printed only where they fail.
set -euo pipefail
folder=$1 lock=$2 merrow=${3:-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

quietly() {
  "$@" >"$log" 2>&1 || { status=$?; cat "$log" >&2; return "$status"; }
}

suitable() {
  "$1" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

interpreter() {
  for python in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
    if suitable "$python"; then echo "$python"; return; fi
  done
  echo "Merrow needs Python 3.11 or newer with the venv module; name one with: make PYTHON=/path/to/python" >&2
  return 1
}

with_uv() {
  uv --version >/dev/null 2>&1 || return 1
  quietly uv pip install --python "$folder/bin/python" "$@" && return
  echo "uv could not install it; trying pip." >&2
  return 1
}

with_pip() {
  if ! "$folder/bin/python" -c 'import pip' 2>/dev/null && ! "$folder/bin/python" -m ensurepip >/dev/null 2>&1; then
    # Debian keeps ensurepip apart; a pip outside of the environment can install into it.
    quietly "$(interpreter)" -m pip --disable-pip-version-check --python "$folder/bin/python" install "$@"
    return
  fi
  quietly "$folder/bin/python" -m pip --disable-pip-version-check install "$@"
}

install() {
  with_uv "$@" || with_pip "$@"
}

if ! suitable "$folder/bin/python"; then
  python=$(interpreter)
  rm -rf "$folder"
  quietly "$python" -m venv --without-pip "$folder"
fi
install --require-hashes -r "$lock"
case $merrow in
  '') ;;
  --editable) install --no-deps --no-build-isolation --editable "$root" ;;
  *) install --no-deps "$merrow" ;;
esac
