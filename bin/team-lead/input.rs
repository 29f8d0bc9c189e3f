//! Reading from standard input.

use crate::failure::Failure;
use anyhow::Context;
use protocol::MAX_LINE_BYTES;
use std::io::Read;

/// The text that was typed, or for `-` the text on standard input. More than fits in a message is
/// refused as soon as it has come, not when all of it has.
pub(crate) fn text_or_stdin(typed: &str, what: &str) -> Result<String, Failure> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(MAX_LINE_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {what} from standard input"))?;
    if bytes.len() > MAX_LINE_BYTES {
        return Err(Failure::usage(format!(
            "{what} on standard input has more than {MAX_LINE_BYTES} bytes; put it into a file, and send \
             the name of the file"
        )));
    }
    let text = String::from_utf8(bytes);
    Ok(text.with_context(|| format!("{what} on standard input is not UTF-8"))?)
}
