//! How large a conversation is.

use llm::{Block, ToolResult, Turn, Usage};

/// What the JSON around a block adds, roughly.
const AROUND_A_BLOCK: usize = 32;
const BYTES_PER_TOKEN: f64 = 4.0;
/// The size of an image. Providers count its pixels, not its bytes: at most some 1,600 tokens.
const IMAGE: usize = 6_400;
/// What is believed of a report, as bytes per token. One that is further off counts something else.
const BELIEVABLE: (f64, f64) = (1.0, 12.0);

/// Turns bytes into tokens, and learns from what models report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimator {
    bytes_per_token: f64,
}

impl Default for Estimator {
    fn default() -> Self {
        Self {
            bytes_per_token: BYTES_PER_TOKEN,
        }
    }
}

impl Estimator {
    /// How many tokens this many bytes are likely to be.
    pub fn tokens(&self, bytes: usize) -> u64 {
        (bytes as f64 / self.bytes_per_token).ceil() as u64
    }

    /// How many bytes fit in this many tokens.
    pub fn bytes(&self, tokens: u64) -> usize {
        (tokens as f64 * self.bytes_per_token) as usize
    }

    /// Learns that a request of this many bytes had the reported size.
    pub fn observe(&mut self, bytes: usize, usage: &Usage) {
        let tokens = usage.total_input();
        // Some servers report nothing but zeros.
        if tokens > 0 && bytes > 0 {
            let (least, most) = BELIEVABLE;
            self.bytes_per_token = (bytes as f64 / tokens as f64).clamp(least, most);
        }
    }
}

/// The size of a block in a request, roughly.
pub fn block_bytes(block: &Block) -> usize {
    let content = match block {
        Block::Text { text } => text.len(),
        Block::Thinking { text, signature } => {
            text.len() + signature.as_ref().map_or(0, String::len)
        }
        Block::RedactedThinking { data } => data.len(),
        Block::ToolUse(tool_use) => {
            let input = tool_use.replayed_input().get();
            tool_use.id.len() + tool_use.name.len() + input.len()
        }
        Block::ToolResult(result) => result.tool_use_id.len() + result_bytes(result),
        Block::Image(_) => IMAGE,
        Block::Opaque { json, .. } => json.get().len(),
    };
    content + AROUND_A_BLOCK
}

/// The size of what a tool returned, roughly.
pub(super) fn result_bytes(result: &ToolResult) -> usize {
    result.content.len() + result.images.len() * IMAGE
}

/// The size of some turns in a request, roughly.
pub fn turns_bytes(turns: &[Turn]) -> usize {
    let blocks = turns.iter().flat_map(|turn| &turn.blocks);
    blocks.map(block_bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_counts_as_its_pixels_and_not_as_its_bytes() {
        let image = llm::Image::new("image/png", &[0; 300_000]);
        let result = ToolResult::ok("a", "seen").with_images(vec![image.clone(), image.clone()]);
        assert_eq!(result_bytes(&result), 4 + 2 * IMAGE);
        assert_eq!(block_bytes(&Block::Image(image)), IMAGE + AROUND_A_BLOCK);
    }

    #[test]
    fn the_estimate_follows_what_the_model_reports() {
        let mut estimator = Estimator::default();
        assert_eq!(estimator.tokens(4_000), 1_000);
        let report = |input| Usage {
            input,
            cache_read: 500,
            ..Usage::default()
        };
        estimator.observe(4_000, &report(1_500));
        assert_eq!(estimator.tokens(4_000), 2_000);
        assert_eq!(estimator.bytes(2_000), 4_000);
        estimator.observe(4_000, &Usage::default());
        assert_eq!(estimator.tokens(4_000), 2_000, "no report changes nothing");
        estimator.observe(4_000_000, &report(0));
        assert_eq!(
            estimator.tokens(12_000),
            1_000,
            "an absurd report is bounded"
        );
    }
}
