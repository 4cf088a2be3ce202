#!/bin/sh
# Tries the package where nothing is lost: as root in a fresh container of Debian, packaging/debian/check.sh PACKAGE.deb
#
# Installs it, changes its configuration, upgrades, removes, installs again and purges. Without systemd running, the service itself is
# started as the unit would: by its user, with its folder.
set -eu
PACKAGE=$1
DATA=/var/lib/clearway/data

fail() {
    echo "check: $1" >&2
    exit 1
}

dpkg -i "$PACKAGE" >/dev/null 2>&1 || { dpkg -i "$PACKAGE"; fail "it does not install"; }
[ "$(stat -c '%U %a' /etc/default/clearway)" = "root 640" ] || fail "the options' owner and mode"
getent passwd clearway | grep -q nologin || fail "the user"
clearway --version

# As the unit: the folder of StateDirectory, the user, the options.
install -d -o clearway -g clearway -m 750 /var/lib/clearway
setpriv --reuid clearway --regid clearway --clear-groups env -i CLEARWAY_SA_PASSWORD=Secret-Word1 \
    clearway serve --data "$DATA" >/tmp/out 2>&1 &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    if grep -q "is ready" /tmp/out; then break; fi
    sleep 0.5
done
[ "$(clearway sqlcmd -S localhost -U sa -P Secret-Word1 -b -h-1 -W -Q "SET NOCOUNT ON; SELECT 42")" = 42 ] || fail "no answer"
kill "$server"
wait "$server" || fail "the exit code of a stop"

# An upgrade keeps what the administrator wrote.
echo "CLEARWAY_OPTIONS=--listen 0.0.0.0" >> /etc/default/clearway
dpkg-deb -R "$PACKAGE" /tmp/next
sed -i 's/^Version: .*/&+1/' /tmp/next/DEBIAN/control
echo "# A new comment." >> /tmp/next/etc/default/clearway
dpkg-deb -Znone -b /tmp/next /tmp/next.deb >/dev/null
dpkg --force-confdef --force-confold -i /tmp/next.deb >/dev/null 2>&1 || fail "it does not upgrade"
grep -q "^CLEARWAY_OPTIONS=" /etc/default/clearway || fail "the upgrade lost the options"
[ -f "$DATA/database" ] || fail "the upgrade lost the data"

dpkg -r clearway >/dev/null 2>&1 || fail "it is not removed"
if [ -e /usr/bin/clearway ]; then fail "the binary stays"; fi
[ -f "$DATA/database" ] || fail "removing it took the data"
grep -q "^CLEARWAY_OPTIONS=" /etc/default/clearway || fail "removing it took the options"
dpkg --force-confdef --force-confold -i "$PACKAGE" >/dev/null 2>&1 || fail "it does not install again"
dpkg -P clearway >/dev/null 2>&1 || fail "it is not purged"
if [ -e /var/lib/clearway ] || [ -e /etc/default/clearway ]; then fail "purging it left data or options"; fi
echo ok
