//! The word that somebody meant.

/// The known word that is nearest to a mistyped one, if one is near enough to be meant.
pub fn nearest<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let typed = typed.to_lowercase();
    let measured = known
        .iter()
        .map(|word| (distance(&typed, &word.to_lowercase()), *word));
    let (distance, word) = measured.min_by_key(|(distance, _)| *distance)?;
    // A third of the letters may be wrong.
    let letters = word.chars().count().max(typed.chars().count());
    (distance <= letters.div_ceil(3)).then_some(word)
}

/// How many letters have to be added, left out or exchanged to make one word of another.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, above) in b.iter().zip(row.iter().skip(1)) {
            let changed = diagonal + usize::from(x != *y);
            diagonal = *above;
            left = changed.min(*above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("same", "same"), 0);
        assert_eq!(distance("ab", "ba"), 2);
    }

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        let known = ["model", "max_tokens", "max_turns", "members"];
        assert_eq!(nearest("modle", &known), Some("model"));
        assert_eq!(nearest("max-tokens", &known), Some("max_tokens"));
        assert_eq!(nearest("maxtokens", &known), Some("max_tokens"));
        assert_eq!(nearest("colour", &known), None);
    }
}
