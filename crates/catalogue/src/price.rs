//! Prices of tokens and of searches.

use llm::Usage;
use protocol::Money;

/// What a thousand web searches cost where nobody has set it. All providers with such a search charge this,
/// as of November 2026.
const USUAL_SEARCHES: Money = Money::from_nanos(10_000_000_000);

/// The prices of a model, per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(from = "PriceTable")]
pub struct Price {
    /// Input that is neither read from a cache nor written to it.
    pub input: Money,
    pub output: Money,
    /// Input that is read from a cache.
    pub cache_read: Money,
    /// Input that is written to a cache.
    pub cache_write: Money,
    /// A thousand searches of the web by the provider.
    pub searches: Money,
}

/// The prices as a file has them.
#[derive(serde::Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table `price` with dollars per million tokens and per thousand searches"
)]
struct PriceTable {
    input: Money,
    output: Money,
    cache_read: Option<Money>,
    cache_write: Option<Money>,
    searches: Option<Money>,
}

impl From<PriceTable> for Price {
    /// Without prices for a cache, cached input costs as much as other input.
    fn from(table: PriceTable) -> Self {
        Self {
            input: table.input,
            output: table.output,
            cache_read: table.cache_read.unwrap_or(table.input),
            cache_write: table.cache_write.unwrap_or(table.input),
            searches: table.searches.unwrap_or(USUAL_SEARCHES),
        }
    }
}

impl Price {
    pub const FREE: Self = Self {
        input: Money::from_nanos(0),
        output: Money::from_nanos(0),
        cache_read: Money::from_nanos(0),
        cache_write: Money::from_nanos(0),
        searches: Money::from_nanos(0),
    };

    /// The higher of two prices, each by itself.
    pub(crate) fn highest(self, other: &Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
            searches: self.searches.max(other.searches),
        }
    }

    /// The cost of a call, rounded up to a billionth of a dollar.
    pub fn cost(&self, usage: &Usage) -> Money {
        let of = |tokens: u64, price: Money| u128::from(tokens) * u128::from(price.as_nanos());
        let millionths = of(usage.input, self.input)
            + of(usage.output, self.output)
            + of(usage.cache_read, self.cache_read)
            + of(usage.cache_write, self.cache_write)
            + of(usage.searches, self.searches) * 1_000;
        let nanos = millionths.div_ceil(1_000_000);
        Money::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_own_price() {
        let text = "input = 3\noutput = 15\ncache_read = 0.3\ncache_write = 3.75";
        let price: Price = toml::from_str(text).unwrap();
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 1_000_000,
            cache_write: 10_000,
            ..Usage::default()
        };
        let expected = Money::from_dollars(3.0 + 1.5 + 0.3 + 0.0375).unwrap();
        assert_eq!(price.cost(&usage), expected);
        let one = Usage {
            cache_read: 1,
            ..Usage::default()
        };
        assert_eq!(price.cost(&one).as_nanos(), 300);
        assert_eq!(price.cost(&Usage::default()), Money::default());
    }

    #[test]
    fn searches_are_paid_for_by_the_thousand() {
        let searched = Usage {
            searches: 3,
            ..Usage::default()
        };
        let usual: Price = toml::from_str("input = 3\noutput = 15").unwrap();
        assert_eq!(usual.cost(&searched), Money::from_dollars(0.03).unwrap());
        let other: Price = toml::from_str("input = 3\noutput = 15\nsearches = 25").unwrap();
        assert_eq!(other.cost(&searched), Money::from_dollars(0.075).unwrap());
        assert_eq!(other.highest(&usual), other);
        assert_eq!(Price::FREE.cost(&searched), Money::default());
    }

    #[test]
    fn a_cache_without_a_price_makes_nothing_cheaper() {
        let price: Price = toml::from_str("input = 3\noutput = 15").unwrap();
        assert_eq!(
            (price.cache_read, price.cache_write),
            (price.input, price.input)
        );
    }
}
