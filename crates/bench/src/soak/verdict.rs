//! What the samples say: flat, growing by design, or not as it should be. Pure.

use super::files::Kind;
use super::{Outcome, Sample};
use crate::measure::quantile;
use serde::Serialize;

/// One row of the end.
#[derive(Debug, Serialize)]
pub(super) struct Verdict {
    pub(super) what: String,
    /// The median of the first third of the samples, and of the last.
    pub(super) first: f64,
    pub(super) last: f64,
    pub(super) unit: &'static str,
    pub(super) rule: String,
    pub(super) ok: bool,
}

/// How many files set aside a reader keeps open: 8, and 8 more that were spaced out over the minute
/// for which they are kept, and one that is being done.
const ASIDE: f64 = 17.0;

/// How much more than the first third the last one may have: a factor, and a bit on top.
#[derive(Debug, Clone, Copy)]
struct Slack {
    factor: f64,
    more: f64,
}

/// The verdicts on all samples.
pub(super) fn verdicts(samples: &[Sample], lost: u64) -> Vec<Verdict> {
    let mut verdicts = vec![
        Verdict {
            what: "messages lost".to_owned(),
            first: 0.0,
            last: lost as f64,
            unit: "",
            rule: "none".to_owned(),
            ok: lost == 0,
        },
        flat(
            samples,
            ("private memory of one", "MB"),
            (1.1, 0.15),
            |sample| Some(sample.memory / 1e6),
        ),
        flat(samples, ("descriptors of all", ""), (1.01, 1.0), |sample| {
            Some(sample.descriptors)
        }),
        bounded(samples),
        flat(samples, ("latency p50", "x bare"), (1.5, 5.0), |sample| {
            Some(sample.p50 / sample.bare)
        }),
        flat(samples, ("latency p99", "x bare"), (2.0, 20.0), |sample| {
            Some(sample.p99 / sample.bare)
        }),
    ];
    verdicts.extend(Kind::ALL.map(|kind| of_files(samples, kind)));
    verdicts
}

/// Descriptors on inboxes that were set aside: few, whatever comes.
fn bounded(samples: &[Sample]) -> Verdict {
    let third = samples.len().div_ceil(3);
    let most = |samples: &[Sample]| {
        samples
            .iter()
            .map(|sample| sample.aside)
            .fold(0.0, f64::max)
    };
    let last = most(samples);
    Verdict {
        what: "most on inboxes set aside, of one".to_owned(),
        first: most(samples.get(..third).unwrap_or_default()),
        last,
        unit: "",
        rule: format!("at most {ASIDE} in any sample"),
        ok: last <= ASIDE,
    }
}

fn of_files(samples: &[Sample], kind: Kind) -> Verdict {
    let size = |sample: &Sample| sample.files.get(&kind).copied().unwrap_or(0) as f64;
    if !kind.grows() {
        // The size at which an inbox is set aside in the middle of mail.
        let more = if kind == Kind::LeadInbox {
            8400.0
        } else {
            64.0
        };
        return flat(samples, (kind.label(), "kB"), (1.25, more), |sample| {
            Some(size(sample) / 1e3)
        });
    }
    // What each message adds has to stay the same: compared are two halves, each from its first
    // sample to its last, so that what is added in steps has time to even out.
    let added = |samples: &[Sample]| match (samples.first(), samples.last()) {
        (Some(first), Some(last)) if last.messages > first.messages => {
            (size(last) - size(first)) / (last.messages - first.messages) as f64
        }
        _ => 0.0,
    };
    let (early, late) = samples.split_at(samples.len() / 2);
    let (first, last) = (added(early), added(late));
    Verdict {
        what: kind.label().to_owned(),
        first,
        last,
        unit: "bytes a message",
        rule: "grows by the same for each message, 2x + 64 at most".to_owned(),
        ok: last <= first.mul_add(2.0, 64.0),
    }
}

fn flat(
    samples: &[Sample],
    (what, unit): (&str, &'static str),
    (factor, more): (f64, f64),
    of: impl Fn(&Sample) -> Option<f64>,
) -> Verdict {
    let slack = Slack { factor, more };
    let third = samples.len().div_ceil(3);
    let median = |samples: &[Sample]| {
        let values = samples.iter().filter_map(&of);
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        Some(quantile(&values, 0.5)).filter(|value| value.is_finite())
    };
    let first = median(samples.get(..third).unwrap_or_default());
    let last = median(samples.get(samples.len() - third..).unwrap_or_default());
    let (first, last) = (first.unwrap_or(0.0), last.unwrap_or(0.0));
    Verdict {
        what: what.to_owned(),
        first,
        last,
        unit,
        rule: format!(
            "flat: at most {} x the first + {}",
            slack.factor, slack.more
        ),
        ok: last <= first.mul_add(slack.factor, slack.more),
    }
}

/// All rows as a text.
pub(super) fn table(outcome: &Outcome) -> String {
    let mut text = format!(
        "soak: {} teammates, {:.0} s, {} messages ({} lost), {} reports to the lead, {} compactions\n\
         compared: the medians of the first and the last third of {} samples; latency as multiples of a \
         bare append, sync and wake-up at the same moment\n",
        outcome.teammates,
        outcome.seconds,
        outcome.sent,
        outcome.lost,
        outcome.reports,
        outcome.compactions,
        outcome.samples.len(),
    );
    text += &format!("{:<38}{:>12}{:>12}  {:<16}\n", "", "first", "last", "");
    for verdict in &outcome.verdicts {
        let word = if verdict.ok { "ok" } else { "NOT OK" };
        text += &format!(
            "{:<38}{:>12.2}{:>12.2}  {:<16}{word}: {}\n",
            verdict.what, verdict.first, verdict.last, verdict.unit, verdict.rule
        );
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(of: impl Fn(usize) -> (f64, f64, u64, u64)) -> Vec<Sample> {
        let sample = |at: usize| {
            let (memory, descriptors, inboxes, journals) = of(at);
            Sample {
                seconds: at as f64,
                messages: at as u64 * 10,
                memory,
                descriptors,
                aside: 3.0,
                p50: 1e-3,
                p99: 2e-3,
                bare: 1e-4,
                files: [(Kind::Inboxes, inboxes), (Kind::Journals, journals)].into(),
            }
        };
        (0..30).map(sample).collect()
    }

    fn bad(samples: &[Sample]) -> Vec<String> {
        let verdicts = verdicts(samples, 0);
        let bad = verdicts.into_iter().filter(|verdict| !verdict.ok);
        bad.map(|verdict| verdict.what).collect()
    }

    #[test]
    fn what_is_flat_and_what_grows_by_design_is_fine() {
        let samples = samples(|at| (1e6 + (at % 3) as f64 * 1e4, 900.0, 500, at as u64 * 5000));
        assert_eq!(bad(&samples), Vec::<String>::new());
    }

    #[test]
    fn what_grows_is_found() {
        let samples = samples(|at| {
            let at = at as u64;
            let growing = 1e6 + at as f64 * 1e5;
            (growing, 900.0 + at as f64, at * 10_000, at * at * 5000)
        });
        assert_eq!(
            bad(&samples),
            [
                "private memory of one",
                "descriptors of all",
                "inboxes",
                "journals"
            ]
        );
    }

    #[test]
    fn one_wild_sample_proves_nothing() {
        let samples = samples(|at| (if at == 28 { 9e6 } else { 1e6 }, 900.0, 500, at as u64));
        assert_eq!(bad(&samples), Vec::<String>::new());
    }

    #[test]
    fn a_lost_message_is_not_fine() {
        let samples = samples(|_| (1e6, 900.0, 500, 0));
        assert!(!verdicts(&samples, 1)[0].ok);
    }
}
