//! The page: its files are part of the program.

use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Nothing from elsewhere, nothing inline, no text that becomes elements.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The headers of every reply.
const HEADERS: [(HeaderName, &str); 8] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("x-content-type-options"), "nosniff"),
    (HeaderName::from_static("x-frame-options"), "DENY"),
    (HeaderName::from_static("referrer-policy"), "no-referrer"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=()",
    ),
];

macro_rules! page {
    ($name:literal) => {
        include_str!(concat!("../page/", $name))
    };
}

/// A file of the page, with its type. The list is complete: no path leads to any other file.
pub(crate) fn file(path: &str) -> Option<(&'static str, &'static str)> {
    Some(match path {
        "/" => (HTML, page!("index.html")),
        "/style.css" => (CSS, page!("style.css")),
        "/views.css" => (CSS, page!("views.css")),
        "/icon.svg" => (SVG, page!("icon.svg")),
        "/js/app.js" => (JS, page!("js/app.js")),
        "/js/actions.js" => (JS, page!("js/actions.js")),
        "/js/board.js" => (JS, page!("js/board.js")),
        "/js/costs.js" => (JS, page!("js/costs.js")),
        "/js/diff.js" => (JS, page!("js/diff.js")),
        "/js/dom.js" => (JS, page!("js/dom.js")),
        "/js/events.js" => (JS, page!("js/events.js")),
        "/js/graph.js" => (JS, page!("js/graph.js")),
        "/js/home.js" => (JS, page!("js/home.js")),
        "/js/markdown.js" => (JS, page!("js/markdown.js")),
        "/js/messages.js" => (JS, page!("js/messages.js")),
        "/js/net.js" => (JS, page!("js/net.js")),
        "/js/outcomes.js" => (JS, page!("js/outcomes.js")),
        "/js/qr.js" => (JS, page!("js/qr.js")),
        "/js/proof.js" => (JS, page!("js/proof.js")),
        "/js/sessions.js" => (JS, page!("js/sessions.js")),
        "/js/sha256.js" => (JS, page!("js/sha256.js")),
        "/js/state.js" => (JS, page!("js/state.js")),
        "/js/conversation.js" => (JS, page!("js/conversation.js")),
        "/js/work.js" => (JS, page!("js/work.js")),
        _ => return None,
    })
}

/// Adds the headers of every reply.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

pub(crate) fn content_type(kind: &'static str) -> (HeaderName, HeaderValue) {
    (CONTENT_TYPE, HeaderValue::from_static(kind))
}
