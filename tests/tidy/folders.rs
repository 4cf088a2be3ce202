//! One style of modules: a module with a folder is `x/mod.rs`, not `x.rs` beside `x/`.

use crate::{root, sources};

#[test]
fn a_module_with_a_folder_is_in_it() {
    let beside: Vec<_> = sources()
        .keys()
        .filter(|file| file.with_extension("").is_dir())
        .map(|file| file.strip_prefix(root()).expect("below the root").to_path_buf())
        .collect();
    assert!(beside.is_empty(), "beside a folder of the same name, make each x/mod.rs: {beside:?}");
}
