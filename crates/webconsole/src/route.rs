//! Which request gets which answer.

use std::net::SocketAddr;

use sos::sync::Arc;

use crate::request::{Method, Request};
use crate::response::Response;
use crate::visitor::{Purpose, Visitor};
use crate::{Console, entry, guard, json, metrics, page, sql};

/// Longest body of a login, in bytes.
const LOGIN_BYTES_MAX: usize = 4 * 1024;
/// Longest name of a login, in characters.
const NAME_LENGTH_MAX: usize = 128;
/// The content type of a text to run. Another site cannot send it without asking first.
const SQL: &str = "application/sql";
/// The content type of a login.
const FORM: &str = "application/x-www-form-urlencoded";

/// Checks a request and returns its answer, whatever it is.
pub(crate) fn answer(console: &Arc<Console>, request: &Request, peer: SocketAddr) -> Response {
    let result = guard::check(console, request).and_then(|()| find(console, request, peer));
    result.unwrap_or_else(|refusal| refusal)
}

fn find(console: &Arc<Console>, request: &Request, peer: SocketAddr) -> Result<Response, Response> {
    let is_read = request.method != Method::Post;
    if is_read && let Some(file) = page::find(request) {
        return Ok(file);
    }
    match (request.path.as_str(), is_read) {
        ("/metrics", true) => metrics::answer(console, request, peer),
        ("/api/me", true) => {
            let visitor = visitor(console, request).ok();
            Ok(me(console, visitor.as_deref().map(|visitor| visitor.user.as_str())))
        }
        ("/api/login", false) => log_in(console, request, peer),
        ("/api/logout", false) => Ok(log_out(console, request)),
        ("/api/read", false) => run(console, request, Purpose::Read, peer),
        ("/api/query", false) => run(console, request, Purpose::Query, peer),
        ("/api/cancel", false) => cancel(console, request),
        ("/api/me" | "/metrics", false) => Err(Response::error(405, "GET it.")),
        ("/api/login" | "/api/logout" | "/api/read" | "/api/query" | "/api/cancel", true) => {
            Err(Response::error(405, "POST it."))
        }
        _ => Err(Response::error(404, "There is nothing at this address.")),
    }
}

/// The name of the cookie. Browsers share cookies between the ports of a host, so the port is part
/// of it. The prefix makes browsers insist on `Secure` and this host.
fn cookie_name(console: &Console) -> String {
    let prefix = if console.tls.is_some() { "__Host-" } else { "" };
    format!("{prefix}clearway-{}", console.address.port())
}

/// Returns the visitor that the cookie names.
fn visitor(console: &Console, request: &Request) -> Result<Arc<Visitor>, Response> {
    request
        .cookie(&cookie_name(console))
        .and_then(|token| console.visitors.find(console, token))
        .ok_or_else(|| Response::error(401, "Log in first."))
}

/// Says who is logged in: null for a client that is not, which learns nothing else.
fn me(console: &Console, user: Option<&str>) -> Response {
    let mut body = "{\"user\":".to_owned();
    let Some(user) = user else { return Response::json(format!("{body}null}}\n")) };
    json::push_text(user, &mut body);
    body.push_str(",\"server\":");
    json::push_text(&console.instance.config.server_name, &mut body);
    body.push_str(",\"version\":");
    json::push_text(env!("CARGO_PKG_VERSION"), &mut body);
    body.push_str("}\n");
    Response::json(body)
}

fn log_in(console: &Console, request: &Request, peer: SocketAddr) -> Result<Response, Response> {
    if content_type(request) != Some(FORM) {
        return Err(Response::error(415, "A login is a form."));
    }
    if request.body.len() > LOGIN_BYTES_MAX {
        return Err(Response::error(413, "The login is too long."));
    }
    let form = form(&request.body).ok_or_else(|| Response::error(400, "The form is broken."))?;
    let field = |name: &str| form.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let (Some(user), Some(password)) = (field("user"), field("password")) else {
        return Err(Response::error(400, "A login has a user and a password."));
    };
    if user.chars().count() > NAME_LENGTH_MAX || password.chars().count() > NAME_LENGTH_MAX {
        return Err(Response::error(401, "The login or its password is wrong."));
    }
    let session = entry::log_in(console, user, password, peer)?;
    // A browser that logs in again leaves its earlier visit.
    if let Some(token) = request.cookie(&cookie_name(console)) {
        console.visitors.remove(token);
    }
    let token = console.visitors.admit(console, session)?;
    let cookie = cookie(console, &token, "");
    Ok(me(console, Some(user)).with("Set-Cookie", cookie))
}

fn cookie(console: &Console, token: &str, more: &str) -> String {
    let secure = if console.tls.is_some() { "; Secure" } else { "" };
    let name = cookie_name(console);
    format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict{secure}{more}")
}

fn log_out(console: &Console, request: &Request) -> Response {
    if let Some(token) = request.cookie(&cookie_name(console)) {
        console.visitors.remove(token);
    }
    Response::json("{}\n".to_owned()).with("Set-Cookie", cookie(console, "", "; Max-Age=0"))
}

fn run(
    console: &Console,
    request: &Request,
    purpose: Purpose,
    peer: SocketAddr,
) -> Result<Response, Response> {
    let visitor = visitor(console, request)?;
    if content_type(request) != Some(SQL) {
        return Err(Response::error(415, "A text to run has the type application/sql."));
    }
    let text = std::str::from_utf8(&request.body)
        .map_err(|_| Response::error(400, "The text is not UTF-8."))?;
    let run = |held: &mut _| sql::run(&console.instance, held, text);
    Ok(Response::json(visitor.with_session(console, purpose, peer, run)?))
}

fn cancel(console: &Console, request: &Request) -> Result<Response, Response> {
    let cancelled = visitor(console, request)?.cancel_query();
    Ok(Response::json(format!("{{\"cancelled\":{cancelled}}}\n")))
}

/// Returns the content type without its parameters.
fn content_type(request: &Request) -> Option<&str> {
    request.header("content-type")?.split(';').next().map(str::trim)
}

/// Decodes a form; `None` if it is broken.
fn form(body: &[u8]) -> Option<Vec<(String, String)>> {
    let text = std::str::from_utf8(body).ok()?;
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=')?;
            Some((percent_decoded(key)?, percent_decoded(value)?))
        })
        .collect()
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_decoded_or_refused() {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let decoded = form(b"user=a%20b&password=%C3%A9%26+%2B").expect("a form");
        assert_eq!(decoded, [pair("user", "a b"), pair("password", "\u{e9}& +")]);
        for broken in ["user", "a=%", "a=%1", "a=%zz", "a=%+1", "a=%ff"] {
            assert_eq!(form(broken.as_bytes()), None, "{broken}");
        }
    }
}
