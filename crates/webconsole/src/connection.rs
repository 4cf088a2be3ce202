//! A connection: its thread reads requests and sends answers, one at a time.

use std::net::SocketAddr;

use sos::memory;
use sos::sync::Arc;
use sos::sys::Socket;
use sos::thread;

use crate::request::{Method, Refused, Request};
use crate::response::Response;
use crate::stream::{Gone, Stream};
use crate::{Console, route};

/// Starts a thread that serves a connection; closes the connection if there are too many.
pub(crate) fn begin(console: &Arc<Console>, socket: Socket, peer: SocketAddr) {
    // Dropping the socket closes it.
    let Some(place) = console.take_place() else { return };
    let of_thread = Arc::clone(console);
    // The listener waits for the place, not for the thread. If there is no thread, the connection
    // is closed.
    let _ = console.machine.spawn_apart("console", move || {
        let _place = place;
        serve(&of_thread, socket, peer);
        memory::tidy();
    });
}

fn serve(console: &Arc<Console>, socket: Socket, peer: SocketAddr) {
    let Ok(mut stream) = Stream::new(socket, console.tls.as_ref()) else { return };
    let mut buffer = Vec::new();
    let gone = loop {
        match exchange(console, &mut stream, &mut buffer, peer) {
            Ok(true) => memory::flush(),
            Ok(false) => break None,
            Err(gone) => break Some(gone),
        }
    };
    match gone {
        None | Some(Gone::TimedOut | Gone::Stopping) => stream.close(console.stopping()),
        Some(Gone::Closed) => {}
    }
}

/// Reads a request and answers it; returns whether the connection goes on.
fn exchange(
    console: &Arc<Console>,
    stream: &mut Stream,
    buffer: &mut Vec<u8>,
    peer: SocketAddr,
) -> Result<bool, Gone> {
    let request = match Request::read(stream, buffer, console.stopping()) {
        Ok(request) => request,
        Err(Refused::Gone(gone)) => return Err(gone),
        Err(Refused::With(response)) => {
            send(console, stream, &response, false, false)?;
            return Ok(false);
        }
    };
    let answered = thread::contain(|| route::answer(console, &request, peer));
    let response = answered.unwrap_or_else(|panic| {
        sos::error_log::line(&format_args!("A request of the console panicked: {panic}"));
        Response::error(500, "The request failed in the server; its log says more.")
    });
    let goes_on = request.keeps_alive() && !console.stopping().is_set();
    send(console, stream, &response, request.method == Method::Head, goes_on)?;
    Ok(goes_on)
}

fn send(
    console: &Console,
    stream: &mut Stream,
    response: &Response,
    is_head: bool,
    goes_on: bool,
) -> Result<(), Gone> {
    let mut bytes = response.head(goes_on).into_bytes();
    if !is_head {
        bytes.extend_from_slice(&response.body);
    }
    stream.send(&bytes, console.stopping())
}
