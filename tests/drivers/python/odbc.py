"""What the two clients of Microsoft's ODBC driver share."""

import re

import common

# ODBC type codes with size and digits, for NULLs: without them a NULL goes as varchar, which SQL
# Server does not convert to binary.
BINARY_NULLS = {"binary": (-2, 8, 0), "varbinary": (-3, 8000, 0), "varbinary(max)": (-3, 0, 0)}


def connection_string(password=None, database=None, strict=False, driver=None):
    """Default encryption (mandatory since driver 18); strict checks the certificate itself."""
    work = common.WORK
    parts = [f"DRIVER={{{driver}}}"] if driver else []
    parts += [f"SERVER={work['host']},{work['port']}", f"UID={work['user']}", f"PWD={{{password or work['password']}}}"]
    if database:
        parts.append(f"DATABASE={database}")
    if strict:
        parts += ["Encrypt=strict", f"ServerCertificate={work['cert']}", "HostNameInCertificate=localhost"]
    else:
        parts.append("TrustServerCertificate=yes")
    return ";".join(parts) + ";"


class Odbc(common.Driver):
    def procedure_batch(self, connection):
        """Neither client binds OUTPUT parameters; a batch carries them."""
        cursor = connection.cursor()
        cursor.execute(
            "declare @b nvarchar(50) = ?, @c int, @r int exec @r = p_{} ?, @b output, @c output "
            "select @b, @c, @r".format(common.MARK),
            ("in", 21),
        )
        rows = [row[0] for row in cursor.fetchall()]
        cursor.nextset()
        last = cursor.fetchone()
        return rows, last[0], last[1], last[2]

    call = procedure_batch


def numbers_in(text):
    """The server's error numbers in a diagnostic text of unixODBC: `... (208) (SQLExecDirectW)`."""
    return [int(n) for n in re.findall(r"\((\d+)\)", text)]
