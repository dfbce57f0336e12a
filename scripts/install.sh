#!/usr/bin/env bash
# Install a lock into a virtual environment, which is made where it is missing:
#
#   scripts/install.sh FOLDER LOCK [--editable | --only-these | WHEEL]
#
# --editable installs Merrow in place, WHEEL a built one, too; --only-these, nothing that the lock's packages depend on. uv does the work where it is present, pip elsewhere; both compare
# every package with its hash in the lock. PYTHON names the interpreter; without it, it is python3, or a
# quicker one that is there. Their output is printed only where they fail.
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

# Whether packages can be installed for a Python that is one program. One that loads libpython as a shared library, as pyenv builds it for
# many images, takes a third more time for our tests (3.11.7 built so against Debian's 3.11.2).
quick() {
  "$1" -c 'import pip, sys; sys.exit("libpython" in open("/proc/self/maps").read())' 2>/dev/null
}

interpreter() {
  local first=''
  for python in ${PYTHON:-python3 /usr/bin/python3 python3.14 python3.13 python3.12 python3.11 python}; do
    suitable "$python" || continue
    if [ -n "${PYTHON:-}" ] || quick "$python"; then echo "$python"; return; fi
    first=${first:-$python}
  done
  if [ -n "$first" ]; then echo "$first"; return; fi
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
case $merrow in
  --only-these) install --require-hashes --no-deps --only-binary :all: -r "$lock" ;;
  *) install --require-hashes -r "$lock" ;;
esac
case $merrow in
  '' | --only-these) ;;
  --editable) install --no-deps --no-build-isolation --editable "$root" ;;
  *) install --no-deps "$merrow" ;;
esac
