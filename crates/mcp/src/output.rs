//! The result of a call, as a model gets it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use tools::{OutputImage, ToolOutput};

/// The most images of one result.
const MOST_IMAGES: usize = 8;

/// Texts, images, structured content and resources in the order of the server. The registry shortens a
/// long text, and keeps the whole of it in a file.
pub(crate) fn output(result: CallToolResult) -> ToolOutput {
    let mut parts = Parts::default();
    for block in result.content {
        match block {
            ContentBlock::Text(text) => parts.texts.push(text.text),
            ContentBlock::Image(image) => parts.image(&image.data, &image.mime_type),
            ContentBlock::Audio(audio) => {
                let (kind, chars) = (&audio.mime_type, audio.data.len());
                parts.remark(&format!(
                    "audio, {kind}, {chars} characters of Base64, not shown"
                ));
            }
            ContentBlock::Resource(resource) => parts.resource(resource.resource),
            ContentBlock::ResourceLink(link) => {
                let description = link.description.unwrap_or_default();
                let line = format!("Resource {}: {} {description}", link.uri, link.name);
                parts.texts.push(line.trim_end().to_owned());
            }
            // A kind of a later protocol.
            other => {
                let kind = serde_json::to_string(&other).unwrap_or_default();
                parts.texts.push(kind);
            }
        }
    }
    if let Some(structured) = result.structured_content {
        let text = structured.to_string();
        // Servers repeat it as text for clients that do not know it.
        let is_same = |shown: &String| {
            let shown: Result<serde_json::Value, _> = serde_json::from_str(shown);
            shown.is_ok_and(|shown| shown == structured)
        };
        if !parts.texts.iter().any(is_same) {
            parts.texts.push(text);
        }
    }
    ToolOutput {
        text: parts.texts.join("\n"),
        is_error: result.is_error.unwrap_or(false),
        images: parts.images,
        ..ToolOutput::default()
    }
}

#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    images: Vec<OutputImage>,
}

impl Parts {
    fn remark(&mut self, text: &str) {
        self.texts.push(format!("[{text}]"));
    }

    fn image(&mut self, data: &str, kind: &str) {
        let image = match self.images.len() < MOST_IMAGES {
            true => STANDARD.decode(data).ok().and_then(OutputImage::of_bytes),
            false => None,
        };
        match image {
            Some(image) => {
                let (kind, bytes) = (image.media_type, image.bytes.len());
                self.remark(&format!("image, {kind}, {bytes} bytes"));
                self.images.push(image);
            }
            None => {
                let chars = data.len();
                self.remark(&format!(
                    "image, {kind}, {chars} characters of Base64, not shown"
                ));
            }
        }
    }

    fn resource(&mut self, resource: ResourceContents) {
        match resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                self.texts.push(format!("Resource {uri}:\n{text}"));
            }
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                let kind = mime_type.unwrap_or_else(|| "unknown".to_owned());
                self.texts.push(format!("Resource {uri}:"));
                match kind.starts_with("image/") {
                    true => self.image(&blob, &kind),
                    false => {
                        let chars = blob.len();
                        self.remark(&format!("{kind}, {chars} characters of Base64, not shown"));
                    }
                }
            }
            // A kind of a later protocol.
            other => {
                let text = serde_json::to_string(&other).unwrap_or_default();
                self.texts.push(text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text_of(result: serde_json::Value) -> ToolOutput {
        output(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn all_kinds_of_content_become_text_and_images() {
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\n....");
        let content = json!([
            {"type": "text", "text": "one"},
            {"type": "image", "data": png, "mimeType": "image/png"},
            {"type": "image", "data": "bm8=", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "a://b", "text": "two"}},
            {"type": "resource", "resource": {"uri": "a://c", "mimeType": "x/y", "blob": "AAAA"}},
            {"type": "resource_link", "uri": "a://d", "name": "d"},
        ]);
        let shown = text_of(json!({"content": content, "structuredContent": {"n": 1}}));
        assert_eq!((shown.images.len(), shown.is_error), (1, false));
        assert_eq!(
            shown.text,
            "one\n[image, image/png, 12 bytes]\n[image, image/png, 4 characters of Base64, not shown]\n\
             [audio, audio/wav, 4 characters of Base64, not shown]\nResource a://b:\ntwo\nResource a://c:\n\
             [x/y, 4 characters of Base64, not shown]\nResource a://d: d\n{\"n\":1}"
        );
        let same = json!({"content": [{"type": "text", "text": "{\"n\": 1}"}], "structuredContent": {"n": 1}, "isError": true});
        let shown = text_of(same);
        assert_eq!((shown.text.as_str(), shown.is_error), ("{\"n\": 1}", true));
    }
}
