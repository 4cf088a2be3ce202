//! `Request`: one HTTP/1.1 request, read with limits on size and time.
//!
//! Only what browsers and scrapers send is accepted: a path, one `Host`, a body of known length.
//! Anything else is refused, and the connection ends, so that no proxy before the console can
//! understand a request in another way.

use std::time::Duration;

use sos::clock;
use sos::park::Cancel;

use crate::response::Response;
use crate::stream::{Gone, Stream};

/// Longest request line and headers, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Longest path with its query, in bytes.
const TARGET_BYTES_MAX: usize = 2 * 1024;
/// Most headers of one request.
const HEADERS_MAX: usize = 64;
/// Longest body, in bytes.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 20;
/// Longest time between two requests of a connection.
const IDLE_TIMEOUT: Duration = Duration::from_secs(if cfg!(test) { 5 } else { 15 });
/// Longest time from the first byte of a request to the end of its headers.
const HEAD_TIMEOUT: Duration = Duration::from_millis(if cfg!(test) { 500 } else { 10_000 });
/// Longest time for the body.
const BODY_TIMEOUT: Duration = Duration::from_millis(if cfg!(test) { 500 } else { 20_000 });

/// The methods that are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Reads something, without an effect.
    Get,
    /// As GET, without the body of the answer.
    Head,
    /// Runs something, such as a text.
    Post,
}

/// A request with all of its body.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The path without its query.
    pub(crate) path: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Why there is no request.
pub(crate) enum Refused {
    /// The connection has ended.
    Gone(Gone),
    /// The client gets this answer, and the connection ends.
    With(Response),
}

impl From<Gone> for Refused {
    fn from(gone: Gone) -> Self {
        Self::Gone(gone)
    }
}

/// What the headers say, and their length in bytes.
struct Head {
    request: Request,
    head_bytes: usize,
    body_bytes: usize,
}

impl Request {
    /// Reads the next request. `buffer` keeps what was received beyond it.
    pub(crate) fn read(
        stream: &mut Stream,
        buffer: &mut Vec<u8>,
        stopping: &Cancel,
    ) -> Result<Self, Refused> {
        if buffer.is_empty() {
            stream.receive(buffer, clock::deadline_ns(IDLE_TIMEOUT), stopping)?;
        }
        let deadline_ns = clock::deadline_ns(HEAD_TIMEOUT);
        let head = loop {
            if let Some(head) = parse(buffer).map_err(Refused::With)? {
                break head;
            }
            if buffer.len() >= HEAD_BYTES_MAX {
                return Err(Refused::With(Response::error(431, "The headers are too long.")));
            }
            slowly(stream.receive(buffer, deadline_ns, stopping))?;
        };
        let Head { mut request, head_bytes, body_bytes } = head;
        let deadline_ns = clock::deadline_ns(BODY_TIMEOUT);
        while buffer.len() < head_bytes + body_bytes {
            slowly(stream.receive(buffer, deadline_ns, stopping))?;
        }
        let rest = buffer.split_off(head_bytes + body_bytes);
        request.body = buffer.split_off(head_bytes);
        *buffer = rest;
        Ok(request)
    }

    /// Returns a header's value. A header that is there twice counts as missing.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let (_, value) = found.next()?;
        found.next().is_none().then_some(value.as_str())
    }

    /// Returns how often a header is there.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.headers.iter().filter(|(known, _)| known == name).count()
    }

    /// Returns the value of a cookie.
    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        self.header("cookie")?
            .split(';')
            .filter_map(|pair| pair.trim().split_once('='))
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    /// Returns whether the client wants the connection to go on.
    pub(crate) fn keeps_alive(&self) -> bool {
        !self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// Answers a client that is too slow within a request with 408.
fn slowly(received: Result<(), Gone>) -> Result<(), Refused> {
    received.map_err(|gone| match gone {
        Gone::TimedOut => Refused::With(Response::error(408, "The request took too long.")),
        Gone::Closed | Gone::Stopping => Refused::Gone(gone),
    })
}

/// Parses the headers; `None` if they are not complete.
fn parse(bytes: &[u8]) -> Result<Option<Head>, Response> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let head_bytes = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Response::error(431, "There are too many headers."));
        }
        Err(_) => return Err(Response::error(400, "That is not HTTP/1.1.")),
    };
    if parsed.version != Some(1) {
        return Err(Response::error(505, "Only HTTP/1.1 is spoken here."));
    }
    if head_bytes > HEAD_BYTES_MAX {
        return Err(Response::error(431, "The headers are too long."));
    }
    let method = match parsed.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        Some("POST") => Method::Post,
        _ => return Err(Response::error(405, "Only GET, HEAD and POST are answered.")),
    };
    let target = parsed.path.unwrap_or_default();
    if target.len() > TARGET_BYTES_MAX {
        return Err(Response::error(414, "The address is too long."));
    }
    if !target.starts_with('/') {
        return Err(Response::error(400, "The address must be a path."));
    }
    // No answer depends on the query.
    let path = target.split('?').next().unwrap_or_default();
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).map(str::to_owned);
    let headers = parsed
        .headers
        .iter()
        .map(|header| Ok((header.name.to_ascii_lowercase(), text(header.value)?)))
        .collect::<Result<_, std::str::Utf8Error>>()
        .map_err(|_| Response::error(400, "A header is not UTF-8."))?;
    let request = Request { method, path: path.to_owned(), headers, body: Vec::new() };
    let body_bytes = body_bytes(&request)?;
    Ok(Some(Head { request, head_bytes, body_bytes }))
}

/// Returns the length of the body.
fn body_bytes(request: &Request) -> Result<usize, Response> {
    if request.count("transfer-encoding") > 0 {
        return Err(Response::error(501, "Transfer-Encoding is not supported."));
    }
    if request.count("expect") > 0 {
        return Err(Response::error(417, "Expect is not supported."));
    }
    let length = match (request.count("content-length"), request.header("content-length")) {
        (0, _) if request.method == Method::Post => {
            return Err(Response::error(411, "Content-Length is missing."));
        }
        (0, _) => return Ok(0),
        (_, Some(text)) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => text,
        (_, _) => return Err(Response::error(400, "Content-Length is not a number.")),
    };
    match length.parse() {
        Ok(bytes) if bytes <= BODY_BYTES_MAX => Ok(bytes),
        _ => Err(Response::error(413, "The body is too long.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> u16 {
        match parse(text.as_bytes()) {
            Ok(Some(_)) => 200,
            Ok(None) => 100,
            Err(response) => response.status,
        }
    }

    #[test]
    fn a_request_is_whole_or_refused() {
        assert_eq!(status("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
        assert_eq!(status("GET / HTTP/1.1\r\nHost: a\r\n"), 100);
        assert_eq!(status("GET / HTTP/1.0\r\n\r\n"), 505);
        assert_eq!(status("BREW / HTTP/1.1\r\n\r\n"), 405);
        assert_eq!(status("GET http://a/ HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(status("\u{16}\u{3}\u{1} nothing\r\n\r\n"), 400);
        assert_eq!(status(&format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(3000))), 414);
        assert_eq!(status(&format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65))), 431);
    }

    #[test]
    fn a_body_has_one_length() {
        let post = |headers: &str| status(&format!("POST / HTTP/1.1\r\n{headers}\r\n"));
        assert_eq!(post("Content-Length: 5\r\n"), 200);
        assert_eq!(post(""), 411);
        assert_eq!(post("Content-Length: 5\r\nContent-Length: 5\r\n"), 400);
        assert_eq!(post("Content-Length: +5\r\n"), 400);
        assert_eq!(post("Content-Length: 5, 5\r\n"), 400);
        assert_eq!(post("Content-Length: 99999999999999999999999\r\n"), 413);
        assert_eq!(post("Content-Length: 1048577\r\n"), 413);
        assert_eq!(post("Transfer-Encoding: chunked\r\n"), 501);
        assert_eq!(post("Content-Length: 1\r\nExpect: 100-continue\r\n"), 417);
    }

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        let text = "GET /a?b=c HTTP/1.1\r\nCookie: xid=1; id=2;other=3\r\n\r\n";
        let Ok(Some(head)) = parse(text.as_bytes()) else { panic!("a request") };
        let request = head.request;
        assert_eq!(request.path, "/a");
        assert_eq!((request.cookie("id"), request.cookie("d")), (Some("2"), None));
        assert!(request.keeps_alive());
    }
}
