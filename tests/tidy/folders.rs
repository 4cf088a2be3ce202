//! One style of modules: a module with a folder is `x/mod.rs`, not `x.rs` beside `x/`.

use crate::{root, sources};

/// Modules that are still `x.rs` beside `x/`: the end of their path. Takes no new ones; those that are gone may stay
/// until the list is empty.
const BESIDE_A_FOLDER: &[&str] = &[
    "ddl/alter.rs",
    "ddl/shape.rs",
    "dml/bulk.rs",
    "hash_join.rs",
    "optimizer/src/seek.rs",
    "plan/src/sink.rs",
    "prepared.rs",
    "race/src/protocol.rs",
    "security/definition.rs",
    "session/src/instance.rs",
    "types/src/arith.rs",
    "types/src/collation.rs",
    "types/src/collation/like.rs",
    "types/src/convert.rs",
    "types/src/date.rs",
    "types/src/decimal.rs",
    "types/src/error.rs",
    "types/src/error/messages.rs",
    "types/src/key.rs",
    "types/src/row.rs",
    "types/src/type_rules.rs",
    "types/src/xml.rs",
];

#[test]
fn a_module_with_a_folder_is_in_it() {
    let beside: Vec<_> = sources()
        .into_keys()
        .filter(|file| file.with_extension("").is_dir())
        .map(|file| file.strip_prefix(root()).expect("below the root").to_path_buf())
        .filter(|file| !BESIDE_A_FOLDER.iter().any(|known| file.ends_with(known)))
        .collect();
    assert!(beside.is_empty(), "beside a folder of the same name, make each x/mod.rs: {beside:?}");
}
