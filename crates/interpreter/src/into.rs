//! SELECT .. INTO: creates the table, then inserts the rows.

use storage::RowImage;
use types::{Msg, Result};

use ::catalog::TableDef;
use ::catalog::name::Name;
use ::ddl;
use ::executor::eval::eval;
use ::executor::query::{Flow, run_query};
use ::executor::statement::{in_transaction, prepare, row_limit};
use ::executor::{Cx, StatementResult, fault};
use ::plan::sink::Command;
use ::plan::statement::SelectInto;
use ::session::instance::SessionCounter;

/// Runs SELECT .. INTO or CREATE EXTERNAL TABLE .. AS SELECT; a failure leaves no table behind.
pub fn run_select_into(into: &SelectInto, cx: &mut Cx<'_>) -> Result<StatementResult> {
    let mark = cx.session.mark_definitions();
    let done = match &into.export {
        Some(export) => crate::export::run(into, export, cx),
        None => make_and_fill(into, cx),
    };
    cx.session.end_definition(&mark, done.is_err());
    done
}

fn make_and_fill(into: &SelectInto, cx: &mut Cx<'_>) -> Result<StatementResult> {
    let table = ddl::create_from_columns(&into.target, &into.columns, cx)?;
    prepare(cx, into.registers);
    let limit = row_limit(cx);
    let mut count = 0;
    let done = in_transaction(cx, &mut |cx| {
        let Some(transaction) = cx.transaction else { return Err(Msg::InternalError.into()) };
        count = 0;
        run_query(&into.query, cx, &mut |cx| {
            let mut values = std::mem::take(&mut cx.scratch.output);
            values.clear();
            for column in &into.query.output {
                values.push(eval(&column.expr, cx)?);
            }
            let mut buffer = std::mem::take(&mut cx.scratch.row);
            table.layout.encode(&values, &mut buffer);
            let stored = transaction.insert(&table.rows.data, RowImage::from(&buffer)).map(|_| ());
            cx.scratch.row = buffer;
            cx.scratch.output = values;
            stored.map_err(|e| fault::raise(cx, e))?;
            cx.count_written(&table, 1);
            count += 1;
            Ok(if count == limit { Flow::Enough } else { Flow::More })
        })
    });
    if let Err(error) = done {
        forget(&table, cx)?;
        return Err(error);
    }
    Ok(StatementResult { command: Command::SELECT_INTO, rows: count })
}

/// Removes the table after a failure.
fn forget(table: &TableDef, cx: &mut Cx<'_>) -> Result<()> {
    if cx.session.temp.remove(table.id) {
        cx.session.accounting.counters.count(SessionCounter::TempTablesDropped);
    } else {
        let key = (Name::new(&table.schema), Name::new(&table.name));
        cx.session.change_catalog(|catalog| {
            let database = catalog.database_by_id(table.database_id).map(|d| d.name.clone());
            if let Some(database) = database.and_then(|d| catalog.database_mut(&d)) {
                database.objects.remove(&key);
            }
            Ok(())
        })?;
    }
    cx.session.note_gone(&table.rows.data);
    Ok(())
}
