//! Reading a table key by key, so that every error can name its line.

use crate::nearest::nearest;
use protocol::Money;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Why a file of the configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: String,
    },
    /// Something in it is wrong.
    #[error("{}:{line}: {message}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line.
        line: usize,
        /// What is wrong, and what would be right.
        message: String,
    },
    /// A variable has a value that it cannot have.
    #[error("the variable {name} is {value:?}: {message}")]
    Variable {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong.
        message: String,
    },
}

/// A file that is being read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
}

impl Source<'_> {
    pub(crate) fn wrong(&self, at: Range<usize>, message: impl Into<String>) -> ConfigError {
        let before = self.text.get(..at.start).unwrap_or(self.text);
        ConfigError::Wrong {
            path: self.path.to_path_buf(),
            line: before.matches('\n').count() + 1,
            message: message.into(),
        }
    }
}

/// A table of which keys are asked for one after the other.
pub(crate) struct Table<'a> {
    source: Source<'a>,
    /// What it is called, as in `[budget]`.
    name: String,
    at: Range<usize>,
    table: &'a DeTable<'a>,
    asked: RefCell<BTreeSet<&'static str>>,
}

type Found<'a> = Option<(&'a DeValue<'a>, Range<usize>)>;

impl<'a> Table<'a> {
    pub(crate) fn new(
        source: Source<'a>,
        name: &str,
        at: Range<usize>,
        table: &'a DeTable<'a>,
    ) -> Self {
        Self {
            source,
            name: name.to_owned(),
            at,
            table,
            asked: RefCell::default(),
        }
    }

    fn find(&self, key: &'static str) -> Found<'a> {
        self.asked.borrow_mut().insert(key);
        let value = self.table.get(key)?;
        Some((value.get_ref(), value.span()))
    }

    /// The error for a value that is not what it should be.
    pub(crate) fn wrong(&self, key: &str, message: &str) -> ConfigError {
        let at = self.table.get(key).map_or(self.at.clone(), Spanned::span);
        self.source
            .wrong(at, format!("`{key}`{}: {message}", self.place()))
    }

    fn place(&self) -> String {
        match self.name.is_empty() {
            true => String::new(),
            false => format!(" in {}", self.name),
        }
    }

    fn expected(&self, key: &str, what: &str, found: &DeValue<'_>) -> ConfigError {
        self.wrong(key, &format!("{what} is expected, not {}", kind(found)))
    }

    pub(crate) fn text(&self, key: &'static str) -> Result<Option<String>, ConfigError> {
        match self.find(key) {
            None => Ok(None),
            Some((DeValue::String(text), _)) => Ok(Some(text.to_string())),
            Some((other, _)) => Err(self.expected(key, "a text", other)),
        }
    }

    pub(crate) fn needed_text(&self, key: &'static str) -> Result<String, ConfigError> {
        let missing = || self.wrong(key, "it is missing");
        self.text(key)?.ok_or_else(missing)
    }

    pub(crate) fn flag(&self, key: &'static str) -> Result<Option<bool>, ConfigError> {
        match self.find(key) {
            None => Ok(None),
            Some((DeValue::Boolean(value), _)) => Ok(Some(*value)),
            Some((other, _)) => Err(self.expected(key, "true or false", other)),
        }
    }

    /// A whole number from 0.
    pub(crate) fn number(&self, key: &'static str) -> Result<Option<u64>, ConfigError> {
        match self.find(key) {
            None => Ok(None),
            Some((DeValue::Integer(value), _)) => {
                let parsed = u64::from_str_radix(value.as_str(), value.radix());
                let number = parsed
                    .map_err(|_| self.wrong(key, "a whole number that is not negative is needed"));
                number.map(Some)
            }
            Some((other, _)) => Err(self.expected(key, "a whole number", other)),
        }
    }

    /// An amount of dollars.
    pub(crate) fn money(&self, key: &'static str) -> Result<Option<Money>, ConfigError> {
        let text = match self.find(key) {
            None => return Ok(None),
            Some((DeValue::Integer(value), _)) => value.to_string(),
            Some((DeValue::Float(value), _)) => value.to_string(),
            Some((other, _)) => return Err(self.expected(key, "an amount in dollars", other)),
        };
        let money = text.parse::<Money>();
        let money = money.map_err(|error| self.wrong(key, &error.to_string()));
        money.map(Some)
    }

    /// A list of texts.
    pub(crate) fn texts(&self, key: &'static str) -> Result<Option<Vec<String>>, ConfigError> {
        let list = match self.find(key) {
            None => return Ok(None),
            Some((DeValue::Array(list), _)) => list,
            Some((other, _)) => return Err(self.expected(key, "a list of texts", other)),
        };
        let text = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            other => Err(self.expected(key, "a list of texts", other)),
        };
        let texts: Result<Vec<String>, ConfigError> = list.iter().map(text).collect();
        texts.map(Some)
    }

    /// A table below this one.
    pub(crate) fn table(&self, key: &'static str) -> Result<Option<Self>, ConfigError> {
        match self.find(key) {
            None => Ok(None),
            Some((DeValue::Table(table), at)) => {
                let name = format!("[{key}]");
                Ok(Some(Self::new(self.source, &name, at, table)))
            }
            Some((other, _)) => Err(self.expected(key, &format!("a table [{key}]"), other)),
        }
    }

    /// A table of tables with names of the user's choice.
    pub(crate) fn named_tables(
        &self,
        key: &'static str,
    ) -> Result<Vec<(String, Self)>, ConfigError> {
        let Some(tables) = self.table(key)? else {
            return Ok(Vec::new());
        };
        let mut named = Vec::new();
        for (name, value) in tables.table.iter() {
            let name = name.get_ref().to_string();
            let heading = format!("[{key}.{name}]");
            let DeValue::Table(table) = value.get_ref() else {
                let what = format!("a table {heading} is expected");
                return Err(self.source.wrong(value.span(), what));
            };
            let table = Self::new(self.source, &heading, value.span(), table);
            named.push((name, table));
        }
        Ok(named)
    }

    /// A list of tables.
    pub(crate) fn tables(&self, key: &'static str) -> Result<Vec<Self>, ConfigError> {
        let heading = format!("[[{key}]]");
        let list = match self.find(key) {
            None => return Ok(Vec::new()),
            Some((DeValue::Array(list), _)) => list,
            Some((other, _)) => {
                return Err(self.expected(key, &format!("tables {heading}"), other));
            }
        };
        let table = |value: &'a Spanned<DeValue<'a>>| match value.get_ref() {
            DeValue::Table(table) => Ok(Self::new(self.source, &heading, value.span(), table)),
            other => Err(self.expected(key, &format!("tables {heading}"), other)),
        };
        list.iter().map(table).collect()
    }

    /// Makes sure that there is no key that nobody asked for.
    pub(crate) fn finish(&self) -> Result<(), ConfigError> {
        let asked = self.asked.borrow();
        let unknown = self
            .table
            .keys()
            .find(|key| !asked.contains(key.get_ref().as_ref()));
        let Some(key) = unknown else {
            return Ok(());
        };
        let known: Vec<&str> = asked.iter().copied().collect();
        let advice = match nearest(key.get_ref(), &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the keys there are {}", known.join(", ")),
        };
        let message = format!("unknown key `{}`{}; {advice}", key.get_ref(), self.place());
        Err(self.source.wrong(key.span(), message))
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
