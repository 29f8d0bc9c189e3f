//! A document as its readers see it: blocks to type, and commands in running text.

use std::path::Path;

/// The folder of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A fenced block.
#[derive(Debug)]
pub(super) struct Block {
    /// What stands behind the opening fence.
    pub(super) language: String,
    pub(super) text: String,
}

/// The text of a document, and where it lies.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) path: String,
    text: String,
}

/// The README and everything in `docs/`, by their paths in the repository.
pub(super) fn documents() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("docs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let texts = names.filter(|name| name.ends_with(".md"));
    let mut paths: Vec<String> = texts.map(|name| format!("docs/{name}")).collect();
    paths.push("README.md".to_owned());
    paths.sort();
    paths
}

pub(super) fn read(path: &str) -> Document {
    let text = std::fs::read_to_string(root().join(path));
    Document {
        path: path.to_owned(),
        text: text.unwrap_or_else(|error| panic!("{path}: {error}")),
    }
}

impl Document {
    /// The fenced blocks, in order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> {
        let mut pieces = self.text.split("```").skip(1).step_by(2);
        std::iter::from_fn(move || {
            let (language, text) = pieces.next()?.split_once('\n')?;
            Some(Block {
                language: language.to_owned(),
                text: text.to_owned(),
            })
        })
    }

    /// What stands between backticks outside of blocks. In a table a `|` is written `\|`.
    pub(super) fn spans(&self) -> Vec<String> {
        let outside: String = self.text.split("```").step_by(2).collect();
        let spans = outside.split('`').skip(1).step_by(2);
        spans
            .map(|span| span.replace("\\|", "|").replace('\n', " "))
            .collect()
    }

    /// The commands in the first column of tables that have such a column, without the name of the
    /// program.
    pub(super) fn table_commands(&self) -> Vec<String> {
        let lines = self.text.lines();
        let mut commands = Vec::new();
        for line in lines
            .skip_while(|line| !line.starts_with("| command |"))
            .skip(2)
        {
            let row = line.replace("\\|", "¦");
            let Some(cell) = row
                .strip_prefix("| ")
                .and_then(|row| row.split(" | ").next())
            else {
                break;
            };
            let spans = cell.split('`').skip(1).step_by(2);
            commands.extend(spans.map(|span| span.replace('¦', "|")));
        }
        commands
    }

    /// The rows of the table with this heading, cell by cell.
    pub(super) fn table(&self, heading: &str) -> Vec<Vec<String>> {
        let lines = self
            .text
            .lines()
            .skip_while(|line| !line.starts_with(heading));
        let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
        let cells = |row: &str| {
            let cells = row.trim_matches('|').split('|');
            cells.map(|cell| cell.trim().to_owned()).collect()
        };
        rows.map(cells).collect()
    }
}
