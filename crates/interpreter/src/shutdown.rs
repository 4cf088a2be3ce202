//! SHUTDOWN: asks the program around the engine to stop the server, as a signal does.

use sos::sync::Arc;
use types::{Error, Msg};

use crate::Stop;
use ::executor::Cx;
use ::session::instance::Shutdown;

/// Runs SHUTDOWN. The server stops behind this statement: it takes no more requests, and lets those
/// that run finish, or ends them WITH NOWAIT.
///
/// # Errors
/// 6004 without the permission SHUTDOWN, 40517 in a server that cannot be stopped this way.
pub(crate) fn run(no_wait: bool, cx: &mut Cx<'_>) -> Result<(), Stop> {
    let identity = &cx.session.identity;
    if !identity.rights.has_of_server(&cx.session.catalog, "SHUTDOWN") {
        return Err(Msg::NoShutdown.into());
    }
    let how = if no_wait { "NOWAIT request" } else { "request" };
    let told = Error::from(Msg::ShutDownBy(how, &identity.login));
    let instance = Arc::clone(&cx.session.instance);
    let wish = if no_wait { Shutdown::AtOnce } else { Shutdown::Orderly };
    match instance.shut_down(wish, &told.message) {
        None => Err(Msg::NotSupported("SHUTDOWN of a server inside another program").into()),
        Some(Err(error)) => Err(Msg::NotSupported(&format!("SHUTDOWN here: {error}")).into()),
        Some(Ok(())) => {
            let line = cx.session.request.line;
            cx.sink.message(&told.at_line(line))?;
            cx.sink.message(&Error::from(Msg::ShutdownInProgress).at_line(line))?;
            Ok(())
        }
    }
}
