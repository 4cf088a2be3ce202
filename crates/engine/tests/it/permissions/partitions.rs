//! Cases of partition functions and schemes: all ask for ALTER ANY DATASPACE.

use super::cases::{Case, after, case};

const DATASPACE: &[(&str, &[i32])] = &[("GRANT ALTER ANY DATASPACE TO {u}", &[])];
const FUNCTION: &str = "CREATE PARTITION FUNCTION pf (int) AS RANGE FOR VALUES (1)";
const SCHEME: &str = "CREATE PARTITION SCHEME ps AS PARTITION pf ALL TO ([PRIMARY])";
const LINE: &str = "CREATE and ALTER of PARTITION FUNCTION and PARTITION SCHEME";

pub(super) static PARTITIONS: &[Case] = &[
    case(LINE, FUNCTION, &[6004], DATASPACE),
    after(&[FUNCTION], case(LINE, SCHEME, &[6004], DATASPACE)),
    after(
        &[FUNCTION],
        case(LINE, "ALTER PARTITION FUNCTION pf() SPLIT RANGE (5)", &[6004], DATASPACE),
    ),
    after(
        &[FUNCTION, SCHEME],
        case(LINE, "ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]", &[6004], DATASPACE),
    ),
    after(
        &[FUNCTION],
        case("DROP PARTITION FUNCTION", "DROP PARTITION FUNCTION pf", &[6004], DATASPACE),
    ),
    after(
        &[FUNCTION, SCHEME],
        case("DROP PARTITION SCHEME", "DROP PARTITION SCHEME ps", &[6004], DATASPACE),
    ),
];
