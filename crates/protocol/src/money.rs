//! Amounts of money as they are stored: US dollars, as a JSON number.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Billionths of a dollar in a dollar. A token of the cheapest models costs about twenty of them.
const NANOS: u64 = 1_000_000_000;
/// More than anybody spends, and little enough to be exact as a float.
const MOST_DOLLARS: f64 = 1e6;
const MOST_NANOS: u64 = 1_000_000 * NANOS;

/// An amount of US dollars, never negative, exact to a billionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Money {
    nanos: u64,
}

/// A number that is no amount of money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no amount in dollars: use a number from 0 to 1000000, such as 2.50")]
pub struct NotMoney(String);

impl Money {
    /// So many billionths of a dollar, and a million dollars at most: what is written must be read again.
    pub const fn from_nanos(nanos: u64) -> Self {
        match nanos > MOST_NANOS {
            true => Self { nanos: MOST_NANOS },
            false => Self { nanos },
        }
    }

    /// So many dollars.
    pub fn from_dollars(dollars: f64) -> Result<Self, NotMoney> {
        if !(0.0..=MOST_DOLLARS).contains(&dollars) {
            return Err(NotMoney(dollars.to_string()));
        }
        Ok(Self {
            nanos: (dollars * NANOS as f64).round() as u64,
        })
    }

    /// The amount in billionths of a dollar.
    pub const fn as_nanos(self) -> u64 {
        self.nanos
    }

    /// The amount in dollars.
    pub fn as_dollars(self) -> f64 {
        self.nanos as f64 / NANOS as f64
    }

    /// What is left of an amount without another one.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self {
            nanos: self.nanos.saturating_sub(other.nanos),
        }
    }

    /// The sum of two amounts, a million dollars at most.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self::from_nanos(self.nanos.saturating_add(other.nanos))
    }
}

/// As in `$1.50`; amounts below a cent with all their digits.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, rest) = (self.nanos / NANOS, self.nanos % NANOS);
        let digits = format!("{rest:09}");
        let digits = digits.trim_end_matches('0');
        match dollars {
            // Small amounts are shown with fractions of a cent.
            0 => write!(f, "$0.{digits:0<2}"),
            _ => write!(f, "${:.2}", self.as_dollars()),
        }
    }
}

impl FromStr for Money {
    type Err = NotMoney;

    fn from_str(text: &str) -> Result<Self, NotMoney> {
        let number = text.trim().trim_start_matches('$');
        let dollars: f64 = number.parse().map_err(|_| NotMoney(text.to_owned()))?;
        Self::from_dollars(dollars)
    }
}

impl Serialize for Money {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_dollars())
    }
}

impl<'de> Deserialize<'de> for Money {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        // An amount that an earlier program wrote beyond the most counts as the most: nobody can read it
        // otherwise, and no model would be called any more.
        let dollars = if dollars > MOST_DOLLARS {
            MOST_DOLLARS
        } else {
            dollars
        };
        Self::from_dollars(dollars).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_and_print() {
        let shown = |text: &str| text.parse::<Money>().map(|money| money.to_string());
        assert_eq!(shown("2.5").unwrap(), "$2.50");
        assert_eq!(shown("$0.0123").unwrap(), "$0.0123");
        assert_eq!(shown("0").unwrap(), "$0.00");
        assert_eq!(shown("0.000000025").unwrap(), "$0.000000025");
        for wrong in ["", "-1", "much", "NaN", "1e9"] {
            assert!(shown(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_amount_beyond_the_most_counts_as_the_most() {
        let most = Money::from_dollars(MOST_DOLLARS).unwrap();
        assert_eq!(Money::from_nanos(u64::MAX), most);
        assert_eq!(most.plus(most), most);
        let text = serde_json::to_string(&Money::from_nanos(u64::MAX)).unwrap();
        assert_eq!(serde_json::from_str::<Money>(&text).unwrap(), most);
        assert_eq!(serde_json::from_str::<Money>("3000000000.5").unwrap(), most);
        assert!(serde_json::from_str::<Money>("-1").is_err());
    }

    #[test]
    fn a_billionth_survives_the_file() {
        for nanos in [0, 1, 25, 123_456_789, 999_999_999_999_999] {
            let text = serde_json::to_string(&Money::from_nanos(nanos)).unwrap();
            let read: Money = serde_json::from_str(&text).unwrap();
            assert_eq!(read.as_nanos(), nanos, "{text}");
        }
    }
}
