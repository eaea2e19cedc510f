//! The description of an API: a JSON file that maps names to prototypes in C.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::abi::{self, Convention};
use crate::declaration::{Parameter, Prototype, Types};
use crate::error::{Error, Problem};
use crate::names;
use crate::reserved;
use crate::types::{Record, Type};

/// Bytes of a description at most.
const FILE_MAX: u64 = 64 << 20;

/// An API: the functions of the host that a guest can call.
#[derive(Debug)]
pub struct Api {
    pub(crate) file: PathBuf,
    /// The entries of "typedef", for headers.
    pub(crate) typedefs: Vec<String>,
    pub(crate) records: Vec<Arc<Record>>,
    /// Types that can only be used behind pointers.
    pub(crate) opaque: Vec<String>,
    pub(crate) calls: Vec<Call>,
}

/// One function of the API.
#[derive(Debug)]
pub(crate) struct Call {
    /// `Debug::is_debug`.
    pub(crate) name: String,
    /// `sys_is_debug`.
    pub(crate) symbol: String,
    pub(crate) hash: u32,
    /// The number of its import: its place in the description.
    pub(crate) index: u32,
    pub(crate) result: Type,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) convention: Convention,
    /// Whether it can be called only while the guest initializes.
    pub(crate) initialization: bool,
    pub(crate) side: Side,
    /// Whether it accesses only the memory that its arguments point to, and does not call back.
    pub(crate) leaf: bool,
}

/// Which hosts have a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Both,
    Client,
    Server,
}

impl Call {
    /// The text that the import's record has: `i32 (ptr)`.
    pub(crate) fn signature(&self) -> String {
        abi::signature(&self.convention)
    }
}

/// The text of a file, which may be a device without an end.
fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    match File::open(file)?.take(FILE_MAX + 1).read_to_string(&mut text)? as u64 > FILE_MAX {
        true => Err(io::Error::other(format!("it has more than {FILE_MAX} bytes"))),
        false => Ok(text),
    }
}

impl Api {
    /// Reads a description.
    ///
    /// # Errors
    /// If it cannot be read, and as [`Api::parse`].
    pub fn read(file: impl AsRef<Path>) -> Result<Api, Error> {
        let file = file.as_ref();
        let text = read(file).map_err(|error| Error {
            file: file.to_owned(),
            place: None,
            subject: None,
            problem: Box::new(Problem::Io(error)),
        })?;
        Api::parse(file, &text)
    }

    /// Reads a description from a text; errors and generated files name `file` as its source.
    ///
    /// # Errors
    /// Everything that [`Problem`] lists, with line and column.
    ///
    /// ```
    /// use riverrun_bindgen::Api;
    ///
    /// let api = Api::parse("api.json", r#"{ "Debug::is_debug": "int sys_is_debug ()" }"#)?;
    /// assert!(api.guest_c_header().contains("int dsys_is_debug(void)"));
    ///
    /// let error = Api::parse("api.json", r#"{ "Game::exit": "void sys_exit (Status)" }"#).unwrap_err();
    /// assert!(error.to_string().starts_with("api.json:1:17: Game::exit: unknown type `Status`"));
    /// # Ok::<(), riverrun_bindgen::Error>(())
    /// ```
    pub fn parse(file: impl AsRef<Path>, text: &str) -> Result<Api, Error> {
        // Some editors write a byte order mark first.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Reader { file: file.as_ref(), text }.api()
    }
}

/// The keys that are not calls: lists of names, and the types.
const KEYS: [&str; 5] = ["typedef", "initialization", "clientside", "serverside", "leaf"];

struct Reader<'a> {
    file: &'a Path,
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn api(&self) -> Result<Api, Error> {
        let entries: Entries<'a> = serde_json::from_str(self.text).map_err(|error| {
            let json = error.to_string();
            // The position is printed by `Error`, in the form that editors understand.
            let message = json.rsplit_once(" at line ").map_or(json.as_str(), |(message, _)| message);
            let place = Some((error.line().max(1), error.column().max(1)));
            Error {
                file: self.file.to_owned(),
                place,
                subject: None,
                problem: Box::new(Problem::Json(message.to_owned())),
            }
        })?;
        self.check_names(&entries)?;
        let find = |key: &str| entries.0.iter().find(|(name, _)| name == key).map(|(_, value)| *value);

        let mut types = Types::new();
        let mut typedefs = Vec::new();
        if let Some(value) = find("typedef") {
            // One, or a list of them.
            let list = if value.get().starts_with('"') { vec![value] } else { self.list("typedef", value)? };
            for value in list {
                let text = self.string("typedef", value)?;
                types.define(&text).map_err(|problem| self.error("typedef", value, problem))?;
                typedefs.push(text.trim_end().trim_end_matches(';').to_owned());
            }
        }

        let mut calls: Vec<Call> = Vec::new();
        let mut by_symbol: HashMap<String, usize> = HashMap::new();
        let mut by_hash: HashMap<u32, usize> = HashMap::new();
        for (name, value) in entries.0.iter().filter(|(name, _)| !KEYS.contains(&name.as_str())) {
            let text = self.string(name, value)?;
            let wrong = |problem| self.error(name, value, problem);
            if let Some(objection) = names::objection(name) {
                return Err(wrong(Problem::BadName(objection)));
            }
            let hash = names::hash(name);
            if hash < names::FIRST_HASH {
                return Err(wrong(Problem::HashReserved { hash, limit: names::FIRST_HASH }));
            }
            if let Some(&other) = by_hash.get(&hash) {
                return Err(wrong(Problem::HashCollision { hash, other: calls[other].name.clone() }));
            }
            let Prototype { symbol, result, parameters } = types.prototype(&text).map_err(wrong)?;
            reserved::check_symbol(&symbol).map_err(wrong)?;
            let plain = names::plain(&symbol);
            let stubs = [symbol.clone(), names::inline(&symbol), names::direct(&symbol)];
            if let Some((other, stub)) = stubs.iter().find_map(|stub| Some((types.holder(stub)?, stub))) {
                return Err(wrong(Problem::DuplicateSymbol { symbol: stub.clone(), other }));
            }
            // Hosts have them without `sys_`.
            for stub in stubs.into_iter().chain([plain.to_owned(), names::for_c(plain), names::for_rust(plain)]) {
                match by_symbol.insert(stub.clone(), calls.len()) {
                    Some(other) if other != calls.len() => {
                        let other = calls[other].name.clone();
                        return Err(wrong(Problem::DuplicateSymbol { symbol: stub, other }));
                    }
                    _ => {}
                }
            }
            by_hash.insert(hash, calls.len());
            let parameter_types: Vec<&Type> = parameters.iter().map(|parameter| &parameter.ty).collect();
            let convention = Convention::new(&result, &parameter_types).map_err(wrong)?;
            calls.push(Call {
                name: name.clone(),
                symbol,
                hash,
                index: names::FIRST_IMPORT + calls.len() as u32,
                result,
                parameters,
                convention,
                initialization: false,
                side: Side::Both,
                leaf: false,
            });
        }
        if calls.len() > names::MAX_CALLS {
            let problem = Box::new(Problem::TooMany { count: calls.len() });
            return Err(Error { file: self.file.to_owned(), place: None, subject: None, problem });
        }
        for key in ["initialization", "clientside", "serverside", "leaf"] {
            let Some(value) = find(key) else { continue };
            for value in self.list(key, value)? {
                let name = self.string(key, value)?;
                let Some(call) = calls.iter_mut().find(|call| call.name == name) else {
                    let similar = names::similar(&name, calls.iter().map(|call| call.name.as_str()));
                    return Err(self.error(key, value, Problem::UnknownCall { name, similar }));
                };
                mark(call, key).map_err(|problem| self.error(&name, value, problem))?;
            }
        }
        Ok(Api { file: self.file.to_owned(), typedefs, opaque: types.opaque(), records: types.records, calls })
    }

    fn check_names(&self, entries: &Entries<'a>) -> Result<(), Error> {
        let mut lines: HashMap<&str, usize> = HashMap::new();
        for (name, value) in &entries.0 {
            let (line, _) = self.place(value);
            if let Some(first_line) = lines.insert(name, line) {
                return Err(self.error(name, value, Problem::DuplicateName { first_line }));
            }
        }
        Ok(())
    }

    fn string(&self, subject: &str, value: &'a RawValue) -> Result<String, Error> {
        let wrong = |_| self.error(subject, value, Problem::Json(format!("expected a string, found {}", kind(value))));
        serde_json::from_str(value.get()).map_err(wrong)
    }

    fn list(&self, subject: &str, value: &'a RawValue) -> Result<Vec<&'a RawValue>, Error> {
        let wrong =
            |_| self.error(subject, value, Problem::Json(format!("expected a list of strings, found {}", kind(value))));
        serde_json::from_str(value.get()).map_err(wrong)
    }

    fn error(&self, subject: &str, value: &RawValue, problem: Problem) -> Error {
        let place = Some(self.place(value));
        Error { file: self.file.to_owned(), place, subject: Some(subject.to_owned()), problem: Box::new(problem) }
    }

    /// Line and column of a value, which is a part of the text.
    fn place(&self, value: &RawValue) -> (usize, usize) {
        let offset = (value.get().as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..offset).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        (before.matches('\n').count() + 1, line.chars().count() + 1)
    }
}

/// Records that `call` is in the list `key`.
fn mark(call: &mut Call, key: &str) -> Result<(), Problem> {
    let side = match key {
        "initialization" => {
            call.initialization = true;
            return Ok(());
        }
        "leaf" => {
            let unbounded = call.parameters.iter().find(|parameter| is_unbounded(parameter));
            if let Some(parameter) = unbounded {
                return Err(Problem::UnboundedLeaf { parameter: parameter.name.clone() });
            }
            call.leaf = true;
            return Ok(());
        }
        "clientside" => Side::Client,
        _ => Side::Server,
    };
    if call.side != Side::Both && call.side != side {
        return Err(Problem::BothSides);
    }
    call.side = side;
    Ok(())
}

/// Whether the declaration leaves open how much memory a host reaches by this argument.
fn is_unbounded(parameter: &Parameter) -> bool {
    match parameter.ty.bare() {
        Type::Pointer(to, _) => parameter.length.is_none() || to.has_pointers(),
        ty => ty.has_pointers(),
    }
}

fn kind(value: &RawValue) -> &'static str {
    match value.get().bytes().next() {
        Some(b'"') => "a string",
        Some(b'[') => "a list",
        Some(b'{') => "an object",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// The entries of an object in their order, also those of the same name.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of names and prototypes, such as {\"Debug::is_debug\": \"int sys_is_debug ()\"}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
                    entries.push((name, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
