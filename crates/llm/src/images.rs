//! Images in conversations, and which of them a server is shown.
//!
//! Not every model accepts images, and a server may refuse one for its size or its content. A conversation
//! keeps its images, so every later request would be refused too. Therefore the images of a refused request
//! are remembered, and from then on a text replaces each of them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::conversation::{Block, ToolResult};
use crate::failure::Answer;
use crate::request::Request;

/// The most characters of images in one request. Providers take bodies of some 30 million bytes.
const MAX_SHOWN: usize = 16 << 20;
/// The most images in one request. Some providers take no more than this.
const MAX_COUNT: usize = 50;

/// An image for the model.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// What it is, such as `image/png`.
    pub media_type: String,
    /// Its bytes in base64.
    pub data: String,
}

impl Image {
    pub fn new(media_type: impl Into<String>, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.into(),
            data: STANDARD.encode(bytes),
        }
    }

    /// The image as an address that has its content.
    pub(crate) fn url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.data)
    }

    /// The text that replaces the image in requests that do not show it.
    pub(crate) fn placeholder(&self) -> String {
        let padding = self
            .data
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'=')
            .count();
        let bytes = (self.data.len() / 4 * 3).saturating_sub(padding);
        format!("[{} of {bytes} bytes, not shown]", self.media_type)
    }

    fn mark(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.data.hash(&mut hasher);
        hasher.finish()
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.placeholder())
    }
}

/// What is known of the images of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ImageMemory {
    accepted: HashSet<u64>,
    refused: HashSet<u64>,
}

/// The images that one request shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShownImages(HashSet<u64>);

impl ImageMemory {
    /// The images to show: the newest that fit, without those that were refused.
    pub(crate) fn shown(&self, request: &Request) -> ShownImages {
        let mut room = MAX_SHOWN;
        let mut shown = HashSet::new();
        let blocks = request.turns.iter().flat_map(|turn| &turn.blocks);
        let images: Vec<_> = blocks.flat_map(images_of).collect();
        for image in images.into_iter().rev() {
            let Some(left) = room.checked_sub(image.data.len()) else {
                break;
            };
            let mark = image.mark();
            if shown.len() < MAX_COUNT && !self.refused.contains(&mark) {
                shown.insert(mark);
                room = left;
            }
        }
        ShownImages(shown)
    }

    /// Records that the server accepted a request with these images.
    pub(crate) fn accept(&mut self, shown: ShownImages) {
        self.accepted.extend(shown.0);
    }

    /// Returns whether the server refused a request because of its images, and if so hides images from now
    /// on: those that the server never accepted before or, if it accepted all of them before, all.
    pub(crate) fn refuse(&mut self, answer: &Answer, shown: &ShownImages) -> bool {
        if shown.0.is_empty() || !answer.info.is_about_images(answer.status) {
            return false;
        }
        let new: Vec<u64> = shown.0.difference(&self.accepted).copied().collect();
        match new.is_empty() {
            true => self.refused.extend(&shown.0),
            false => self.refused.extend(new),
        }
        true
    }
}

impl ShownImages {
    pub(crate) fn has(&self, image: &Image) -> bool {
        !self.0.is_empty() && self.0.contains(&image.mark())
    }

    /// The images of a result that are shown.
    pub(crate) fn of<'a>(&self, result: &'a ToolResult) -> Vec<&'a Image> {
        let images = result.images.iter();
        images.filter(|image| self.has(image)).collect()
    }

    /// The text of a result, with a placeholder for each image that is not shown.
    pub(crate) fn text_of<'a>(&self, result: &'a ToolResult) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(result.content.as_str());
        for image in result.images.iter().filter(|image| !self.has(image)) {
            let text = text.to_mut();
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&image.placeholder());
        }
        text
    }
}

pub(crate) fn has_images(request: &Request) -> bool {
    let mut blocks = request.turns.iter().flat_map(|turn| &turn.blocks);
    blocks.any(|block| !images_of(block).is_empty())
}

/// Puts a text in the place of each image.
pub(crate) fn hide_images(request: &mut Request) {
    let blocks = request.turns.iter_mut().flat_map(|turn| &mut turn.blocks);
    for block in blocks {
        match block {
            Block::Image(image) => *block = Block::text(image.placeholder()),
            Block::ToolResult(result) if !result.images.is_empty() => {
                result.content = ShownImages::default().text_of(result).into_owned();
                result.images.clear();
            }
            Block::ToolResult(_)
            | Block::Text { .. }
            | Block::Thinking { .. }
            | Block::RedactedThinking { .. }
            | Block::ToolUse(_)
            | Block::Opaque { .. } => {}
        }
    }
}

fn images_of(block: &Block) -> &[Image] {
    match block {
        Block::Image(image) => std::slice::from_ref(image),
        Block::ToolResult(result) => &result.images,
        Block::Text { .. }
        | Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolUse(_)
        | Block::Opaque { .. } => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::Turn;
    use crate::failure::ErrorInfo;

    fn image(byte: u8, size: usize) -> Image {
        Image::new("image/png", &vec![byte; size])
    }

    fn request(images: &[Image]) -> Request {
        let blocks = images.iter().cloned().map(Block::Image).collect();
        Request {
            turns: vec![Turn {
                role: crate::Role::User,
                blocks,
            }],
            ..Request::default()
        }
    }

    fn refusal(status: u16, message: &str) -> Answer {
        let info = ErrorInfo {
            message: message.into(),
            ..ErrorInfo::default()
        };
        Answer { status, info }
    }

    #[test]
    fn the_newest_images_that_fit_are_shown() {
        let images: Vec<_> = (0..8).map(|byte| image(byte, 3 << 20)).collect();
        let shown = ImageMemory::default().shown(&request(&images));
        let shown: Vec<_> = images.iter().map(|image| shown.has(image)).collect();
        assert_eq!(shown, [false, false, false, false, true, true, true, true]);
        let many: Vec<_> = (0..60).map(|byte| image(byte, 9)).collect();
        let shown = ImageMemory::default().shown(&request(&many));
        assert_eq!(shown.0.len(), MAX_COUNT);
        assert!(!shown.has(&many[9]) && shown.has(&many[10]));
    }

    #[test]
    fn a_refusal_is_about_the_new_images_and_only_then_about_the_old() {
        let (old, new) = (image(1, 9), image(2, 9));
        let mut memory = ImageMemory::default();
        memory.accept(memory.shown(&request(std::slice::from_ref(&old))));
        let both = request(&[old.clone(), new.clone()]);
        let refused = refusal(400, "Could not process image");
        assert!(memory.refuse(&refused, &memory.shown(&both)));
        let shown = memory.shown(&both);
        assert!(shown.has(&old) && !shown.has(&new));
        assert!(memory.refuse(&refused, &shown));
        let shown = memory.shown(&both);
        assert!(!shown.has(&old));
        assert!(
            !memory.refuse(&refused, &shown),
            "there is nothing left to try"
        );
    }

    #[test]
    fn only_what_is_about_images_counts() {
        let one = request(&[image(1, 9)]);
        for (status, message, counts) in [
            (400, "image_url is only supported by certain models", true),
            (404, "No endpoints found that support image input", true),
            (400, "x is not a multimodal model", true),
            (413, "", true),
            (500, "image input is not supported - hint: mmproj", true),
            (500, "the image of the container crashed", false),
            (400, "max_tokens is too large", false),
            (401, "no image for you", false),
        ] {
            let mut memory = ImageMemory::default();
            let shown = memory.shown(&one);
            let refused = memory.refuse(&refusal(status, message), &shown);
            assert_eq!(refused, counts, "{status} {message}");
        }
    }
}
