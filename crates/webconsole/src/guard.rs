//! Checks before any request is answered: it must be meant for this server, and come from its page.
//!
//! - `Host` must be an address, `localhost`, or a name that the operator has given. A site that
//!   points its own name at this server (DNS rebinding) needs a name, so it gets error 421.
//! - A request that another site causes says so in `Sec-Fetch-Site` or `Origin`: refused, except for
//!   a link to the page itself.
//! - A request that runs something must say that it comes from here.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::Console;
use crate::request::{Method, Request};
use crate::response::Response;

/// Checks who a request is meant for, and where it comes from.
///
/// # Errors
/// The answer that refuses it.
pub(crate) fn check(console: &Console, request: &Request) -> Result<(), Response> {
    let Some(host) = request.header("host") else {
        return Err(Response::error(400, "One Host header is needed."));
    };
    if !is_own(host, &console.settings.hosts) {
        return Err(Response::error(
            421,
            "This server does not answer to that name; allow it with --console-host.",
        ));
    }
    let same_origin = format!("{}://{host}", console.scheme());
    if let Some(origin) = origin(request)?
        && !origin.eq_ignore_ascii_case(&same_origin)
    {
        return Err(Response::error(403, "The request comes from another site."));
    }
    let site = request.header("sec-fetch-site");
    let is_foreign = matches!(site, Some(site) if site != "same-origin" && site != "none");
    if is_foreign && !is_link(request) {
        return Err(Response::error(403, "The request comes from another site."));
    }
    let says_own = request.count("origin") == 1 || site == Some("same-origin");
    if request.method == Method::Post && !says_own {
        return Err(Response::error(403, "The request does not say where it comes from."));
    }
    Ok(())
}

fn origin(request: &Request) -> Result<Option<&str>, Response> {
    match (request.count("origin"), request.header("origin")) {
        (0, _) => Ok(None),
        (_, Some(origin)) => Ok(Some(origin)),
        (_, None) => Err(Response::error(400, "There are two Origin headers.")),
    }
}

/// Whether the user has followed a link to the page.
fn is_link(request: &Request) -> bool {
    request.method == Method::Get
        && request.path == "/"
        && request.header("sec-fetch-mode") == Some("navigate")
        && request.header("sec-fetch-dest") == Some("document")
}

/// Whether a Host header names this server. The port does not matter: it may be forwarded.
fn is_own(host: &str, names: &[String]) -> bool {
    let Some(name) = without_port(host) else { return false };
    if let Some(inside) = name.strip_prefix('[') {
        return inside.strip_suffix(']').is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok());
    }
    let is_name = |known: &str| known.eq_ignore_ascii_case(name);
    name.parse::<Ipv4Addr>().is_ok() || is_name("localhost") || names.iter().any(|n| is_name(n))
}

/// Returns a host without its port; `None` if the port is not a number.
fn without_port(host: &str) -> Option<&str> {
    let colon = host.rfind(':').filter(|at| !host[*at..].contains(']'));
    let Some(at) = colon else { return Some(host) };
    host[at + 1..].parse::<u16>().is_ok().then_some(&host[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_known_names_are_own() {
        let names = ["db.example".to_owned()];
        for own in [
            "127.0.0.1",
            "127.0.0.1:8433",
            "localhost:1",
            "LOCALHOST",
            "[::1]:8433",
            "[::1]",
            "10.1.2.3:80",
            "DB.example:8433",
        ] {
            assert!(is_own(own, &names), "{own}");
        }
        for foreign in [
            "",
            "evil.example",
            "evil.example:8433",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:x",
            "[evil]:80",
            "::1",
            "127.0.0.1:8433:1",
            "xdb.example",
            "localhost:99999",
        ] {
            assert!(!is_own(foreign, &names), "{foreign}");
        }
    }
}
