//! Prices of tokens.

use llm::Usage;
use protocol::Money;
use std::collections::BTreeMap;

/// The prices of a model, per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Input that is neither read from a cache nor written to it.
    pub input: Money,
    pub output: Money,
    /// Input that is read from a cache.
    pub cache_read: Money,
    /// Input that is written to a cache.
    pub cache_write: Money,
}

/// The prices of all models: those of the user, then the built-in ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prices {
    own: BTreeMap<String, Price>,
    /// Those of somebody who may not be trusted: they add and raise prices, and lower none.
    raised: BTreeMap<String, Price>,
}

/// List prices of well-known families in dollars per million tokens: input, output, cache read,
/// cache write for five minutes. As of November 2026, from the providers' own pages where these list
/// the price, otherwise from lists that follow those pages. Providers change prices: `[prices."NAME"]`
/// in `team.toml` or in the user's file takes precedence over all of these.
///
/// A model is left out if its price is in doubt or is not four numbers, such as that of
/// `claude-haiku-5-5` and of `gpt-5.4` and later, which depends on the length of the prompt: a wrong
/// price would break a cost limit, while a model without a price is not called under such a limit.
const BUILT_IN: &[(&str, [f64; 4])] = &[
    ("claude-fable-5-1", [10.0, 50.0, 0.25, 12.5]),
    ("claude-fable-5", [10.0, 50.0, 1.0, 12.5]),
    ("claude-opus-5-5", [4.0, 20.0, 0.2, 5.0]),
    ("claude-opus-5", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-8", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-7", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-6", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-5", [5.0, 25.0, 0.5, 6.25]),
    ("claude-opus-4-1", [15.0, 75.0, 1.5, 18.75]),
    ("claude-opus-4", [15.0, 75.0, 1.5, 18.75]),
    ("claude-sonnet-5-5", [2.0, 10.0, 0.1, 2.5]),
    ("claude-sonnet-5", [2.0, 10.0, 0.2, 2.5]),
    ("claude-sonnet-4-6", [3.0, 15.0, 0.3, 3.75]),
    ("claude-sonnet-4-5", [3.0, 15.0, 0.3, 3.75]),
    ("claude-sonnet-4", [3.0, 15.0, 0.3, 3.75]),
    ("claude-3-7-sonnet", [3.0, 15.0, 0.3, 3.75]),
    ("claude-haiku-4-5", [1.0, 5.0, 0.1, 1.25]),
    ("claude-3-5-haiku", [0.8, 4.0, 0.08, 1.0]),
    ("gpt-5.2", [1.75, 14.0, 0.175, 1.75]),
    ("gpt-5.1", [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5", [1.25, 10.0, 0.125, 1.25]),
    ("gpt-5-mini", [0.25, 2.0, 0.025, 0.25]),
    ("gpt-5-nano", [0.05, 0.4, 0.005, 0.05]),
    ("gpt-4.1", [2.0, 8.0, 0.5, 2.0]),
    ("gpt-4.1-mini", [0.4, 1.6, 0.1, 0.4]),
    ("gpt-4.1-nano", [0.1, 0.4, 0.025, 0.1]),
    // The first version of the family kept its price when the family became cheaper.
    ("gpt-4o-2024-05-13", [5.0, 15.0, 5.0, 5.0]),
    ("gpt-4o", [2.5, 10.0, 1.25, 2.5]),
    ("gpt-4o-mini", [0.15, 0.6, 0.075, 0.15]),
    ("o3", [2.0, 8.0, 0.5, 2.0]),
    ("o4-mini", [1.1, 4.4, 0.275, 1.1]),
];

impl Price {
    pub const FREE: Self = Self {
        input: Money::from_nanos(0),
        output: Money::from_nanos(0),
        cache_read: Money::from_nanos(0),
        cache_write: Money::from_nanos(0),
    };

    /// The higher of two prices, for each kind of token.
    fn highest(self, other: &Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
        }
    }

    /// The cost of a call, rounded up to a billionth of a dollar.
    pub fn cost(&self, usage: &Usage) -> Money {
        let of = |tokens: u64, price: Money| u128::from(tokens) * u128::from(price.as_nanos());
        let millionths = of(usage.input, self.input)
            + of(usage.output, self.output)
            + of(usage.cache_read, self.cache_read)
            + of(usage.cache_write, self.cache_write);
        let nanos = millionths.div_ceil(1_000_000);
        Money::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Prices {
    /// Prices with those of the user. A key is the name of a model, with or without its provider; a
    /// trailing `*` matches any ending.
    pub const fn new(own: BTreeMap<String, Price>) -> Self {
        Self {
            own,
            raised: BTreeMap::new(),
        }
    }

    /// The same, with prices that are used where they are higher, or where there is no other: a
    /// stranger's zero must not lift a limit of the user.
    #[must_use]
    pub fn raised_by(self, raised: BTreeMap<String, Price>) -> Self {
        Self { raised, ..self }
    }

    /// The price of a model, by the name under which it was chosen.
    pub fn of(&self, model: &str) -> Option<Price> {
        let raised = find(&self.raised, normal_name(model));
        match (self.known(model), raised) {
            (Some(known), Some(raised)) => Some(known.highest(raised)),
            (known, raised) => known.or(raised.copied()),
        }
    }

    /// The price by the user or the built-in list.
    fn known(&self, model: &str) -> Option<Price> {
        let model = normal_name(model);
        let bare = bare_name(model);
        if let Some(price) = find(&self.own, model) {
            return Some(*price);
        }
        if matches!(model, "offline" | "script") {
            return Some(Price::FREE);
        }
        let mut families = BUILT_IN.iter();
        let (_, dollars) = families.find(|(family, _)| is_of_family(bare, family))?;
        let [input, output, cache_read, cache_write] =
            dollars.map(|dollars| Money::from_dollars(dollars).unwrap_or_default());
        Some(Price {
            input,
            output,
            cache_read,
            cache_write,
        })
    }
}

/// The price of a name, with or without its provider, or of the longest pattern that fits.
fn find<'a>(prices: &'a BTreeMap<String, Price>, model: &str) -> Option<&'a Price> {
    let bare = bare_name(model);
    let exact = prices.get(model).or_else(|| prices.get(bare));
    exact.or_else(|| {
        let matching = prices.iter().filter_map(|(name, price)| {
            let start = name.strip_suffix('*')?;
            let fits = model.starts_with(start) || bare.starts_with(start);
            fits.then_some((start.len(), price))
        });
        let longest = matching.max_by_key(|(length, _)| *length);
        longest.map(|(_, price)| price)
    })
}

/// The name of a model in bookings: without the path of a script.
pub fn normal_name(model: &str) -> &str {
    match model.split_once(':') {
        Some(("script", _)) => "script",
        Some(_) | None => model,
    }
}

/// The name without its provider.
fn bare_name(model: &str) -> &str {
    let bare = model.split_once(':').map_or(model, |(_, bare)| bare);
    // Some servers put the vendor before the name.
    bare.rsplit_once('/').map_or(bare, |(_, bare)| bare)
}

/// Whether a name is that of a family or of a dated version of it. A later model with a similar name
/// has its own price and does not match.
fn is_of_family(name: &str, family: &str) -> bool {
    let Some(rest) = name.strip_prefix(family) else {
        return false;
    };
    let Some(version) = rest.strip_prefix('-') else {
        return rest.is_empty();
    };
    let is_date = version.chars().all(|c| c.is_ascii_digit() || c == '-');
    let digits = version.chars().filter(char::is_ascii_digit).count();
    version == "latest" || version == "0" || is_date && digits >= 6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_raises_prices_and_lowers_none() {
        let free = |name: &str| (name.to_owned(), Price::FREE);
        let dear = ("mine".to_owned(), price(9.0));
        let raised = [
            free("gpt-4o"),
            free("claude*"),
            free("unknown"),
            dear.clone(),
        ];
        let own = [("mine".to_owned(), price(3.0))];
        let prices = Prices::new(own.into_iter().collect());
        let prices = prices.raised_by(raised.into_iter().collect());
        for model in ["gpt-4o", "anthropic:claude-opus-4-5"] {
            assert_eq!(prices.of(model), Prices::default().of(model), "{model}");
        }
        assert_eq!(prices.of("openai:mine").unwrap().input, dollars(9.0));
        assert_eq!(prices.of("unknown"), Some(Price::FREE));
    }

    fn dollars(amount: f64) -> Money {
        Money::from_dollars(amount).unwrap()
    }

    fn price(input: f64) -> Price {
        Price {
            input: dollars(input),
            ..Price::FREE
        }
    }

    #[test]
    fn versions_of_a_family_are_known_and_later_models_are_not() {
        let prices = Prices::default();
        let input = |name| prices.of(name).map(|price: Price| price.input);
        let sonnet = Some(dollars(3.0));
        assert_eq!(input("anthropic:claude-sonnet-4-5"), sonnet);
        assert_eq!(input("claude-sonnet-4-5-20250929"), sonnet);
        assert_eq!(input("openai:anthropic/claude-sonnet-4-latest"), sonnet);
        assert_eq!(input("openai:gpt-4o-2024-08-06"), Some(dollars(2.5)));
        assert_eq!(input("openai:gpt-4o-mini"), Some(dollars(0.15)));
        assert_eq!(input("openai:gpt-4o-2024-05-13"), Some(dollars(5.0)));
        assert_eq!(input("claude-opus-5-5"), Some(dollars(4.0)));
        for unknown in [
            "claude-opus-4-9",
            "claude-haiku-5-5",
            "gpt-5-giant",
            "gpt-5.4",
            "openai:llama",
            "gpt-50",
        ] {
            assert_eq!(input(unknown), None, "{unknown}");
        }
        assert_eq!(input("offline"), Some(dollars(0.0)));
        assert_eq!(input("script:/some/where.json"), Some(dollars(0.0)));
    }

    #[test]
    fn no_built_in_price_is_unreachable() {
        for (at, (family, _)) in BUILT_IN.iter().enumerate() {
            let mut earlier = BUILT_IN.iter().take(at);
            let hidden = earlier.find(|(other, _)| is_of_family(family, other));
            assert_eq!(hidden, None, "{family}");
        }
    }

    #[test]
    fn prices_of_the_user_take_precedence_and_the_longest_pattern_wins() {
        let own = [
            ("openai:gpt-4o".to_owned(), price(1.0)),
            ("llama*".to_owned(), price(2.0)),
            ("llama-big*".to_owned(), price(3.0)),
            ("offline".to_owned(), price(4.0)),
        ];
        let prices = Prices::new(own.into_iter().collect());
        let input = |name| prices.of(name).map(|price: Price| price.input);
        assert_eq!(input("openai:gpt-4o"), Some(dollars(1.0)));
        assert_eq!(input("openai:llama-small"), Some(dollars(2.0)));
        assert_eq!(input("openai:llama-big-2"), Some(dollars(3.0)));
        assert_eq!(input("offline"), Some(dollars(4.0)));
        assert_eq!(input("openai:qwen"), None);
    }

    #[test]
    fn each_kind_of_token_has_its_own_price() {
        let price = Prices::default().of("claude-sonnet-4-5").unwrap();
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 1_000_000,
            cache_write: 10_000,
            reasoning: None,
        };
        assert_eq!(price.cost(&usage), dollars(3.0 + 1.5 + 0.3 + 0.0375));
        let one = Usage {
            cache_read: 1,
            ..Usage::default()
        };
        assert_eq!(price.cost(&one).as_nanos(), 300);
        assert_eq!(price.cost(&Usage::default()), Money::default());
    }
}
