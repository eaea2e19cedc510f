//! Layers: imports go one way. The crates stand in a line, and within a crate no module imports one that imports it,
//! at once or by others.
//!
//! A folder is a module, too: what its files import, it imports. Beside the children of a module stands the module's
//! own file, which may use them all; a child that uses what stands in that file closes a circle as any other. A type's
//! functions may stand in several modules, and what one of them calls as `Self::name` is an import of that one's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The layers of crates: each uses those of layers before its own.
const CRATES: &[&[&str]] = &[
    &["isa", "vm", "bindgen"],
    &["program"],
    &["interp"],
    &["aot"],
    &["riverrun", "compiler"],
    &["linux", "testkit"],
    &["capi", "cli"],
];

/// A module of a crate: the names that lead to it.
type Module = Vec<String>;

/// Who imports whom, with one place that does.
type Arrows = BTreeMap<(Module, Module), String>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies in crates/")
}

/// A crate's source: its modules, and what they import.
#[derive(Default)]
struct Source {
    files: BTreeMap<Module, TokenStream>,
    /// Modules with a file, and those that are written in one.
    modules: BTreeSet<Module>,
    /// The modules that have the inherent functions of types, by their names.
    functions: BTreeMap<(String, String), Module>,
    arrows: Arrows,
}

impl Source {
    fn read(folder: &Path) -> Source {
        let mut source = Source::default();
        for file in ["lib.rs", "main.rs"].map(|name| folder.join(name)).into_iter().filter(|file| file.exists()) {
            source.add(&file, folder, Vec::new());
        }
        source.follow();
        source
    }

    /// Finds the arrows between the files.
    fn follow(&mut self) {
        let files = self.files.clone();
        files.iter().for_each(|(module, tokens)| self.find_functions(tokens.clone(), module));
        files.into_iter().for_each(|(module, tokens)| self.walk(tokens, &module, &module));
    }

    /// Notes which inherent functions a module has.
    fn find_functions(&mut self, tokens: TokenStream, module: &Module) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for at in 0..tokens.len() {
            let Some((implemented, body)) = implementation(&tokens[at..]).filter(|(of, _)| !of.is_trait) else {
                continue;
            };
            let body: Vec<TokenTree> = body.into_iter().collect();
            for words in body.windows(2) {
                if let [TokenTree::Ident(word), TokenTree::Ident(name)] = words
                    && *word == "fn"
                {
                    self.functions.insert((implemented.name.clone(), name.to_string()), module.clone());
                }
            }
        }
    }

    /// Notes the modules of those that the functions of a type call of it as `Self::name`.
    fn follow_self(&mut self, name: &str, body: TokenStream, file: &Module) {
        let body: Vec<TokenTree> = body.into_iter().collect();
        for at in 0..body.len() {
            match &body[at..] {
                [TokenTree::Ident(word), rest @ ..] if *word == "Self" && is_separator(rest) => {
                    let Some(TokenTree::Ident(called)) = rest.get(2) else { continue };
                    if let Some(module) = self.functions.get(&(name.to_owned(), called.to_string())).cloned() {
                        let shown = format!("{}, for {name}::{called}", module.join("::"));
                        if *file != module {
                            self.arrows.entry((file.clone(), module)).or_insert(shown);
                        }
                    }
                }
                [TokenTree::Group(group), ..] => self.follow_self(name, group.stream(), file),
                _ => {}
            }
        }
    }

    /// Adds a file, and those of the modules that it declares, which lie in `folder`.
    fn add(&mut self, file: &Path, folder: &Path, module: Module) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let tokens = TokenStream::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let here = file.parent().expect("a file lies in a folder");
        for declared in declared(tokens.clone()) {
            let child: Module = module.iter().cloned().chain([declared.name.clone()]).collect();
            let (single, own) = (folder.join(format!("{}.rs", declared.name)), folder.join(&declared.name));
            let child_file = match &declared.path {
                Some(path) => here.join(path),
                None if single.exists() => single,
                None => own.join("mod.rs"),
            };
            self.add(&child_file, &own, child);
        }
        self.files.entry(module.clone()).or_default().extend(tokens);
        self.modules.insert(module);
    }

    /// Notes the imports in a module's tokens; `file` is the module whose file they are in.
    fn walk(&mut self, tokens: TokenStream, module: &Module, file: &Module) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if let Some((implemented, body)) = implementation(&tokens[at..]) {
                self.follow_self(&implemented.name, body, file);
            }
            if is_test(&tokens[at..]) {
                at += 2;
                // To the end of what is tested: its body, or the semicolon.
                while at < tokens.len() && !ends_item(&tokens[at]) {
                    at += 1;
                }
            } else if let [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(body), ..] = &tokens[at..]
                && *word == "mod"
            {
                let inner: Module = module.iter().cloned().chain([name.to_string()]).collect();
                self.modules.insert(inner.clone());
                self.walk(body.stream(), &inner, file);
                at += 2;
            } else if let Some(base) = base(&tokens[at..], module) {
                at += self.path(&tokens[at + 1..], base, file);
            } else if let TokenTree::Group(group) = &tokens[at] {
                self.walk(group.stream(), module, file);
            }
            at += 1;
        }
    }

    /// Follows a path from behind its first word, into its groups, and says how many tokens it has.
    fn path(&mut self, tokens: &[TokenTree], mut base: Module, file: &Module) -> usize {
        let mut at = 0;
        while is_separator(&tokens[at..]) {
            at += 2;
            match tokens.get(at) {
                Some(TokenTree::Ident(name)) if *name == "super" => drop(base.pop()),
                Some(TokenTree::Ident(name)) => base.push(name.to_string()),
                Some(TokenTree::Group(group)) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for part in inner.split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','))
                    {
                        let Some(TokenTree::Ident(name)) = part.first() else { continue };
                        let mut base = base.clone();
                        if *name != "self" {
                            base.push(name.to_string());
                        }
                        self.path(&part[1..], base, file);
                    }
                    return at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        self.note(file, base);
        at
    }

    fn note(&mut self, from: &Module, mut to: Module) {
        let shown = to.join("::");
        while !self.files.contains_key(&to) {
            to.pop();
        }
        if *from != to {
            self.arrows.entry((from.clone(), to)).or_insert(shown);
        }
    }
}

/// A module that has a file.
struct Declared {
    name: String,
    path: Option<PathBuf>,
}

/// Those that a file declares, but for tests.
fn declared(tokens: TokenStream) -> Vec<Declared> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    let (mut path, mut is_tested) = (None, false);
    for (at, token) in tokens.iter().enumerate() {
        match &tokens[at..] {
            [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] if hash.as_char() == '#' => {
                is_tested |= is_test(&tokens[at..]);
                let attribute = attribute.stream().to_string();
                if let Some(text) = attribute.strip_prefix("path = ") {
                    path = Some(PathBuf::from(text.trim_matches('"')));
                }
            }
            [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(end), ..]
                if *word == "mod" && end.as_char() == ';' && !is_tested =>
            {
                found.push(Declared { name: name.to_string(), path: path.take() });
            }
            _ => {}
        }
        if ends_item(token) {
            (path, is_tested) = (None, false);
        }
    }
    found
}

/// What an `impl` is for.
struct Implemented {
    name: String,
    is_trait: bool,
}

/// The implementation that begins here, if one does, with its body.
fn implementation(tokens: &[TokenTree]) -> Option<(Implemented, TokenStream)> {
    let [TokenTree::Ident(word), rest @ ..] = tokens else { return None };
    let end = rest.iter().position(ends_item).filter(|_| *word == "impl")?;
    let TokenTree::Group(body) = &rest[end] else { return None };
    let mut implemented = Implemented { name: String::new(), is_trait: false };
    // The last name outside of angle brackets.
    let mut depth = 0;
    for token in &rest[..end] {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' => depth -= 1,
            TokenTree::Ident(name) if *name == "where" => break,
            TokenTree::Ident(name) if depth == 0 && *name == "for" => implemented.is_trait = true,
            TokenTree::Ident(name) if depth == 0 => implemented.name = name.to_string(),
            _ => {}
        }
    }
    Some((implemented, body.stream()))
}

fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    }
}

/// Whether here begins an item that only tests have.
fn is_test(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = tokens else { return false };
    let text: String = attribute.stream().to_string().split_whitespace().collect();
    hash.as_char() == '#' && ["cfg(test)", "cfg(doc)", "cfg(doctest)", "cfg(all(loom,test))"].contains(&text.as_str())
}

fn is_separator(tokens: &[TokenTree]) -> bool {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    is_colon(tokens.first()) && is_colon(tokens.get(1))
}

/// The module that a path starts from, if one starts here.
fn base(tokens: &[TokenTree], module: &Module) -> Option<Module> {
    let TokenTree::Ident(word) = &tokens[0] else { return None };
    if !is_separator(&tokens[1..]) {
        return None;
    }
    match word.to_string().as_str() {
        "crate" => Some(Vec::new()),
        "self" => Some(module.clone()),
        "super" => Some(module[..module.len().checked_sub(1)?].to_vec()),
        _ => None,
    }
}

/// What stands in one folder, and who imports whom there: names of children, or [`OWN`].
type Graph = BTreeMap<String, BTreeMap<String, String>>;

/// The file of a folder's module.
const OWN: &str = "self";

/// The graphs of a crate's folders, by the modules that these are.
fn graphs(arrows: &Arrows) -> BTreeMap<Module, Graph> {
    let mut graphs: BTreeMap<Module, Graph> = BTreeMap::new();
    for ((from, to), shown) in arrows {
        let common = from.iter().zip(to).take_while(|(from, to)| from == to).count();
        let name = |module: &Module| module.get(common).map_or(OWN, String::as_str).to_owned();
        let graph = graphs.entry(from[..common].to_vec()).or_default();
        let text = format!("{} imports {shown}", from.join("::"));
        graph.entry(name(from)).or_default().entry(name(to)).or_insert(text);
    }
    graphs
}

/// Whether a way of imports leads from one module to the other.
fn leads(graph: &Graph, from: &str, to: &str) -> bool {
    let (mut todo, mut seen) = (vec![from], BTreeSet::new());
    while let Some(module) = todo.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            todo.extend(graph.get(module).into_iter().flatten().map(|(next, _)| next.as_str()));
        }
    }
    false
}

/// The arrows of a folder that are part of a circle.
fn faults(folder: &str, graph: &Graph) -> Vec<String> {
    let mut faults = Vec::new();
    for (from, imports) in graph {
        for (to, shown) in imports.iter().filter(|(to, _)| leads(graph, to, from)) {
            faults.push(format!("{folder}: {from} -> {to} is part of a circle ({shown})"));
        }
    }
    faults
}

/// The interpreter knows nothing of compiled code.
#[test]
fn engines_are_apart() {
    let source = Source::read(&root().join("crates/interp/src"));
    for (module, tokens) in source.files {
        let text: String = tokens.to_string().split_whitespace().collect();
        for name in ["artifact", "convention"] {
            assert!(!text.contains(&format!("riverrun_vm::{name}")), "{} imports {name}", module.join("::"));
        }
    }
}

#[test]
fn no_module_imports_what_imports_it() {
    let mut found = Vec::new();
    for name in fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().file_name()) {
        let name = name.into_string().unwrap();
        let source = Source::read(&root().join("crates").join(&name).join("src"));
        assert!(!source.modules.is_empty(), "no source in {name}");
        for (module, graph) in graphs(&source.arrows) {
            let folder =
                [name.as_str()].into_iter().chain(module.iter().map(String::as_str)).collect::<Vec<_>>().join("/");
            found.extend(faults(&folder, &graph));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A crate's riverrun crates, by its manifest, but for tests.
fn dependencies(name: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
    let (_, dependencies) = manifest.split_once("\n[dependencies]\n").expect("every crate has the section");
    let names =
        dependencies.split("\n[").next().unwrap_or_default().lines().filter_map(|line| line.split(['.', ' ']).next());
    let names = names.filter_map(|name| name.strip_prefix("riverrun"));
    names.map(|name| name.strip_prefix('-').unwrap_or("riverrun").to_owned()).collect()
}

#[test]
fn crates_stand_in_layers() {
    let layer = |name: &str| CRATES.iter().position(|layer| layer.contains(&name));
    let mut upward = BTreeSet::new();
    for name in fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().file_name()) {
        let name = name.into_string().unwrap();
        let own = layer(&name).unwrap_or_else(|| panic!("{name} stands in no layer"));
        for used in dependencies(&name) {
            if layer(&used).is_none_or(|used| used >= own) {
                upward.insert((name.clone(), used));
            }
        }
    }
    assert_eq!(upward, BTreeSet::new(), "crates that use one of their layer, or above it");
}

/// Where the manifest says that there are no unit tests there are none: they would not run.
#[test]
fn no_unit_test_is_left_out() {
    let mut without = 0;
    for folder in fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()) {
        if fs::read_to_string(folder.join("Cargo.toml")).unwrap().contains("\ntest = false\n") {
            without += 1;
            for (module, tokens) in Source::read(&folder.join("src")).files {
                let text: String = tokens.to_string().split_whitespace().collect();
                let is_tested = ["#[test]", "cfg(test)", "cfg(all(test"].iter().any(|tests| text.contains(tests));
                assert!(!is_tested, "{}: {} has unit tests", folder.display(), module.join("::"));
            }
        }
    }
    assert_ne!(without, 0, "no manifest says that there are none");
}

/// The check finds what it looks for.
#[test]
fn circles_are_found() {
    let graph = |arrows: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in arrows {
            graph.entry((*from).into()).or_default().insert((*to).into(), String::new());
        }
        graph
    };
    let count = |arrows: &[(&str, &str)]| faults("", &graph(arrows)).len();
    assert_eq!(count(&[("b", "a"), ("c", "b"), ("c", "a")]), 0);
    assert_eq!(count(&[("b", "a"), ("a", "b")]), 2);
    assert_eq!(count(&[("b", "a"), ("c", "b"), ("a", "c")]), 3);
}

#[test]
fn imports_are_found() {
    let mut source = Source::default();
    for module in [&[][..], &["a"], &["a", "b"], &["c"]] {
        source.files.insert(module.iter().map(|name| (*name).to_owned()).collect(), TokenStream::new());
    }
    let text = "use crate::{a::{b::C, D}, Root}; fn f() { super::c::g(); m!(crate::a::X) } // crate::no\n
        mod inner { use super::super::c; } #[cfg(test)] mod tests { use crate::never; }";
    let here = vec!["c".to_owned()];
    source.walk(text.parse().unwrap(), &here, &here);
    let found: Vec<String> = source.arrows.keys().map(|(_, to)| to.join("::")).collect();
    assert_eq!(found, ["", "a", "a::b"]);
}

#[test]
fn what_functions_of_a_type_call_of_it_counts() {
    let module = |name: &str| vec![name.to_owned()];
    let mut source = Source::default();
    let texts = [
        ("a", "impl<T: X<Y>> Type<T> { fn first() { loop { Self::second() } } fn third() {} }"),
        ("b", "impl<T> Type<T> where T: Z { fn second() { Self::own(); Self::VALUE } fn own() {} }"),
        ("c", "impl Trait for Type { fn second() { Self::third() } }"),
        ("d", "impl Other { fn f() { Self::second() } }"),
    ];
    for (name, text) in texts {
        source.files.insert(module(name), text.parse().unwrap());
    }
    source.follow();
    let found: Vec<_> = source.arrows.keys().map(|(from, to)| (from[0].as_str(), to[0].as_str())).collect();
    assert_eq!(found, [("a", "b"), ("c", "a")]);
}
