//! What is said of the certificate of a broker: the client tells it in the words of rustls alone.

/// How rustls begins what it says of a certificate.
const UNTRUSTED: &str = "invalid peer certificate";

/// Why a certificate is not trusted, if that is what an error says.
pub(super) fn untrusted(words: &str) -> Option<String> {
    let (_, why) = words.split_once(UNTRUSTED)?;
    Some(why.trim_start_matches(": ").to_owned())
}
