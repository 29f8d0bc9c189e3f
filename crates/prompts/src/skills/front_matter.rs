//! The front matter of a `SKILL.md`: the lines between two `---` at its start.
//!
//! It is YAML. Of that, this reads what such files use: texts at the top level, plain, quoted, or over
//! several lines; everything else is passed over.

use std::collections::BTreeMap;

/// What stands at the start of a file, and what follows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrontMatter<'a> {
    pub(super) fields: BTreeMap<String, String>,
    pub(super) body: &'a str,
}

/// Why there is no front matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FrontMatterError {
    #[error("it does not begin with a line ---")]
    Missing,
    #[error("the front matter is not closed by a line ---")]
    Open,
}

pub(super) fn parse(text: &str) -> Result<FrontMatter<'_>, FrontMatterError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut rest = text;
    let mut lines = Vec::new();
    let mut next = || {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let is_end = rest.is_empty();
        rest = after;
        (!is_end).then_some((line.trim_end(), after))
    };
    if next().is_none_or(|(line, _)| line != "---") {
        return Err(FrontMatterError::Missing);
    }
    loop {
        match next() {
            None => return Err(FrontMatterError::Open),
            Some(("---", body)) => {
                let fields = fields(&lines);
                return Ok(FrontMatter { fields, body });
            }
            Some((line, _)) => lines.push(line),
        }
    }
}

fn fields(lines: &[&str]) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let mut lines = lines.iter().peekable();
    while let Some(line) = lines.next() {
        let Some((name, value)) = line.split_once(':').filter(|_| is_top_level(line)) else {
            continue;
        };
        // Lines that are indented belong to the field above.
        let mut parts = vec![value.trim()];
        while let Some(more) =
            lines.next_if(|line| line.is_empty() || line.starts_with([' ', '\t']))
        {
            parts.push(more.trim());
        }
        fields.insert(name.trim().to_owned(), value_of(&parts));
    }
    fields
}

fn is_top_level(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '"')
}

/// One value, from the rest of its line and the indented ones below.
fn value_of(parts: &[&str]) -> String {
    let is_block = |first: &&&str| first.starts_with(['>', '|']);
    let parts = match parts.first().filter(is_block) {
        Some(_) => parts.get(1..).unwrap_or_default(),
        None => parts,
    };
    let joined = parts.join(" ");
    let text = joined.split_whitespace().collect::<Vec<_>>().join(" ");
    let within = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    if let Some(inner) = within('"') {
        return inner.replace("\\\"", "\"").replace("\\n", " ");
    }
    match within('\'') {
        Some(inner) => inner.replace("''", "'"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(yaml: &str) -> String {
        let text = format!("---\n{yaml}\n---\nBody.\n");
        let parsed = parse(&text).unwrap();
        assert_eq!(parsed.body, "Body.\n");
        parsed.fields["description"].clone()
    }

    #[test]
    fn texts_are_read_in_the_forms_that_people_write() {
        assert_eq!(
            description("name: a\ndescription: Makes: a PDF."),
            "Makes: a PDF."
        );
        assert_eq!(
            description("description: \"Says \\\"hi\\\".\""),
            "Says \"hi\"."
        );
        assert_eq!(description("description: 'It''s one.'"), "It's one.");
        let folded = "description: >-\n  Makes\n  a PDF.\n\n  Twice.\nname: b";
        assert_eq!(description(folded), "Makes a PDF. Twice.");
        assert_eq!(description("description: Makes\n  a PDF."), "Makes a PDF.");
        let nested = "metadata:\n  description: no\ndescription: yes\n# description: c";
        assert_eq!(description(nested), "yes");
    }

    #[test]
    fn line_ends_of_windows_and_a_byte_order_mark_are_fine() {
        let parsed = parse("\u{feff}---\r\nname: a\r\n---\r\nBody.").unwrap();
        assert_eq!(parsed.fields["name"], "a");
        assert_eq!(parsed.body, "Body.");
    }

    #[test]
    fn a_file_without_front_matter_says_what_is_missing() {
        assert_eq!(parse("# Title"), Err(FrontMatterError::Missing));
        assert_eq!(parse(""), Err(FrontMatterError::Missing));
        assert_eq!(parse("---\nname: a\n"), Err(FrontMatterError::Open));
        assert_eq!(parse("---"), Err(FrontMatterError::Open));
    }
}
