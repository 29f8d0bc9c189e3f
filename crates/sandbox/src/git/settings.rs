//! The few settings of a repository that name files and folders (see `git-config(1)`). Pure.

use std::path::PathBuf;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) hooks: Vec<PathBuf>,
    pub(super) included: Vec<PathBuf>,
    /// Whether hashes have 32 bytes instead of 20.
    pub(super) has_long_hashes: bool,
}

impl Settings {
    pub(super) fn parse(text: &str) -> Self {
        let mut settings = Self::default();
        let mut section = String::new();
        for line in text.replace("\\\n", "").lines() {
            let mut line = line.trim();
            // A setting may follow its section on the same line.
            if let Some(rest) = line.strip_prefix('[')
                && let Some((header, after)) = rest.split_once(']')
            {
                let name = header
                    .split([' ', '\t', '"', '.'])
                    .next()
                    .unwrap_or_default();
                section = name.to_ascii_lowercase();
                line = after.trim();
            }
            if let Some((name, text)) = line.split_once('=') {
                settings.add(&section, &name.trim().to_ascii_lowercase(), value(text));
            }
        }
        settings
    }

    fn add(&mut self, section: &str, name: &str, value: String) {
        match (section, name) {
            // A path in a home folder is not writable for a command.
            ("core" | "include" | "includeif", "hookspath" | "path") if value.starts_with('~') => {}
            ("core", "hookspath") => self.hooks.push(value.into()),
            ("include" | "includeif", "path") => self.included.push(value.into()),
            ("extensions", "objectformat") => {
                self.has_long_hashes = value.eq_ignore_ascii_case("sha256");
            }
            (_, _) => {}
        }
    }
}

/// A value without its quotes, escapes and comment.
fn value(text: &str) -> String {
    let mut value = String::new();
    let mut is_quoted = false;
    let mut is_escaped = false;
    for next in text.trim().chars() {
        match next {
            _ if is_escaped => {
                is_escaped = false;
                value.push(next);
            }
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            _ => value.push(next),
        }
    }
    value.trim_end().to_owned()
}
