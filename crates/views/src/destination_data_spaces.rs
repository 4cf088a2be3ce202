//! `sys.destination_data_spaces`: the filegroups of partition schemes, by partition. The filegroup
//! that is marked as NEXT USED follows the last partition.

use metadata::column::{Column, INT, col, int, rows, shape};
use metadata::{Rows, Scope, SystemView};

/// The columns, read from (`partition_scheme_id`, `destination_id`, `data_space_id`).
const COLUMNS: &[Column<[i32; 3]>] = &[
    col("partition_scheme_id", INT, |r| int(r[0])),
    col("destination_id", INT, |r| int(r[1])),
    col("data_space_id", INT, |r| int(r[2])),
];

pub(crate) static VIEW: SystemView = SystemView {
    schema: "sys",
    name: "destination_data_spaces",
    columns: || shape(COLUMNS),
    rows: read,
    arity: 0,
};

fn read(scope: &Scope<'_>) -> Rows {
    let mut found = Vec::new();
    for scheme in scope.database.partition_schemes.values() {
        for (place, group) in (1..).zip(scheme.filegroups.iter().chain(&scheme.next)) {
            let id = scope.database.filegroup_id(group).unwrap_or(1);
            found.push([scheme.id, place, id]);
        }
    }
    rows(COLUMNS, found)
}
