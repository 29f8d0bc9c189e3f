//! Samples in blocks, and what can be said of them on a busy machine.

/// Samples of one contestant, block by block in the order they were taken.
#[derive(Debug, Default, Clone)]
pub(super) struct Blocks {
    blocks: Vec<Vec<f64>>,
}

impl Blocks {
    pub(super) fn push(&mut self, samples: impl IntoIterator<Item = f64>) {
        self.blocks.push(samples.into_iter().collect());
    }

    /// Adds a block of times in nanoseconds; they are kept in seconds.
    pub(super) fn push_nanos(&mut self, samples: &[u64]) {
        self.push(samples.iter().map(|nanos| seconds(*nanos)));
    }

    /// The quantile over all samples.
    pub(crate) fn quantile(&self, at: f64) -> f64 {
        quantile(&self.blocks.concat(), at)
    }

    pub(super) fn p50(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Whether there is no sample at all.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.iter().all(Vec::is_empty)
    }

    /// How this compares with `other`: the median over all blocks of the ratio between the
    /// quantiles of two blocks that ran beside each other.
    pub(super) fn ratio(&self, other: &Self, at: f64) -> f64 {
        let beside = self.blocks.iter().zip(&other.blocks);
        let ratios: Vec<f64> = beside
            .map(|(own, other)| quantile(own, at) / quantile(other, at))
            .filter(|ratio| ratio.is_finite())
            .collect();
        quantile(&ratios, 0.5)
    }
}

/// Nanoseconds as seconds.
pub(super) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// The sample at the given place of the sorted samples.
pub(crate) fn quantile(samples: &[f64], at: f64) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else {
        return f64::NAN;
    };
    let place = (at * last as f64).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_ran_beside_each_other_are_compared() {
        let mut slow = Blocks::default();
        let mut fast = Blocks::default();
        // The machine was ten times slower during the second block; the ratio is still two.
        for load in [1.0, 10.0, 1.0] {
            slow.push([2.0 * load, 4.0 * load, 6.0 * load]);
            fast.push([1.0 * load, 2.0 * load, 3.0 * load]);
        }
        assert!((slow.ratio(&fast, 0.5) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn no_samples_give_no_number() {
        assert!(quantile(&[], 0.5).is_nan());
    }
}
