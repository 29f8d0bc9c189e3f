//! The flags that limit what is spent.

use protocol::{Caps, Extra, Money};

/// Limits of spending. All that was spent since the team began counts.
#[derive(clap::Args)]
#[command(next_help_heading = "Budget")]
pub(crate) struct CapArgs {
    /// The most tokens, as in 200000, 200k or 2M.
    #[arg(long, value_name = "N", value_parser = number)]
    max_tokens: Option<u64>,
    /// The most money in dollars, as in 2.50.
    #[arg(long, value_name = "X", value_parser = money)]
    max_cost: Option<Money>,
    /// The most calls of models.
    #[arg(long, value_name = "N", value_parser = number)]
    max_turns: Option<u64>,
    /// The most minutes at work: in calls, and in tools between them.
    #[arg(long, value_name = "N", value_parser = number)]
    max_minutes: Option<u64>,
}

impl CapArgs {
    pub(crate) fn caps(&self) -> Caps {
        Caps {
            max_tokens: self.max_tokens,
            max_cost: self.max_cost,
            max_turns: self.max_turns,
            max_minutes: self.max_minutes,
            extra: Extra::new(),
        }
    }
}

fn number(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1_000_000),
            None => (text, 1),
        },
    };
    let number: Option<u64> = digits.replace('_', "").parse().ok();
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| "a whole number is needed, as in 200000, 200k or 2M".to_owned())
}

fn money(text: &str) -> Result<Money, String> {
    text.parse()
        .map_err(|error: protocol::NotMoney| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_be_short() {
        assert_eq!(number("1200"), Ok(1200));
        assert_eq!(number("200k"), Ok(200_000));
        assert_eq!(number("2M"), Ok(2_000_000));
        assert_eq!(number("1_000"), Ok(1000));
        for wrong in [
            "",
            "k",
            "-1",
            "1.5",
            "99999999999999999999",
            "9999999999999999M",
        ] {
            assert!(number(wrong).is_err(), "{wrong}");
        }
    }
}
