//! Finds the commands and redirections in the tree of a script.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::check::{
    Coverage, check_heredoc, check_leaf, hides_command, is_plain_double_quoted, text_of,
};
use super::word::is_replaced;
use super::{FileUse, SimpleCommand, Unreadable, Word};

/// The kinds of nodes that are understood. A newer grammar may have more.
const KNOWN: &[&str] = &[
    "ansi_c_string",
    "arithmetic_expansion",
    "array",
    "binary_expression",
    "brace_expression",
    "c_style_for_statement",
    "case_item",
    "case_statement",
    "command",
    "command_name",
    "command_substitution",
    "comment",
    "compound_statement",
    "concatenation",
    "declaration_command",
    "do_group",
    "elif_clause",
    "else_clause",
    "expansion",
    "extglob_pattern",
    "file_descriptor",
    "file_redirect",
    "for_statement",
    "function_definition",
    "heredoc_body",
    "heredoc_content",
    "heredoc_end",
    "heredoc_redirect",
    "heredoc_start",
    "herestring_redirect",
    "if_statement",
    "list",
    "negated_command",
    "number",
    "parenthesized_expression",
    "pipeline",
    "postfix_expression",
    "process_substitution",
    "program",
    "raw_string",
    "redirected_statement",
    "regex",
    "simple_expansion",
    "special_variable_name",
    "string",
    "string_content",
    "subscript",
    "subshell",
    "ternary_expression",
    "test_command",
    "test_operator",
    "translated_string",
    "unary_expression",
    "unset_command",
    "variable_assignment",
    "variable_assignments",
    "variable_name",
    "while_statement",
    "word",
];

/// Collects what a tree has, in the order of the source.
pub(super) struct Collector<'s> {
    source: &'s str,
    pub(super) commands: Vec<SimpleCommand>,
    pub(super) files: Vec<FileUse>,
    /// The lines on which here-documents are announced.
    heredocs: BTreeSet<usize>,
}

/// A node that is to be visited.
struct Visit<'t> {
    node: Node<'t>,
    parent: &'t str,
    is_in_test: bool,
    /// Words of a command that stand behind its redirections.
    more_words: Vec<Node<'t>>,
}

impl<'s> Collector<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self {
            source,
            commands: Vec::new(),
            files: Vec::new(),
            heredocs: BTreeSet::new(),
        }
    }

    /// Visits a tree without recursion, however deep it is.
    pub(super) fn collect(&mut self, root: Node<'_>) -> Result<(), Unreadable> {
        let mut coverage = Coverage::default();
        let mut open = vec![Visit {
            node: root,
            parent: "",
            is_in_test: false,
            more_words: Vec::new(),
        }];
        while let Some(visit) = open.pop() {
            let node = visit.node;
            if node.is_named() && !KNOWN.contains(&node.kind()) {
                return Err(Unreadable);
            }
            let mut cursor = node.walk();
            let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
            if children.is_empty() {
                check_leaf(node, self.source)?;
                coverage.add(node.start_byte(), node.end_byte());
            }
            self.visit(&visit, &children, &mut coverage)?;
            let mut more_words = words_behind_redirections(node, &children)?;
            for child in children.into_iter().rev() {
                let takes_words =
                    child.kind() == "command" && node.kind() == "redirected_statement";
                open.push(Visit {
                    node: child,
                    parent: node.kind(),
                    is_in_test: visit.is_in_test || node.kind() == "test_command",
                    more_words: if takes_words {
                        std::mem::take(&mut more_words)
                    } else {
                        Vec::new()
                    },
                });
            }
        }
        coverage.check(self.source)
    }

    fn visit(
        &mut self,
        visit: &Visit<'_>,
        children: &[Node<'_>],
        coverage: &mut Coverage,
    ) -> Result<(), Unreadable> {
        let node = visit.node;
        match node.kind() {
            "command" => self.command(node, children, &visit.more_words),
            "declaration_command" | "unset_command" => self.declaration(node, children),
            "variable_assignment" if !belongs_to_command(visit.parent) => self.assignment(node),
            "file_redirect" => self.redirection(visit.parent, children),
            "heredoc_redirect" => {
                let is_first = self.heredocs.insert(node.start_position().row);
                if !is_first || children.iter().any(|child| is_word(child.kind())) {
                    return Err(Unreadable);
                }
                check_heredoc(node, self.source, coverage)
            }
            "string" => self.string(node, children, coverage),
            // `${x@P}` expands the value of the variable once more, substitutions included.
            "expansion" if text_of(node, self.source)?.contains("@P") => Err(Unreadable),
            // A test evaluates the index of a variable, even a quoted one.
            "raw_string" | "string_content" if visit.is_in_test => {
                let text = text_of(node, self.source)?;
                if hides_command(text) {
                    self.commands.push(SimpleCommand::unknown(text));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn command(
        &mut self,
        node: Node<'_>,
        children: &[Node<'_>],
        more_words: &[Node<'_>],
    ) -> Result<(), Unreadable> {
        let mut assignments = Vec::new();
        let mut words = Vec::new();
        for child in children {
            match child.kind() {
                "variable_assignment" => assignments.push(self.assigned(*child)?.1),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {}
                "command_name" => {
                    let name = child.child(0).ok_or(Unreadable)?;
                    words.push(Word::read(name, self.source)?);
                }
                _ => words.push(Word::read(*child, self.source)?),
            }
        }
        for word in more_words {
            words.push(Word::read(*word, self.source)?);
        }
        self.commands.push(SimpleCommand {
            assignments,
            words,
            text: text_of(node, self.source)?.to_owned(),
            is_wrapper: false,
        });
        Ok(())
    }

    /// `export`, `declare`, `unset` and the like.
    fn declaration(&mut self, node: Node<'_>, children: &[Node<'_>]) -> Result<(), Unreadable> {
        let mut words = Vec::new();
        for child in children {
            let word = match child.kind() {
                "variable_assignment" => self.assigned(*child)?.1,
                _ if !child.is_named() => Word::literal(text_of(*child, self.source)?),
                _ => Word::read(*child, self.source)?,
            };
            words.push(word);
        }
        self.commands.push(SimpleCommand {
            assignments: Vec::new(),
            words,
            text: text_of(node, self.source)?.to_owned(),
            is_wrapper: false,
        });
        Ok(())
    }

    /// Collects an assignment that stands alone. It applies to the commands after it. Only variables in
    /// lower case are known not to reach programs.
    fn assignment(&mut self, node: Node<'_>) -> Result<(), Unreadable> {
        let (name, word) = self.assigned(node)?;
        let is_small =
            |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '_';
        let is_local =
            name.chars().all(is_small) && !name.ends_with("_proxy") && !name.starts_with("npm_");
        if !is_local {
            self.commands.push(SimpleCommand {
                assignments: Vec::new(),
                words: vec![word],
                text: text_of(node, self.source)?.to_owned(),
                is_wrapper: false,
            });
        }
        Ok(())
    }

    /// The name of the variable that is assigned to, and the whole assignment as a word.
    fn assigned(&self, node: Node<'_>) -> Result<(String, Word), Unreadable> {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let name = children.first().ok_or(Unreadable)?;
        let name = text_of(*name, self.source)?;
        let mut word = Word::literal(&format!("{name}="));
        match children.get(2) {
            Some(value) => word.append(&Word::read(*value, self.source)?),
            None if children.len() == 2 => {}
            None => return Err(Unreadable),
        }
        Ok((name.to_owned(), word))
    }

    fn redirection(&mut self, parent: &str, children: &[Node<'_>]) -> Result<(), Unreadable> {
        let operator = children
            .iter()
            .find(|child| !child.is_named())
            .ok_or(Unreadable)?;
        let targets = targets(children);
        if targets.len() > 1 && parent != "redirected_statement" {
            return Err(Unreadable);
        }
        let target = match targets.first() {
            Some(target) => Word::read(*target, self.source)?.text(),
            None if operator.kind().ends_with("&-") => return Ok(()),
            None => return Err(Unreadable),
        };
        let is_descriptor = target.as_deref().is_some_and(|target| {
            target == "-"
                || target
                    .trim_end_matches('-')
                    .chars()
                    .all(|digit| digit.is_ascii_digit())
        });
        let writes = match operator.kind() {
            "<&" | "<&-" | ">&-" => return Ok(()),
            ">&" if is_descriptor => return Ok(()),
            "<" => false,
            ">" | ">>" | ">|" | ">&" | "&>" | "&>>" => true,
            _ => return Err(Unreadable),
        };
        self.files.push(FileUse {
            writes,
            path: target,
        });
        Ok(())
    }

    /// Checks the text of a string, and adds it to what is accounted for.
    fn string(
        &self,
        node: Node<'_>,
        children: &[Node<'_>],
        coverage: &mut Coverage,
    ) -> Result<(), Unreadable> {
        let text = text_of(node, self.source)?;
        let open = if text.starts_with('$') { 2 } else { 1 };
        let mut at = node.start_byte() + open;
        let end = node.end_byte() - 1;
        coverage.add(node.start_byte(), at);
        let replaced = children.iter().filter(|child| is_replaced(child.kind()));
        let borders = replaced.map(|child| (child.start_byte(), child.end_byte()));
        for (from, to) in borders.chain([(end, end)]) {
            let plain = self.source.get(at..from).ok_or(Unreadable)?;
            if !is_plain_double_quoted(plain) {
                return Err(Unreadable);
            }
            coverage.add(at, from);
            at = to;
        }
        Ok(())
    }
}

fn belongs_to_command(parent: &str) -> bool {
    matches!(parent, "command" | "declaration_command")
}

fn is_word(kind: &str) -> bool {
    matches!(
        kind,
        "word" | "string" | "raw_string" | "ansi_c_string" | "concatenation" | "number"
    ) || is_replaced(kind)
}

/// The words after the operator of a redirection: the file, and words of the command that the tree puts
/// there.
fn targets<'t>(children: &[Node<'t>]) -> Vec<Node<'t>> {
    let named = children.iter().filter(|child| child.is_named());
    let targets = named.filter(|child| child.kind() != "file_descriptor");
    targets.copied().collect()
}

/// In `echo >file text` the tree puts `text` beside `file`, though it belongs to the command. Only a simple
/// command can have such words.
fn words_behind_redirections<'t>(
    node: Node<'t>,
    children: &[Node<'t>],
) -> Result<Vec<Node<'t>>, Unreadable> {
    if node.kind() != "redirected_statement" {
        return Ok(Vec::new());
    }
    let mut words = Vec::new();
    for redirect in children
        .iter()
        .filter(|child| child.kind() == "file_redirect")
    {
        let mut cursor = redirect.walk();
        let parts: Vec<Node<'_>> = redirect.children(&mut cursor).collect();
        words.extend(targets(&parts).into_iter().skip(1));
    }
    let body = children.iter().find(|child| child.is_named());
    let is_command = body.is_some_and(|body| body.kind() == "command");
    if words.is_empty() || is_command {
        Ok(words)
    } else {
        Err(Unreadable)
    }
}
