//! No decision is made on a text that people or models read: program state has a type. And no error of
//! product code is a bare text.

use crate::sources::{Source, crates, sources};
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{
    BinOp, Expr, ExprBinary, ExprLit, ExprMethodCall, GenericArgument, ImplItemConst, ItemConst,
    Lit, Macro, Pat, PathArguments, PathSegment, Type,
};

/// Methods that compare a text with their argument, or search for it.
const COMPARISONS: [&str; 10] = [
    "starts_with",
    "ends_with",
    "contains",
    "strip_prefix",
    "strip_suffix",
    "split_once",
    "rsplit_once",
    "find",
    "eq",
    "eq_ignore_ascii_case",
];

/// Where texts of others are read, which have no type.
const FOREIGN_TEXTS: [&str; 6] = [
    // The client of NATS says in a text alone that a certificate is not trusted.
    "crates/bridge/src/nats/certificate.rs",
    // A bundle of git begins with a line of words.
    "crates/git/src/bundle.rs",
    // Errors of model servers say what is wrong in their texts alone.
    "crates/llm/src/failure",
    "crates/llm/src/openai/learn.rs",
    "crates/llm/src/output_limit.rs",
    // The offline model reads instructions in plain English.
    "crates/offline/src",
];

/// Crates that are no part of the product.
const TEST_CRATES: [&str; 3] = ["bench", "chaos", "test-support"];

/// The product's sources, by crate.
fn product() -> impl Iterator<Item = Vec<Source>> {
    let names = crates().into_iter();
    names
        .filter(|name| !TEST_CRATES.contains(&name.as_str()))
        .map(|name| format!("crates/{name}/src"))
        .chain(["bin".to_owned()])
        .map(|folder| sources(&folder))
}

fn parsed(source: &Source) -> syn::File {
    let text = source.lines.join("\n");
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", source.path))
}

#[test]
fn no_decision_is_made_on_a_readable_text() {
    let mut found = Vec::new();
    for files in product() {
        let files: Vec<(String, syn::File)> = files
            .iter()
            .map(|source| (source.path.clone(), parsed(source)))
            .collect();
        let mut constants = Constants::default();
        files
            .iter()
            .for_each(|(_, file)| constants.visit_file(file));
        let is_foreign = |path: &str| FOREIGN_TEXTS.iter().any(|text| path.starts_with(text));
        for (path, file) in files.iter().filter(|(path, _)| !is_foreign(path)) {
            let compared = decisions(file, &constants.readable);
            found.extend(compared.iter().map(|text| format!("{path}: {text:?}")));
        }
    }
    assert_eq!(found, [""; 0], "give the state a field or a variant");
}

#[test]
fn no_error_of_the_product_is_a_bare_text() {
    let mut found = Vec::new();
    for source in product().flatten() {
        let mut errors = TextErrors::default();
        errors.visit_file(&parsed(&source));
        found.extend((0..errors.count).map(|_| source.path.clone()));
    }
    assert_eq!(found, [""; 0], "give the error a type");
}

/// The readable texts that a file compares something with.
fn decisions(file: &syn::File, constants: &BTreeSet<String>) -> Vec<String> {
    let mut decisions = Decisions {
        constants,
        found: Vec::new(),
    };
    decisions.visit_file(file);
    decisions.found
}

/// The names of constants that hold a readable text.
#[derive(Default)]
struct Constants {
    readable: BTreeSet<String>,
}

impl Visit<'_> for Constants {
    fn visit_item_const(&mut self, item: &ItemConst) {
        if text_of(&item.expr).is_some_and(|text| is_readable(&text)) {
            self.readable.insert(item.ident.to_string());
        }
    }

    fn visit_impl_item_const(&mut self, item: &ImplItemConst) {
        if text_of(&item.expr).is_some_and(|text| is_readable(&text)) {
            self.readable.insert(item.ident.to_string());
        }
    }
}

struct Decisions<'a> {
    constants: &'a BTreeSet<String>,
    found: Vec<String>,
}

impl Decisions<'_> {
    fn compare(&mut self, with: &Expr) {
        match with {
            Expr::Reference(reference) => self.compare(&reference.expr),
            Expr::Array(array) => array.elems.iter().for_each(|text| self.compare(text)),
            Expr::Path(path) => {
                let name = path.path.segments.last().map(|last| last.ident.to_string());
                let constants = self.constants;
                self.found
                    .extend(name.filter(|name| constants.contains(name)));
            }
            other => self
                .found
                .extend(text_of(other).filter(|text| is_readable(text))),
        }
    }
}

impl Visit<'_> for Decisions<'_> {
    fn visit_expr_binary(&mut self, binary: &ExprBinary) {
        if matches!(binary.op, BinOp::Eq(_) | BinOp::Ne(_)) {
            self.compare(&binary.left);
            self.compare(&binary.right);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        if COMPARISONS.iter().any(|name| call.method == name) {
            call.args.iter().for_each(|argument| self.compare(argument));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_pat(&mut self, pattern: &Pat) {
        match pattern {
            Pat::Lit(literal) => self.compare(&Expr::Lit(literal.clone())),
            Pat::Path(path) => self.compare(&Expr::Path(path.clone())),
            Pat::Ident(name) if self.constants.contains(&name.ident.to_string()) => {
                self.found.push(name.ident.to_string());
            }
            _ => {}
        }
        visit::visit_pat(self, pattern);
    }

    fn visit_macro(&mut self, called: &Macro) {
        if called.path.is_ident("matches")
            && let Ok(matches) = called.parse_body::<Matches>()
        {
            self.visit_pat(&matches.0);
        }
    }
}

/// The pattern of `matches!(value, pattern)`.
struct Matches(Pat);

impl syn::parse::Parse for Matches {
    fn parse(input: syn::parse::ParseStream<'_>) -> syn::Result<Self> {
        input.parse::<Expr>()?;
        input.parse::<syn::Token![,]>()?;
        let pattern = Pat::parse_multi_with_leading_vert(input)?;
        // A condition behind the pattern, and a comma.
        while !input.is_empty() {
            input.step(|cursor| match cursor.token_tree() {
                Some((_, rest)) => Ok(((), rest)),
                None => Err(cursor.error("no token")),
            })?;
        }
        Ok(Self(pattern))
    }
}

/// Counts the types `Result<_, String>` and `type Err = String`.
#[derive(Default)]
struct TextErrors {
    count: usize,
}

impl Visit<'_> for TextErrors {
    fn visit_path_segment(&mut self, segment: &PathSegment) {
        if segment.ident == "Result"
            && let PathArguments::AngleBracketed(arguments) = &segment.arguments
            && let Some(GenericArgument::Type(error)) = arguments.args.iter().nth(1)
            && is_string(error)
        {
            self.count += 1;
        }
        visit::visit_path_segment(self, segment);
    }

    fn visit_impl_item_type(&mut self, item: &syn::ImplItemType) {
        self.count += usize::from(item.ident == "Err" && is_string(&item.ty));
    }
}

fn is_string(tested: &Type) -> bool {
    matches!(tested, Type::Path(path) if path.path.is_ident("String"))
}

/// The text of a literal.
fn text_of(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.value()),
        Expr::Lit(ExprLit {
            lit: Lit::ByteStr(text),
            ..
        }) => String::from_utf8(text.value()).ok(),
        _ => None,
    }
}

/// Whether a literal has two words, as a text for readers has and a name of a format has not.
fn is_readable(literal: &str) -> bool {
    let is_word = |word: &&str| word.len() > 1 && word.chars().all(char::is_alphabetic);
    literal.split(' ').filter(is_word).count() > 1
        || literal.ends_with(' ') && literal.trim().contains(' ')
}

#[test]
fn decisions_on_a_readable_text_are_found() {
    let text = r#"
        const PROSE: &str = "The lead is leaving.";
        const KIND: &str = "user";
        fn decide(text: &str, kind: &str) {
            let rest = text.strip_prefix("Background task ended ");
            let first = text
                == "first comparison";
            let second = text.split_once(PROSE);
            match text {
                "a match arm" => {}
                PROSE => {}
                _ => {}
            }
            if let Some("a nested pattern") = Some(text) {}
            let last = matches!(text, "in a macro" | "x" if true);
            let kept = [kind == "user", kind == KIND, text.ends_with(".jsonl")];
            print("two words");
        }"#;
    let file = syn::parse_file(text).expect("it is Rust");
    let mut constants = Constants::default();
    constants.visit_file(&file);
    let found = decisions(&file, &constants.readable);
    let expected = [
        "Background task ended ",
        "first comparison",
        "PROSE",
        "a match arm",
        "PROSE",
        "a nested pattern",
        "in a macro",
    ];
    assert_eq!(found, expected);
}

#[test]
fn errors_that_are_a_bare_text_are_found() {
    let text = r#"
        fn one() -> Result<Vec<Option<u8>>, String> { Ok(Vec::new()) }
        impl FromStr for Two { type Err = String; }
        fn three() -> Result<String, Error> { Err(Error) }"#;
    let mut errors = TextErrors::default();
    errors.visit_file(&syn::parse_file(text).expect("it is Rust"));
    assert_eq!(errors.count, 2);
}
