//! Compiles a program as a whole before its first statement runs.

use ::compile::check::{Plans, check};
use types::Error;

use super::{Runner, Stop};
use ::executor::Cx;

impl Runner<'_> {
    /// Binds everything that can be bound before the program runs; done once per program.
    ///
    /// # Errors
    /// [`Stop::Unbound`] with all errors found; no TRY block of the program catches it.
    #[inline]
    pub fn compile(&self, cx: &mut Cx<'_>) -> Result<(), Stop> {
        if self.program.compiled.get().is_some() {
            return Ok(());
        }
        self.compile_now(cx)
    }

    #[cold]
    fn compile_now(&self, cx: &mut Cx<'_>) -> Result<(), Stop> {
        if cx.session.options.parse_only {
            return Ok(());
        }
        // A single statement is bound when it runs: there is no other one that it could keep from
        // running.
        if self.program.is_alone() {
            let _ = self.program.compiled.set(());
            return Ok(());
        }
        cx.session.accounting.meter.pause();
        let current = self.program.catalog_version == cx.session.catalog.version;
        let keeps = current && !self.program.switches_database;
        let errors =
            check(cx.session, self.program, if keeps { Plans::Kept } else { Plans::Dropped });
        let spent = cx.session.accounting.meter.unpause();
        if let Some(books) = &self.program.books {
            books.bound(&spent);
        }
        match Error::all(errors.ok_or(Stop::Cancelled)?) {
            Some(error) => Err(Stop::Unbound(error.in_procedure(self.procedure))),
            None => {
                // Another session may have set it, with the same result.
                let _ = self.program.compiled.set(());
                Ok(())
            }
        }
    }
}
