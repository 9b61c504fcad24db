#!/bin/sh
# Creates new certificates for the tests, valid for a hundred years. Their keys are public: use them only for tests.
set -eu
cd "$(dirname "$0")"
extensions=$(mktemp)
trap 'rm -f "$extensions" ca.srl' EXIT

new_key() { openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out "$1.key"; }
signed() { # name, extensions
  new_key "$1"
  printf '%s\nbasicConstraints=CA:FALSE\n' "$2" >"$extensions"
  openssl req -new -key "$1.key" -subj "/CN=postern test $1" |
    openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial -days 36500 -extfile "$extensions" -out "$1.crt"
}

new_key ca
openssl req -x509 -new -key ca.key -subj "/CN=postern test CA" -days 36500 -out ca.crt \
  -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign,cRLSign"
signed server "subjectAltName=DNS:site.example.net,DNS:*.apps.example.net,IP:127.0.0.1,IP:::1
extendedKeyUsage=serverAuth"
signed client "extendedKeyUsage=clientAuth"
rm ca.key
