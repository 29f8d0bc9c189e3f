//! The flags that limit spending.

use crate::wrong_value::WrongValue;
use protocol::{Caps, Extra, Money};

/// Limits of spending. With `run` they apply to what the team spends in that run; elsewhere to everything
/// since the team was created.
#[derive(clap::Args)]
#[command(next_help_heading = "Budget")]
pub(crate) struct BudgetArgs {
    /// Maximum number of tokens, as in 200000, 200k or 2M.
    #[arg(long, value_name = "N", value_parser = number)]
    max_tokens: Option<u64>,
    /// Maximum cost in dollars, as in 2.50.
    #[arg(long, value_name = "X")]
    max_cost: Option<Money>,
    /// Maximum number of model calls.
    #[arg(long, value_name = "N", value_parser = number)]
    max_turns: Option<u64>,
    /// Maximum working time in minutes: model calls and tool calls.
    #[arg(long, value_name = "N", value_parser = number)]
    max_minutes: Option<u64>,
}

impl BudgetArgs {
    pub(crate) fn limits(&self) -> Caps {
        Caps {
            max_tokens: self.max_tokens,
            max_cost: self.max_cost,
            max_turns: self.max_turns,
            max_minutes: self.max_minutes,
            extra: Extra::new(),
        }
    }
}

fn number(text: &str) -> Result<u64, WrongValue> {
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
        .ok_or(WrongValue(
            "expected a whole number, as in 200000, 200k or 2M",
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_may_have_a_unit() {
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
