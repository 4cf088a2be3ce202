#!/usr/bin/env bash
# Installs Microsoft's SqlToolsService into .tools/sqltools: out of the wheel of mssql-cli, and OpenSSL 1.1, which its .NET
# needs, out of a wheel of psycopg2-binary. Nothing of either is run as Python or shipped.
set -euo pipefail
cd "$(dirname "$0")/../../.."
home=.tools/sqltools
if [ -x "$home/mssqlcli/mssqltoolsservice/bin/MicrosoftSqlToolsServiceLayer" ] && [ -e "$home/openssl/libssl.so.1.1" ]; then
    exit 0
fi
rm -rf "$home"
mkdir -p "$home/wheels" "$home/openssl"
download=(.venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$home/wheels")
"${download[@]}" --platform manylinux1_x86_64 mssql-cli==1.0.0
"${download[@]}" --platform manylinux2014_x86_64 --python-version 310 --implementation cp --abi cp310 psycopg2-binary==2.9.3
for wheel in "$home"/wheels/*.whl; do
    .venv/bin/python -m zipfile -e "$wheel" "$home"
done
mv "$home"/psycopg2_binary.libs/lib{ssl,crypto}-*.so.1.1 "$home/openssl"
ln -s "$(basename "$home"/openssl/libssl-*)" "$home/openssl/libssl.so.1.1"
ln -s "$(basename "$home"/openssl/libcrypto-*)" "$home/openssl/libcrypto.so.1.1"
chmod +x "$home/mssqlcli/mssqltoolsservice/bin/MicrosoftSqlToolsServiceLayer"
rm -rf "$home"/wheels "$home"/psycopg2*
