//! Calls the C parser: tells it the names of types, and turns its errors into readable ones.

use lang_c::ast::{self, ExternalDeclaration};
use lang_c::driver::{Config, Flavor, SyntaxError, parse_preprocessed};

use crate::error::Problem;
use crate::names;

/// Longest declaration in bytes, and most brackets and stars in it: the parser is recursive.
const MAX_LENGTH: usize = 16 << 10;
const MAX_NESTING: usize = 200;

/// Most operators in one expression, each of which may be the operand of the next.
const MAX_OPERATORS: usize = 400;
const OPERATORS: [char; 12] = ['~', '!', '+', '-', '/', '%', '&', '|', '^', '<', '>', '?'];

/// Parses declarations. `is_type` says which names are types, `similar` finds one for a wrong name.
pub(crate) fn parse(
    text: &str,
    is_type: impl Fn(&str) -> bool,
    similar: impl Fn(&str) -> Option<String>,
) -> Result<Vec<ast::Declaration>, Problem> {
    let problem = |what: String| Problem::Syntax { declaration: text.to_owned(), what };
    let has_many = |part: &str| part.matches(OPERATORS).count() > MAX_OPERATORS;
    if text.len() > MAX_LENGTH
        || text.matches(['(', '[', '{', '*']).count() > MAX_NESTING
        || text.split([',', ';']).any(has_many)
    {
        return Err(problem("it is too long, or too deeply nested".to_owned()));
    }
    if text.trim().is_empty() {
        return Err(problem("it is empty".to_owned()));
    }
    let words = identifiers(text);
    let types: Vec<&str> = words.iter().map(|word| word.text).filter(|word| is_type(word)).collect();
    let error = match with_types(text, &types) {
        Ok(declarations) => return Ok(declarations),
        Err(error) => error,
    };
    // Find the name that makes the text valid if it is a type. The first name may also be a function's.
    for word in words.iter().filter(|word| !is_type(word.text) && word.before_name_or_star) {
        if with_types(text, &[&types[..], &[word.text]].concat()).is_ok() {
            return Err(unknown(text, word.text, similar));
        }
    }
    let more = words.iter().filter(|word| word.before_name_or_star).map(|word| word.text);
    let all: Vec<&str> = types.iter().copied().chain(more).collect();
    if let (Some(first), Ok(_)) = (all.get(types.len()), with_types(text, &all)) {
        return Err(unknown(text, first, similar));
    }
    Err(problem(error))
}

/// The error for a type that is not known.
pub(crate) fn unknown(text: &str, name: &str, similar: impl Fn(&str) -> Option<String>) -> Problem {
    Problem::UnknownType { declaration: text.to_owned(), name: name.to_owned(), similar: similar(name) }
}

fn with_types(text: &str, types: &[&str]) -> Result<Vec<ast::Declaration>, String> {
    let mut source = String::new();
    for (index, name) in types.iter().enumerate() {
        if !types[..index].contains(name) {
            source.push_str(&format!("typedef int {name};\n"));
        }
    }
    let prelude = source.len();
    source.push_str(text.trim_end().trim_end_matches(';'));
    let end = source.len();
    source.push(';');
    let config = Config { cpp_command: String::new(), cpp_options: Vec::new(), flavor: Flavor::GnuC11 };
    let parsed = parse_preprocessed(&config, source).map_err(|error| in_words(&error, prelude, end))?;
    let own = parsed.unit.0.into_iter().filter(|node| node.span.start >= prelude);
    own.map(|node| match node.node {
        ExternalDeclaration::Declaration(declaration) => Ok(declaration.node),
        ExternalDeclaration::StaticAssert(_) => Err("it is an assertion".to_owned()),
        ExternalDeclaration::FunctionDefinition(_) => Err("it has a body".to_owned()),
    })
    .collect()
}

fn in_words(error: &SyntaxError, prelude: usize, end: usize) -> String {
    // Classes of characters are of the parser's own making.
    let tokens = error.expected.iter().filter(|token| !token.starts_with("[_") && !token.starts_with('<'));
    let mut expected: Vec<String> =
        tokens.map(|token| if token.len() > 8 { (*token).to_owned() } else { format!("`{token}`") }).collect();
    expected.sort_unstable();
    let list = match expected.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "something else".to_owned(),
    };
    let found = error.source.get(error.offset..end).unwrap_or_default();
    let found: String = found.split_whitespace().next().unwrap_or_default().chars().take(20).collect();
    if found.is_empty() {
        format!("at its end, expected {list}")
    } else {
        format!("at `{found}` (character {}), expected {list}", error.offset.saturating_sub(prelude) + 1)
    }
}

struct Word<'a> {
    text: &'a str,
    /// Where a type's name would stand.
    before_name_or_star: bool,
}

fn identifiers(text: &str) -> Vec<Word<'_>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        rest = &rest[start..];
        let (word, behind) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
        rest = behind;
        let next = rest.trim_start().chars().next();
        let before_name_or_star = next.is_some_and(|c| is_word(c) || c == '*') && !is_keyword(word);
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            words.push(Word { text: word, before_name_or_star });
        }
    }
    words
}

fn is_keyword(word: &str) -> bool {
    names::C_KEYWORDS.contains(&word)
}
