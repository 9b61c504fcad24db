#!/bin/sh
# Installs postern: fetches its program from a release, checks it, and puts it in place.
#
#   curl -fsSL URL/install.sh | sh
#   curl -fsSL URL/install.sh | sh -s -- --version 0.1.0 --to /usr/local/bin
#
# Everything is in one pair of braces: of a script that comes cut short a shell runs nothing.
{
set -eu

# The release writes its own into these two.
release_version=''
release_url=''

usage() {
  cat <<'END'
usage: install.sh [--version VERSION] [--to DIRECTORY] [--from URL] [--skip-attestation]

Fetches the program of postern for this system, checks it, and puts it into DIRECTORY in one step: a door that
runs keeps the file that it has. The checksum beside the program proves that the download is whole, not who built
it. Where gh is here and signed in, it verifies the attestation: that the project's release workflow built it.

  --version VERSION  the release to install; that of this script unless told
  --to DIRECTORY     where to; ~/.local/bin unless told
  --from URL         where releases are: URL/vVERSION/postern-VERSION-SYSTEM; also POSTERN_RELEASES
  --skip-attestation installs without verifying the attestation
  --help             this text
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
        [ $# -ge 2 ] || fail "Cannot read the command line: nothing stands behind $1" 'see --help' 2
        take "$1" "$2"
        shift 2
        ;;
      *) fail "Cannot read the command line: \"$1\" is not known" 'see --help' 2 ;;
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
  [ -n "$version" ] || fail 'Cannot tell which release to install' 'name it: --version 0.1.0' 2
  case $version in
    *[!0-9A-Za-z.+-]*) fail "Cannot install \"$version\": that is no version" 'write it as 0.1.0' 2 ;;
  esac
  [ -n "$from" ] || fail 'Cannot tell where releases are' 'name it: --from https://HOST/PATH' 2
  # The checksum comes by the same way as the program.
  case $from in
    https://*) protocols='=https' ;;
    http://127.0.0.1[:/]* | http://localhost[:/]* | 'http://[::1]'[:/]*) protocols='=http,https' ;;
    *) fail "Cannot fetch from \"$from\": anybody on the way could change it" 'name an address with https://' 2 ;;
  esac
  if [ -z "$to" ]; then
    [ -n "${HOME:-}" ] || fail 'Cannot tell where to install: HOME is not set' 'name a directory: --to DIRECTORY' 2
    to=$HOME/.local/bin
  fi
  case $to in
    /*) ;;
    *) to=$(pwd)/$to ;;
  esac
}

# As the files of a release are called.
choose_system() {
  kernel=$(uname -s) machine=$(uname -m)
  case $kernel in
    Linux) system=linux ;;
    Darwin) system=macos ;;
    MINGW* | MSYS* | CYGWIN*) fail 'Cannot install on Windows' 'use install.ps1 in PowerShell' ;;
    *) fail "Cannot install on $kernel: there is no program for it" 'there are some for Linux, macOS and Windows' ;;
  esac
  # A shell that is translated on a Mac with Apple's processor says x86_64.
  if [ "$system $machine" = 'macos x86_64' ] && [ "$(sysctl -n hw.optional.arm64 2>/dev/null)" = 1 ]; then
    machine=arm64
  fi
  case $machine in
    x86_64 | amd64) system=$system-x64 ;;
    aarch64 | arm64) system=$system-arm64 ;;
    *) fail "Cannot install on $machine: there is no program for it" 'there are some for x86_64 and arm64' ;;
  esac
  bits=$(getconf LONG_BIT 2>/dev/null || echo 64)
  [ "$bits" = 64 ] || fail "Cannot install on this system: it has $bits bits" 'postern needs one of 64'
}

work='' made='' is_done=''

# A directory of ours in the one where the program goes: from there it is put in place by renaming, and nobody
# else can touch it before.
make_place() {
  missing=''
  above=$to
  while [ ! -d "$above" ]; do
    missing=$above
    above=$(dirname "$above")
  done
  if [ -n "$missing" ]; then
    made=$missing
    reason=$(mkdir -p "$to" 2>&1) || fail "Cannot make \"$to\": $(last_words "$reason")" 'name another directory: --to DIRECTORY'
  fi
  [ ! -d "$to/postern" ] || fail "Cannot install: \"$to/postern\" is a directory" 'name another one: --to DIRECTORY'
  reason=$(mktemp -d "$to/.postern.XXXXXX" 2>&1) ||
    fail "Cannot write into \"$to\": $(last_words "$reason")" 'name another directory: --to DIRECTORY'
  work=$reason
}

# Removes what is half done, also directories that were made for it.
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
    # That of GNU tells nothing with -q, and tries twenty times unless it is told. That of busybox may crash at -T.
    case $(wget --version 2>&1) in
      *GNU*) set -- "$1" wget -nv -t 2 -T 60 -O "$2" "$1" ;;
      *) set -- "$1" wget -q -O "$2" "$1" ;;
    esac
  else
    fail 'Cannot fetch anything: neither curl nor wget is here' 'install one of them'
  fi
  address=$1
  shift
  reason=$(LC_ALL=C "$@" 2>&1 </dev/null) && return 0
  case $reason in
    *404*) hint='see which releases there are, and name one: --version VERSION' ;;
    *) hint='see whether this machine gets there; a proxy on the way is named by https_proxy' ;;
  esac
  fail "Cannot fetch $address: $(last_words "$reason")" "$hint"
}

check_sum() {
  sum='' name=''
  read -r sum name <"$work/sum" || :
  if ! is_sum "$sum" || [ "${name#\*}" != "$file" ]; then
    fail "Cannot check $file: what is at $url.sha256 is no checksum of it" 'look at that address'
  fi
  if has sha256sum; then
    found=$(sha256sum "$work/postern")
  elif has shasum; then
    found=$(shasum -a 256 "$work/postern")
  elif has openssl; then
    found=$(openssl dgst -sha256 -r "$work/postern")
  else
    fail "Cannot check $file: neither sha256sum, shasum nor openssl is here" 'install one of them'
  fi
  found=${found%%[ *]*}
  [ "$found" = "$sum" ] ||
    fail "Cannot use $file: its checksum is $found and should be $sum" 'fetch it again; if that does not help, somebody has changed it'
}

is_sum() {
  [ ${#1} -eq 64 ] || return 1
  case $1 in *[!0-9a-f]*) return 1 ;; esac
}

# gh asks GitHub, and not the place that the program comes from.
check_origin() {
  built_by=''
  repository=$(repository_of "${from%/}")
  [ -n "$repository" ] || repository=$(repository_of "$release_url")
  if [ -z "$repository" ] || [ -n "$skips_attestation" ]; then return 0; fi
  if ! has gh || ! gh auth token >/dev/null 2>&1 </dev/null; then return 0; fi
  reason=$(gh attestation verify "$work/postern" --repo "$repository" \
    --signer-workflow "$repository/.github/workflows/release.yml" 2>&1 </dev/null) ||
    fail "Cannot use $file: gh cannot verify its attestation: $(last_words "$reason")" \
      'look at what is published there; to install it nevertheless: --skip-attestation'
  built_by=$repository
}

# OWNER/NAME of the project whose releases are there; nothing where they are not on GitHub.
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
    fail "Cannot run $file here: $(last_words "$said")" 'it needs the C library of GNU, and a directory whose programs may run: --to DIRECTORY'
  [ "$said" = "postern $version" ] ||
    fail "Cannot use $file: it says that it is \"$said\"" 'look at what is published there'
  was_there=''
  [ ! -e "$to/postern" ] || was_there=1
  reason=$(mv -f "$work/postern" "$to/postern" 2>&1) ||
    fail "Cannot replace \"$to/postern\": $(last_words "$reason")" 'name another directory: --to DIRECTORY'
  is_done=1
  say "$said is in $to"
  if [ -n "$built_by" ]; then
    say "gh verified that the release workflow of $built_by built it"
  else
    say 'its checksum comes from the same place: it proves that the download is whole, not who built it'
    [ -z "$repository" ] || say "verify who built it: gh attestation verify \"$to/postern\" --repo $repository"
  fi
  [ -z "$was_there" ] || say 'a door that runs goes on with the program it had, until it is started again'
  case :${PATH:-}: in
    *":$to:"*)
      first=$(command -v postern || :)
      [ "$first" = "$to/postern" ] || say "your shell takes $first first"
      ;;
    *) say "$to is not in your PATH: export PATH=\"$to:\$PATH\"" ;;
  esac
}

has() { command -v "$1" >/dev/null 2>&1; }

# What a program has said last, as a part of a sentence.
last_words() {
  last=''
  while IFS= read -r line; do [ -z "$line" ] || last=$line; done <<END
$1
END
  printf '%s' "${last%.}"
}

main "$@"
}
