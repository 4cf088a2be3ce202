//! The cases of procedures that administrators' scripts call.

use super::cases::{Case, SYSADMIN, VIEW_STATE, case};

pub(super) const DBA: &[Case] = &[
    case(
        "sp_addtype",
        "EXEC sp_addtype 'ty3', 'varchar(5)'",
        &[262],
        &[("GRANT CREATE TYPE TO {u}", &[2760]), ("GRANT ALTER ON SCHEMA::dbo TO {u}", &[])],
    ),
    case(
        "sp_droptype",
        "EXEC sp_droptype 'ty'",
        &[3701],
        &[("GRANT ALTER ON SCHEMA::dbo TO {u}", &[])],
    ),
    case("sp_monitor", "EXEC sp_monitor", &[15247], &[(SYSADMIN, &[])]),
    case("sp_readerrorlog", "EXEC sp_readerrorlog", &[15247], &[(SYSADMIN, &[])]),
    case("xp_create_subdir", "EXEC xp_create_subdir '/tmp'", &[15247], &[(SYSADMIN, &[])]),
    case("xp_dirtree", "EXEC xp_dirtree '/proc/self/attr', 1", &[15247], &[(SYSADMIN, &[])]),
    case("xp_fileexist", "EXEC xp_fileexist '/tmp'", &[15247], &[(SYSADMIN, &[])]),
    case("xp_fixeddrives", "EXEC xp_fixeddrives", &[300, 297], &[(VIEW_STATE, &[])]),
    case(
        "xp_instance_regread",
        "EXEC xp_instance_regread 'a', 'b', 'LoginMode'",
        &[15247],
        &[(SYSADMIN, &[])],
    ),
    case("xp_readerrorlog", "EXEC xp_readerrorlog 0, 1", &[15247], &[(SYSADMIN, &[])]),
    case("xp_regread", "EXEC xp_regread 'a', 'b', 'LoginMode'", &[15247], &[(SYSADMIN, &[])]),
];
