//! `Response`: status, headers and body of an answer. Every answer has the headers that keep other
//! sites away from the page.

use std::borrow::Cow;
use std::fmt::Write;

use crate::json;

/// What a page of the console may do: load from this server and nothing else, run no inline script
/// or style, and be in no frame.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types xml";

/// An answer to one HTTP request.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Cow<'static, [u8]>,
}

impl Response {
    /// Returns an answer with a body that no cache keeps.
    pub(crate) fn new(content_type: &'static str, body: impl Into<Cow<'static, [u8]>>) -> Self {
        let headers = vec![("Cache-Control", "no-store".to_owned())];
        Self { status: 200, content_type, headers, body: body.into() }
    }

    /// Returns an answer in JSON.
    pub(crate) fn json(body: String) -> Self {
        Self::new("application/json", body.into_bytes())
    }

    /// Returns an answer that says in a sentence why the request is refused.
    pub(crate) fn error(status: u16, sentence: &str) -> Self {
        let mut body = "{\"error\":".to_owned();
        json::push_text(sentence, &mut body);
        body.push_str("}\n");
        Self { status, ..Self::json(body) }
    }

    /// Returns the answer with one more header.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Returns the bytes of the status line and the headers.
    pub(crate) fn head(&self, keeps_alive: bool) -> String {
        let mut head = String::with_capacity(1024);
        let reason = reason(self.status);
        let _ = write!(head, "HTTP/1.1 {} {reason}\r\n", self.status);
        let _ = write!(head, "Content-Type: {}\r\n", self.content_type);
        let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        for (name, value) in &self.headers {
            debug_assert!(!value.contains(['\r', '\n']), "a header is one line");
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let _ = write!(head, "Content-Security-Policy: {CONTENT_SECURITY_POLICY}\r\n");
        head.push_str("X-Content-Type-Options: nosniff\r\n");
        head.push_str("X-Frame-Options: DENY\r\n");
        head.push_str("Referrer-Policy: no-referrer\r\n");
        head.push_str("Cross-Origin-Opener-Policy: same-origin\r\n");
        head.push_str("Cross-Origin-Resource-Policy: same-origin\r\n");
        head.push_str(if keeps_alive { "\r\n" } else { "Connection: close\r\n\r\n" });
        head
    }
}

const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Other",
    }
}
