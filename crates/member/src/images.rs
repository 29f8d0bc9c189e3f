//! Images that people name in what they say, as in `compare @before.png with @after.png`.

use crate::mail::MailItem;
use crate::runtime::MemberRuntime;
use protocol::{Image, UserMessage};
use std::path::Path;
use tools::{Workspace, read_image};

/// The most images of one message.
const MAX_IMAGES: usize = 8;

impl MemberRuntime {
    /// What a person says, for the model, with the images of the workspace that it names.
    pub fn said_by_person(&self, text: String) -> UserMessage {
        let said = text.clone();
        self.with_images(&said, UserMessage::from_person(text))
    }

    /// A message for the model, with the images that its sender names if that is a person. A model reads
    /// files by itself.
    pub(crate) fn mail_with_images(&self, item: &MailItem) -> UserMessage {
        let given = item.for_model();
        match item.message() {
            Some(message) if given.is_from_person => self.with_images(message.body.text(), given),
            Some(_) | None => given,
        }
    }

    fn with_images(&self, said: &str, mut given: UserMessage) -> UserMessage {
        let named: Vec<&str> = named_images(said).take(MAX_IMAGES).collect();
        if named.is_empty() || given.text.is_empty() {
            return given;
        }
        let workspace = match self.open_workspace() {
            Ok(workspace) => workspace,
            Err(error) => {
                given.text += &format!("\n[no image was attached: {error}]");
                return given;
            }
        };
        for path in named {
            match attach(&workspace, path) {
                Ok(image) => given.images.push(image),
                Err(reason) => given.text += &format!("\n[@{path} was not attached: {reason}]"),
            }
        }
        given
    }
}

fn attach(workspace: &Workspace, path: &str) -> Result<Image, tools::ToolError> {
    let image = read_image(workspace, path)?;
    let llm::Image { media_type, data } = llm::Image::new(image.media_type, &image.bytes);
    Ok(Image { media_type, data })
}

/// The paths of images in a text: words that begin with `@` and end like the name of an image. Marks that
/// end a sentence are no part of them.
fn named_images(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace().filter_map(|word| {
        let word = word.trim_start_matches(['(', '"', '\'', '`', '<']);
        let path = word.strip_prefix('@')?;
        Some(path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'', '`', '>']))
    });
    words.filter(|path| {
        let ending = Path::new(path)
            .extension()
            .and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| {
            let known = ["png", "jpg", "jpeg", "gif", "webp"];
            known.iter().any(|known| ending.eq_ignore_ascii_case(known))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_a_text() {
        let found = |text| named_images(text).collect::<Vec<_>>();
        assert_eq!(
            found("compare @a.png, (@docs/b.JPG) and \"@c.webp\". Not d.png, @alice nor @e.txt!"),
            ["a.png", "docs/b.JPG", "c.webp"]
        );
        assert_eq!(found("@"), [""; 0]);
    }
}
