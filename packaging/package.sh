#!/usr/bin/env bash
# make package: target/package/clearway-VERSION-ARCH.tar.gz and clearway_VERSION_ARCH.deb, from target/release/clearway or the
# binary that BINARY names.
#
#   stage/   what the package installs: binary, manual, completions, service, licences
#   .tar.gz  the same for machines without dpkg; the service's unit is a file to copy
#   .deb     by dpkg-deb alone; what it depends on is read from the binary
#
# QUICK=1 hardly compresses: for tests. OUT names another folder than target/package; what else is in it stays.
# Needs dpkg-deb, readelf, gzip, python3 and cargo (for the list of licences). The binary is not stripped: the sampler reads its line tables (0385).
set -euo pipefail
cd "$(dirname "$0")/.."

BINARY=${BINARY:-target/release/clearway}
OUT=${OUT:-target/package}
STAGE=$OUT/stage
[ -x "$BINARY" ] || { echo "package: $BINARY is missing: make build" >&2; exit 1; }
VERSION=$("$BINARY" --version | cut -d' ' -f2)
if [ -n "${QUICK:-}" ]; then XZ=-Znone GZIP=-1n; else XZ=-Zxz GZIP=-9n; fi
case $(uname -m) in
x86_64) ARCH=amd64 ;;
aarch64) ARCH=arm64 ;;
*) echo "package: no package for $(uname -m)" >&2; exit 1 ;;
esac
# All files have the time of the source, so that two packages of one binary are the same.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

rm -rf "${OUT:?}/stage" "$OUT"/clearway-*.tar.gz "$OUT"/clearway_*.deb
DOC=$STAGE/usr/share/doc/clearway
mkdir -p "$STAGE/usr/bin" "$DOC" "$STAGE/usr/share/man/man1" "$STAGE/usr/share/lintian/overrides" \
    "$STAGE/usr/share/bash-completion/completions" "$STAGE/usr/share/zsh/vendor-completions" \
    "$STAGE/lib/systemd/system" "$STAGE/etc/default" "$STAGE/DEBIAN"
install -m 755 "$BINARY" "$STAGE/usr/bin/clearway"
install -m 644 README.md NOTICE docs/install.md docs/container.md docs/durability.md docs/memory.md "$DOC"
packaging/licences.py > "$DOC/THIRD-PARTY"
gzip -9n "$DOC/THIRD-PARTY"
cp -f "$DOC/THIRD-PARTY.gz" "$OUT"

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
packaging/man.py "$BINARY" "$made"
for page in "$made"/*.1; do
    gzip -9nc "$page" > "$STAGE/usr/share/man/man1/$(basename "$page").gz"
done
install -m 644 "$made/clearway.bash" "$STAGE/usr/share/bash-completion/completions/clearway"
install -m 644 "$made/_clearway" "$STAGE/usr/share/zsh/vendor-completions/_clearway"

# The archive: nothing is installed by it; the licence is beside the binary.
ARCHIVE=clearway-$VERSION-$ARCH
mkdir -p "$OUT/$ARCHIVE"
cp -r "$STAGE/usr/bin/clearway" README.md LICENSE NOTICE "$DOC/THIRD-PARTY.gz" "$STAGE/usr/share/man" "$OUT/$ARCHIVE"
install -Dm 644 "$made/clearway.bash" "$OUT/$ARCHIVE/completions/clearway.bash"
install -Dm 644 "$made/_clearway" "$OUT/$ARCHIVE/completions/_clearway"
install -Dm 644 packaging/debian/clearway.service "$OUT/$ARCHIVE/systemd/clearway.service"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$OUT" -cf - "$ARCHIVE" |
    gzip "$GZIP" > "$OUT/$ARCHIVE.tar.gz"
rm -r "${OUT:?}/$ARCHIVE"

install -m 644 packaging/debian/clearway.service "$STAGE/lib/systemd/system/clearway.service"
install -m 640 packaging/debian/clearway.default "$STAGE/etc/default/clearway"
install -m 644 packaging/debian/lintian-overrides "$STAGE/usr/share/lintian/overrides/clearway"
{
    echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
    echo "Upstream-Name: Clearway"
    echo
    echo "Files: *"
    echo "Copyright: 2026 The Clearway authors"
    echo "License: Apache-2.0"
    echo " On Debian systems the text is in /usr/share/common-licenses/Apache-2.0."
    echo "Comment: The crates in the binary and their licences are in THIRD-PARTY.gz beside this file."
} > "$DOC/copyright"
{
    echo "clearway ($VERSION) stable; urgency=medium"
    echo
    echo "  * Version $VERSION."
    echo
    echo " -- The Clearway authors <clearway@localhost.invalid>  $(date -Rud "@$SOURCE_DATE_EPOCH")"
} | gzip -9n > "$DOC/changelog.gz"
for script in postinst prerm postrm; do
    install -m 755 "packaging/debian/$script" "$STAGE/DEBIAN/$script"
done
echo /etc/default/clearway > "$STAGE/DEBIAN/conffiles"
{
    echo "Package: clearway"
    echo "Version: $VERSION"
    echo "Architecture: $ARCH"
    echo "Maintainer: The Clearway authors <clearway@localhost.invalid>"
    echo "Installed-Size: $(du -sk --apparent-size --exclude=DEBIAN "$STAGE" | cut -f1)"
    echo "Depends: $(packaging/depends.py "$BINARY"), adduser"
    echo "Section: database"
    echo "Priority: optional"
    echo "Description: in-memory SQL engine that speaks SQL Server's protocol"
    echo " Clearway is an in-memory SQL engine in one binary. It speaks SQL Server's wire"
    echo " protocol (TDS) and T-SQL, so an application changes its connection string and"
    echo " nothing else. It is made for hot, short, highly concurrent work: session state,"
    echo " distributed caches, counters, queues."
} > "$STAGE/DEBIAN/control"
(cd "$STAGE" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
find "$STAGE" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group "$XZ" --build "$STAGE" "$OUT/clearway_${VERSION}_$ARCH.deb" >/dev/null
rm -r "$STAGE"
ls -l "$OUT"
