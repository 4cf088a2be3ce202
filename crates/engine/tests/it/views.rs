//! Every system view returns rows, with values of the types of its columns.

use crate::client::{batch, instance, login};

#[test]
fn every_view_can_be_read_and_its_values_have_the_columns_types() {
    let instance = instance();
    let mut session = login(&instance);
    let listed = batch(
        &mut session,
        "SELECT s.name, v.name FROM sys.all_views v JOIN sys.schemas s ON s.schema_id = v.schema_id \
         UNION ALL SELECT 'msdb.dbo', name FROM msdb.sys.objects WHERE is_ms_shipped = 1",
    );
    assert!(listed.errors.is_empty(), "{:?}", listed.errors);
    assert!(listed.sets[0].len() > 50, "there are views");
    for view in &listed.sets[0] {
        let [schema, name] = view.as_slice() else { panic!("two columns") };
        let answer = batch(&mut session, &format!("SELECT * FROM {schema}.{name}"));
        assert!(answer.errors.is_empty(), "{schema}.{name}: {:?}", answer.errors);
        for (row, columns) in answer.sets[0].iter().zip(std::iter::repeat(&answer.columns[0])) {
            for (value, column) in row.iter().zip(columns) {
                assert!(!value.starts_with("<Msg"), "{schema}.{name}.{}: {value}", column.name);
                let null_allowed = column.column_type.nullable;
                assert!(null_allowed || value != "NULL", "{schema}.{name}.{}", column.name);
            }
        }
    }
}
