//! Permission cases of bulk loads.

use super::cases::{ALTER_T, Case, FILES, INSERT_T, after, case};

pub(super) static LOADS: &[Case] = &[
    case(
        "sp_delete_backuphistory",
        "EXEC sp_delete_backuphistory '2001-01-01'",
        &[15247],
        &[("ALTER SERVER ROLE sysadmin ADD MEMBER {u}", &[])],
    ),
    case(
        "sp_delete_database_backuphistory",
        "EXEC sp_delete_database_backuphistory 'none'",
        &[15247],
        &[("ALTER SERVER ROLE sysadmin ADD MEMBER {u}", &[])],
    ),
    case("INSERT BULK", "INSERT BULK t (a int)", &[229], &[("GRANT INSERT ON t TO {u}", &[])]),
    // BULK INSERT, bcp: "ALTER TABLE permission is required if ..".
    after(
        &["ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0)"],
        case(
            "INSERT BULK",
            "INSERT BULK t (a int)",
            &[229],
            &[(INSERT_T, &[1088]), (ALTER_T, &[])],
        ),
    ),
    after(
        &["ALTER TABLE t ADD CONSTRAINT positive CHECK (a > 0)"],
        case(
            "INSERT BULK",
            "INSERT BULK t (a int) WITH (CHECK_CONSTRAINTS)",
            &[229],
            &[(INSERT_T, &[])],
        ),
    ),
    case(
        "INSERT BULK",
        "INSERT BULK t (id int, a int)",
        &[229],
        &[(INSERT_T, &[1088]), (ALTER_T, &[])],
    ),
    case(
        "BULK INSERT",
        "BULK INSERT t FROM '/no/such/file'",
        &[4834],
        &[(FILES, &[229]), (INSERT_T, &[4860])],
    ),
    after(
        &["CREATE TRIGGER ti ON t AFTER INSERT AS PRINT 'added'"],
        case(
            "BULK INSERT",
            "BULK INSERT t FROM '/no/such/file'",
            &[4834],
            &[(FILES, &[229]), (INSERT_T, &[1088]), (ALTER_T, &[4860])],
        ),
    ),
    after(
        &["CREATE TRIGGER ti ON t AFTER INSERT AS PRINT 'added'"],
        case(
            "BULK INSERT",
            "BULK INSERT t FROM '/no/such/file' WITH (FIRE_TRIGGERS)",
            &[4834],
            &[(FILES, &[229]), (INSERT_T, &[4860])],
        ),
    ),
    case(
        "BULK INSERT",
        "BULK INSERT t FROM '/no/such/file' WITH (KEEPIDENTITY)",
        &[4834],
        &[(FILES, &[229]), (INSERT_T, &[1088]), (ALTER_T, &[4860])],
    ),
];
