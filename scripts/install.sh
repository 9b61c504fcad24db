#!/bin/sh
# Installs postern: downloads the program of a release, verifies it and moves it into place.
#
#   curl -fsSL URL/install.sh | sh
#   curl -fsSL URL/install.sh | sh -s -- --version 0.1.0 --to /usr/local/bin
#
# The braces enclose the whole script, so that a shell runs no part of a truncated download.
{
set -eu

# The release fills in these two values.
release_version=''
release_url=''

usage() {
  cat <<'END'
usage: install.sh [--version VERSION] [--to DIRECTORY] [--from URL] [--skip-attestation]

Downloads postern for this system, verifies it, and moves it to DIRECTORY in one step. Running instances keep
their program. The checksum proves a complete download, not who built it. If gh is installed and signed in, the
script also verifies the attestation of the project's release workflow.

  --version VERSION  the release to install (default: the release of this script)
  --to DIRECTORY     the target directory (default: ~/.local/bin)
  --from URL         the address of the releases: URL/vVERSION/postern-VERSION-SYSTEM (or set POSTERN_RELEASES)
  --skip-attestation skip the verification of the attestation
  --help             print this text
END
}

fail() { # SENTENCE HINT [EXIT]
  printf 'postern: error: %s\npostern: hint: %s\n' "$1" "$2" >&2
  exit "${3:-1}"
}

say() { printf 'postern: %s\n' "$1" >&2; }

main() {
  version=$release_version from=${POSTERN_RELEASES:-$release_url} to='' skips_attestation=''
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help) usage; return 0 ;;
      --skip-attestation) skips_attestation=1; shift ;;
      --version=* | --to=* | --from=*) take "${1%%=*}" "${1#*=}"; shift ;;
      --version | --to | --from)
        [ $# -ge 2 ] || fail "Cannot read the command line: $1 needs a value" 'see --help' 2
        take "$1" "$2"
        shift 2
        ;;
      *) fail "Cannot read the command line: unknown argument \"$1\"" 'see --help' 2 ;;
    esac
  done
  check_wishes
  choose_system
  file=postern-$version-$system
  url=${from%/}/v$version/$file
  trap 'clean_up' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  make_place
  fetch "$url.sha256" "$work/sum"
  fetch "$url" "$work/postern"
  check_sum
  check_origin
  put_in_place
}

take() { # OPTION VALUE
  [ -n "$2" ] || fail "Cannot read the command line: $1 is empty" 'see --help' 2
  case $1 in
    --version) version=${2#v} ;;
    --to) to=$2 ;;
    --from) from=$2 ;;
  esac
}

check_wishes() {
  [ -n "$version" ] || fail 'Cannot install postern: no version given' 'choose one: --version 0.1.0' 2
  case $version in
    *[!0-9A-Za-z.+-]*) fail "Cannot install \"$version\": not a version" 'write it like 0.1.0' 2 ;;
  esac
  [ -n "$from" ] || fail 'Cannot install postern: no address of releases given' 'pass one: --from https://HOST/PATH' 2
  # The checksum comes over the same connection as the program.
  case $from in
    https://*) protocols='=https' ;;
    http://127.0.0.1[:/]* | http://localhost[:/]* | 'http://[::1]'[:/]*) protocols='=http,https' ;;
    *) fail "Cannot fetch from \"$from\": the address does not begin with https://" 'use an https:// address' 2 ;;
  esac
  if [ -z "$to" ]; then
    [ -n "${HOME:-}" ] || fail 'Cannot choose a directory: HOME is not set' 'pass one: --to DIRECTORY' 2
    to=$HOME/.local/bin
  fi
  case $to in
    /*) ;;
    *) to=$(pwd)/$to ;;
  esac
}

# Sets system as in the names of a release's files.
choose_system() {
  kernel=$(uname -s) machine=$(uname -m)
  case $kernel in
    Linux) system=linux ;;
    Darwin) system=macos ;;
    MINGW* | MSYS* | CYGWIN*) fail 'Cannot install on Windows' 'use install.ps1 in PowerShell' ;;
    *) fail "Cannot install on $kernel: not supported" 'use Linux, macOS or Windows' ;;
  esac
  # A shell under Rosetta on Apple silicon reports x86_64.
  if [ "$system $machine" = 'macos x86_64' ] && [ "$(sysctl -n hw.optional.arm64 2>/dev/null)" = 1 ]; then
    machine=arm64
  fi
  case $machine in
    x86_64 | amd64) system=$system-x64 ;;
    aarch64 | arm64) system=$system-arm64 ;;
    *) fail "Cannot install on $machine: not supported" 'use a machine with x86_64 or arm64' ;;
  esac
  bits=$(getconf LONG_BIT 2>/dev/null || echo 64)
  [ "$bits" = 64 ] || fail "Cannot install on this system: it has $bits bits" 'use a 64-bit system'
}

work='' made='' is_done=''

# Creates a private directory in the target directory, so that a rename moves the program into place and no
# other user can change it before.
make_place() {
  missing=''
  above=$to
  while [ ! -d "$above" ]; do
    missing=$above
    above=$(dirname "$above")
  done
  if [ -n "$missing" ]; then
    made=$missing
    reason=$(mkdir -p "$to" 2>&1) || fail "Cannot create \"$to\": $(last_words "$reason")" 'choose another directory: --to DIRECTORY'
  fi
  [ ! -d "$to/postern" ] || fail "Cannot install to \"$to\": \"$to/postern\" is a directory" 'choose another directory: --to DIRECTORY'
  reason=$(mktemp -d "$to/.postern.XXXXXX" 2>&1) ||
    fail "Cannot write to \"$to\": $(last_words "$reason")" 'choose another directory: --to DIRECTORY'
  work=$reason
}

# Removes incomplete files and the directories created for them.
clean_up() {
  [ -z "$work" ] || rm -rf "$work"
  if [ -n "$is_done" ] || [ -z "$made" ]; then return 0; fi
  above=$to
  until [ "$above" = "$(dirname "$made")" ]; do
    [ ! -d "$above" ] || rmdir "$above" 2>/dev/null || break
    above=$(dirname "$above")
  done
}

fetch() { # URL FILE
  if has curl; then
    set -- "$1" curl -fsSL --proto "$protocols" --proto-redir "$protocols" --connect-timeout 30 \
      --speed-limit 1 --speed-time 60 -o "$2" "$1"
  elif has wget; then
    # GNU wget prints no errors with -q and retries twenty times by default. Busybox wget may crash with -T.
    case $(wget --version 2>&1) in
      *GNU*) set -- "$1" wget -nv -t 2 -T 60 -O "$2" "$1" ;;
      *) set -- "$1" wget -q -O "$2" "$1" ;;
    esac
  else
    fail 'Cannot fetch the program: neither curl nor wget is installed' 'install one of them'
  fi
  address=$1
  shift
  reason=$(LC_ALL=C "$@" 2>&1 </dev/null) && return 0
  case $reason in
    *404*) hint='check the available releases and choose one: --version VERSION' ;;
    *) hint='check the connection to this address; set https_proxy to use a proxy' ;;
  esac
  fail "Cannot fetch $address: $(last_words "$reason")" "$hint"
}

check_sum() {
  sum='' name=''
  read -r sum name <"$work/sum" || :
  if ! is_sum "$sum" || [ "${name#\*}" != "$file" ]; then
    fail "Cannot check $file: $url.sha256 does not contain its checksum" 'open that address in a browser'
  fi
  if has sha256sum; then
    found=$(sha256sum "$work/postern")
  elif has shasum; then
    found=$(shasum -a 256 "$work/postern")
  elif has openssl; then
    found=$(openssl dgst -sha256 -r "$work/postern")
  else
    fail "Cannot check $file: neither sha256sum, shasum nor openssl is installed" 'install one of them'
  fi
  found=${found%%[ *]*}
  [ "$found" = "$sum" ] ||
    fail "Cannot use $file: its checksum is $found instead of $sum" 'try again; if the error persists, do not use the file: it was changed'
}

is_sum() {
  [ ${#1} -eq 64 ] || return 1
  case $1 in *[!0-9a-f]*) return 1 ;; esac
}

# gh queries GitHub, not the site of the download.
check_origin() {
  built_by=''
  repository=$(repository_of "${from%/}")
  [ -n "$repository" ] || repository=$(repository_of "$release_url")
  if [ -z "$repository" ] || [ -n "$skips_attestation" ]; then return 0; fi
  if ! has gh || ! gh auth token >/dev/null 2>&1 </dev/null; then return 0; fi
  reason=$(gh attestation verify "$work/postern" --repo "$repository" \
    --signer-workflow "$repository/.github/workflows/release.yml" 2>&1 </dev/null) ||
    fail "Cannot use $file: gh cannot verify its attestation: $(last_words "$reason")" \
      'check the published release; to install it anyway: --skip-attestation'
  built_by=$repository
}

# Prints OWNER/NAME of a project with releases on GitHub; nothing for other sites.
repository_of() { # URL
  case $1 in
    https://github.com/*/*/releases/download)
      name=${1#https://github.com/}
      printf '%s' "${name%/releases/download}"
      ;;
  esac
}

put_in_place() {
  chmod 755 "$work/postern"
  said=$("$work/postern" --version 2>&1 </dev/null) ||
    fail "Cannot run $file: $(last_words "$said")" 'use a system with the GNU C library, and a directory mounted without noexec: --to DIRECTORY'
  [ "$said" = "postern $version" ] ||
    fail "Cannot use $file: it reports \"$said\" instead of \"postern $version\"" 'check the published release'
  was_there=''
  [ ! -e "$to/postern" ] || was_there=1
  reason=$(mv -f "$work/postern" "$to/postern" 2>&1) ||
    fail "Cannot replace \"$to/postern\": $(last_words "$reason")" 'choose another directory: --to DIRECTORY'
  is_done=1
  say "installed $said in $to"
  if [ -n "$built_by" ]; then
    say "gh verified that the release workflow of $built_by built it"
  else
    say 'the checksum comes from the same site: it proves a complete download, not who built it'
    [ -z "$repository" ] || say "verify who built it: gh attestation verify \"$to/postern\" --repo $repository"
  fi
  [ -z "$was_there" ] || say 'running instances keep the previous program until you restart them'
  case :${PATH:-}: in
    *":$to:"*)
      first=$(command -v postern || :)
      [ "$first" = "$to/postern" ] || say "your shell finds $first first"
      ;;
    *) say "$to is not in your PATH: export PATH=\"$to:\$PATH\"" ;;
  esac
}

has() { command -v "$1" >/dev/null 2>&1; }

# Prints the last line of a program's output without its full stop.
last_words() {
  last=''
  while IFS= read -r line; do [ -z "$line" ] || last=$line; done <<END
$1
END
  printf '%s' "${last%.}"
}

main "$@"
}
