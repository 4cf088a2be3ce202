//! A proxy that passes a connection's bytes on, each message some time later: a slow network.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use sos::ledger::Accounts;
use sos::sync::Arc;

const BUFFER_BYTES: usize = 64 << 10;

/// Listens on a port of this machine and connects each client to `server`. Ends with the process.
///
/// # Errors
/// The system gives no port or thread.
pub(crate) fn start(server: SocketAddr, delay: Duration) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let accounts = Arc::new(Accounts::default());
    let own = Arc::clone(&accounts);
    sos::thread::spawn(&own, "proxy", move || {
        while let Ok((client, _)) = listener.accept() {
            // A client whose connection cannot be made sees that it is closed.
            let _ = join(&accounts, client, server, delay);
        }
    })?;
    Ok(address)
}

fn join(
    accounts: &Arc<Accounts>,
    client: TcpStream,
    server: SocketAddr,
    delay: Duration,
) -> io::Result<()> {
    let upstream = TcpStream::connect(server)?;
    for stream in [&client, &upstream] {
        stream.set_nodelay(true)?;
    }
    let back = (upstream.try_clone()?, client.try_clone()?);
    for (from, to) in [(client, upstream), back] {
        sos::thread::spawn(accounts, "proxy", move || pass(from, to, delay))?;
    }
    Ok(())
}

/// Passes bytes on until either side closes.
fn pass(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        load::pause(delay);
        let Some(bytes) = buffer.get(..count) else { break };
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    // It may be closed already.
    let _ = to.shutdown(Shutdown::Write);
}
