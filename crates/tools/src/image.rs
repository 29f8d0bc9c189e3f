//! Images for models that can see.

use std::io::{Read, Seek as _};

use crate::tool::{OutputImage, ToolError, ToolOutput};
use crate::workspace::{OpenFile, Workspace};

/// The largest image that all providers take: as text it has five million characters.
const MAX_BYTES: u64 = 3_750_000;
/// As many bytes as tell all kinds of images.
const LONGEST_START: u64 = 12;

/// The media type of an image that models take, by its first bytes. The name of a file says nothing.
pub(crate) fn media_type(start: &[u8]) -> Option<&'static str> {
    match start {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some("image/webp"),
        _ => None,
    }
}

impl OutputImage {
    /// An image that models take, if these bytes are one and not too many.
    pub fn of_bytes(bytes: Vec<u8>) -> Option<Self> {
        let media_type = media_type(&bytes)?;
        let is_short = bytes.len() as u64 <= MAX_BYTES;
        is_short.then_some(Self { media_type, bytes })
    }
}

/// Reads an image of the workspace.
pub fn read_image(workspace: &Workspace, path: &str) -> Result<OutputImage, ToolError> {
    let opened = workspace.open_file(path);
    let OpenFile { mut file, size, .. } =
        opened.map_err(|error| ToolError::new(error.to_string()))?;
    let failed = |error| ToolError::new(format!("{path}: {error}"));
    let mut start = Vec::new();
    let read = (&mut file).take(LONGEST_START).read_to_end(&mut start);
    read.map_err(failed)?;
    let Some(media_type) = media_type(&start) else {
        return Err(ToolError::new(format!(
            "{path} is not a PNG, JPEG, GIF or WebP image"
        )));
    };
    file.rewind().map_err(failed)?;
    rest(path, media_type, file, size)
}

/// The output of a tool that shows the image in a file of this size, from its start on.
pub(crate) fn output(
    path: &str,
    media_type: &'static str,
    file: impl Read,
    size: u64,
) -> Result<ToolOutput, ToolError> {
    let image = rest(path, media_type, file, size)?;
    let text = format!("Image {path}: {media_type}, {} bytes.", image.bytes.len());
    Ok(ToolOutput {
        images: vec![image],
        ..ToolOutput::ok(text)
    })
}

fn rest(
    path: &str,
    media_type: &'static str,
    file: impl Read,
    size: u64,
) -> Result<OutputImage, ToolError> {
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    let read = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| ToolError::new(format!("{path}: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ToolError::new(format!(
            "{path} is an image ({media_type}) of {size} bytes; at most {MAX_BYTES} can be shown. \
             Make a smaller copy of it with bash, and read that"
        )));
    }
    Ok(OutputImage { media_type, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_their_content() {
        assert_eq!(media_type(b"\x89PNG\r\n\x1a\n\0"), Some("image/png"));
        assert_eq!(media_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(media_type(b"GIF89a"), Some("image/gif"));
        assert_eq!(
            media_type(b"RIFF\x01\x02\x03\x04WEBPVP8 "),
            Some("image/webp")
        );
        for other in [
            &b"RIFF\x01\x02\x03\x04WAVE"[..],
            b"\x89PNG",
            b"GIF8",
            b"<svg",
            b"",
        ] {
            assert_eq!(media_type(other), None, "{other:?}");
        }
    }

    #[test]
    fn an_image_that_grew_beyond_the_limit_is_described() {
        let endless = std::io::repeat(7);
        let error = output("a.png", "image/png", endless, 10).unwrap_err();
        assert!(error.to_string().contains("smaller copy"), "{error}");
    }
}
