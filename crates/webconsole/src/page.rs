//! The files of the page. They are in the binary; a browser asks only whether they have changed.

use std::borrow::Cow;

use sos::sync::OnceLock;

use crate::request::Request;
use crate::response::Response;

/// A file of the page.
struct File {
    path: &'static str,
    content_type: &'static str,
    body: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! file {
    ($path:literal, $kind:expr, $file:literal) => {
        File { path: $path, content_type: $kind, body: include_str!(concat!("../page/", $file)) }
    };
}

const FILES: &[File] = &[
    file!("/", HTML, "index.html"),
    file!("/console.css", "text/css; charset=utf-8", "console.css"),
    file!("/icon.svg", "image/svg+xml", "icon.svg"),
    file!("/app.js", SCRIPT, "app.js"),
    file!("/api.js", SCRIPT, "api.js"),
    file!("/chart.js", SCRIPT, "chart.js"),
    file!("/dom.js", SCRIPT, "dom.js"),
    file!("/events.js", SCRIPT, "events.js"),
    file!("/now.js", SCRIPT, "now.js"),
    file!("/panels.js", SCRIPT, "panels.js"),
    file!("/plan.js", SCRIPT, "plan.js"),
    file!("/query.js", SCRIPT, "query.js"),
    file!("/recorder.js", SCRIPT, "recorder.js"),
    file!("/stacks.js", SCRIPT, "stacks.js"),
    file!("/state.js", SCRIPT, "state.js"),
    file!("/statements.js", SCRIPT, "statements.js"),
    file!("/table.js", SCRIPT, "table.js"),
    file!("/time.js", SCRIPT, "time.js"),
    file!("/verdict.js", SCRIPT, "verdict.js"),
];

/// Returns the mark of this version of the files: FNV-1a of all of them.
fn tag() -> &'static str {
    static TAG: OnceLock<String> = OnceLock::new();
    TAG.get_or_init(|| {
        let bytes = FILES.iter().flat_map(|file| file.body.bytes());
        let hash = bytes.fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        format!("\"{hash:016x}\"")
    })
}

/// Returns the sum of the lengths of all files.
#[must_use]
pub fn page_bytes() -> usize {
    FILES.iter().map(|file| file.body.len()).sum()
}

/// Returns the file at a path.
pub(crate) fn find(request: &Request) -> Option<Response> {
    let file = FILES.iter().find(|file| file.path == request.path)?;
    let mut response = Response::new(file.content_type, file.body.as_bytes());
    response.headers = vec![("Cache-Control", "no-cache".to_owned()), ("ETag", tag().to_owned())];
    if request.header("if-none-match") == Some(tag()) {
        response.status = 304;
        response.body = Cow::Borrowed(b"");
    }
    Some(response)
}
