//! From the parser's declarations in C to types and prototypes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use lang_c::ast::{
    self, ArraySize, DeclarationSpecifier, Declarator, DeclaratorKind, DerivedDeclarator, Ellipsis, Expression,
    PointerQualifier, SpecifierQualifier, StorageClassSpecifier, StructDeclaration, StructKind, TypeName,
    TypeQualifier, TypeSpecifier,
};
use lang_c::span::Node;

use crate::constant::{Constant, Constants};
use crate::error::{Problem, Result, unsupported};
use crate::names;
use crate::reserved;
use crate::scope::Scope;
use crate::syntax;
use crate::types::{CHAR, Field, Record, STANDARD, Scalar, Type};

/// A function that a guest can call.
#[derive(Debug)]
pub(crate) struct Prototype {
    /// Its name in C.
    pub(crate) symbol: String,
    pub(crate) result: Type,
    pub(crate) parameters: Vec<Parameter>,
}

/// A parameter; an array is a pointer, as in C.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// Elements behind the pointer, if that was declared: `float m[16]`.
    pub(crate) length: Option<u64>,
    /// The parameter that says how many elements there are: `const float v[n], size_t n`.
    pub(crate) counted_by: Option<String>,
}

/// The types that have names.
#[derive(Debug)]
pub(crate) struct Types {
    named: HashMap<String, Type>,
    /// `struct x` to its type.
    tags: HashMap<String, Type>,
    /// The names of the constants of enums.
    constants: Scope,
    /// The constants of enums.
    values: HashMap<String, Constant>,
    /// The names of structs, unions and enums without their keywords, as C++ and generated code have them.
    written: Scope,
    /// The structs and unions whose fields have been declared.
    defined: BTreeSet<String>,
    /// Those of them whose fields are being read: they are incomplete until the last one.
    open: Vec<String>,
    /// All structs, in the order of their declarations.
    pub(crate) records: Vec<Arc<Record>>,
}

/// A type, and whether it is const.
struct Qualified(Type, bool);

impl Types {
    /// Those of C's headers.
    pub(crate) fn new() -> Types {
        let standard = |&(name, scalar): &(&str, Scalar)| {
            (name.to_owned(), Type::Named(name.to_owned(), Box::new(Type::Scalar(scalar))))
        };
        Types {
            named: STANDARD.iter().map(standard).collect(),
            tags: HashMap::new(),
            constants: Scope::new("enum constant"),
            values: HashMap::new(),
            written: Scope::new("type"),
            defined: BTreeSet::new(),
            open: Vec::new(),
            records: Vec::new(),
        }
    }

    /// Adds what an entry of "typedef" declares: type definitions, structs, unions, enums.
    pub(crate) fn define(&mut self, text: &str) -> Result<()> {
        self.parse(text)?.iter().try_for_each(|declaration| self.define_one(text, declaration))
    }

    fn define_one(&mut self, text: &str, declaration: &ast::Declaration) -> Result<()> {
        let specifiers = Specifiers::of_declaration(text, &declaration.specifiers)?;
        if !declaration.declarators.is_empty() && specifiers.storage != Some(&StorageClassSpecifier::Typedef) {
            return Err(unsupported(format!("`{text}` declares no type"), "begin it with `typedef`"));
        }
        if declaration.declarators.is_empty() && specifiers.storage.is_some() {
            return Err(unsupported(format!("`{text}` gives no name"), "write `typedef TYPE NAME`"));
        }
        // `typedef struct { .. } Name`: the struct has no other name.
        let own_name = match declaration.declarators.first().map(|first| &first.node.declarator.node) {
            Some(Declarator { kind, derived, .. }) if derived.is_empty() => match &kind.node {
                DeclaratorKind::Identifier(name) => Some(name.node.name.as_str()),
                _ => None,
            },
            _ => None,
        };
        let base = self.base(text, &specifiers, Defining::Yes(own_name))?;
        for declarator in &declaration.declarators {
            let base = Qualified(base.clone(), specifiers.constant);
            let (name, Qualified(ty, _)) = self.declared(text, base, &declarator.node.declarator.node)?;
            self.check_not_variable(text, &declarator.node.declarator.node)?;
            let name = name.unwrap_or_default();
            reserved::check_global(&name)?;
            // `typedef struct node node` is no second one.
            let known = match &ty {
                Type::Record(record) => names::bare(&record.name),
                Type::Opaque(known) | Type::Named(known, _) => names::bare(known),
                _ => "",
            };
            if known != name && self.written.has(&name) || self.constants.has(&name) {
                return Err(Problem::BadName(format!("the type `{name}` is declared already")));
            }
            let is_itself = match &ty {
                Type::Record(record) => record.name == name,
                Type::Opaque(known) => *known == name,
                _ => false,
            };
            let ty = if is_itself { ty } else { Type::Named(name.clone(), Box::new(ty)) };
            if self.named.insert(name.clone(), ty).is_some() {
                return Err(Problem::BadName(format!("the type `{name}` is declared already")));
            }
        }
        Ok(())
    }

    /// What of C has this name: two of them cannot have one.
    pub(crate) fn holder(&self, name: &str) -> Option<String> {
        let is_type = self.named.contains_key(name);
        let is_constant = self.constants.has(name);
        is_type.then(|| format!("typedef {name}")).or_else(|| is_constant.then(|| format!("enum constant {name}")))
    }

    /// Adds a name of a struct, union or enum.
    fn write(&mut self, name: &str) -> Result<()> {
        let bare = names::bare(name);
        reserved::check_global(bare)?;
        if self.named.contains_key(bare) {
            return Err(Problem::BadName(format!("the type `{bare}` is declared already")));
        }
        self.written.add(bare, &[bare.to_owned(), names::cpp_type(bare), names::rust_type(bare)])
    }

    /// The names of types that can only be used behind pointers, sorted.
    pub(crate) fn opaque(&self) -> Vec<String> {
        let opaque = self.tags.values().chain(self.named.values()).filter_map(|ty| match ty {
            Type::Opaque(name) => Some(name.clone()),
            _ => None,
        });
        opaque.collect::<BTreeSet<String>>().into_iter().collect()
    }

    /// Reads a prototype.
    pub(crate) fn prototype(&mut self, text: &str) -> Result<Prototype> {
        let not_one = || unsupported(format!("`{text}` does not declare one function"), "write one prototype");
        let declarations = self.parse(text)?;
        let [declaration] = declarations.as_slice() else { return Err(not_one()) };
        let [declarator] = declaration.declarators.as_slice() else { return Err(not_one()) };
        let specifiers = Specifiers::of_declaration(text, &declaration.specifiers)?;
        if !matches!(specifiers.storage, None | Some(StorageClassSpecifier::Extern)) {
            return Err(unsupported(format!("storage class in `{text}`"), "leave it out"));
        }
        let has_initializer = declarator.node.initializer.is_some();
        let declarator = &declarator.node.declarator.node;
        if has_initializer {
            return Err(not_one());
        }
        if !declarator.extensions.is_empty() {
            return Err(attribute(text));
        }
        let (DeclaratorKind::Identifier(symbol), Some((function, pointers))) =
            (&declarator.kind.node, declarator.derived.split_last())
        else {
            return Err(not_one());
        };
        let base = self.base(text, &specifiers, Defining::No)?;
        let Qualified(result, _) = self.derive(text, Qualified(base, specifiers.constant), pointers)?;
        if let Type::Array(..) | Type::Function(..) = result.bare() {
            return Err(not_one());
        }
        let parameters = match &function.node {
            DerivedDeclarator::Function(function) => self.parameters(text, &function.node)?,
            // `f ()`, or a list of names: C takes those for parameters in the style of K&R.
            DerivedDeclarator::KRFunction(names) => match names.first() {
                None => Vec::new(),
                Some(name) => return Err(syntax::unknown(text, &name.node.name, |name| self.similar(name))),
            },
            _ => return Err(not_one()),
        };
        Ok(Prototype { symbol: symbol.node.name.clone(), result, parameters })
    }

    fn parse(&self, text: &str) -> Result<Vec<ast::Declaration>> {
        syntax::parse(text, |name| self.named.contains_key(name), |name| self.similar(name))
    }

    /// What may have been meant by a type that is not known: the same name with or without its keyword, else a similar one.
    fn similar(&self, name: &str) -> Option<String> {
        if let Some((_, bare)) = name.split_once(' ') {
            if self.named.contains_key(bare) {
                return Some(bare.to_owned());
            }
            return names::similar(name, self.tags.keys().map(String::as_str));
        }
        let with_keyword = ["struct", "union", "enum"].map(|keyword| format!("{keyword} {name}"));
        let tag = with_keyword.into_iter().find(|tag| self.tags.contains_key(tag));
        tag.or_else(|| names::similar(name, self.named.keys().map(String::as_str)))
    }

    fn parameters(&mut self, text: &str, function: &ast::FunctionDeclarator) -> Result<Vec<Parameter>> {
        if function.ellipsis == Ellipsis::Some {
            return Err(Problem::Variadic { declaration: text.to_owned() });
        }
        let mut parameters = Vec::new();
        for parameter in &function.parameters {
            if !parameter.node.extensions.is_empty() {
                return Err(attribute(text));
            }
            let specifiers = Specifiers::of_declaration(text, &parameter.node.specifiers)?;
            let base = Qualified(self.base(text, &specifiers, Defining::No)?, specifiers.constant);
            let (name, Qualified(ty, constant)) = match &parameter.node.declarator {
                None => (None, base),
                Some(declarator) => self.declared(text, base, &declarator.node)?,
            };
            let (ty, length) = match ty {
                Type::Void if name.is_none() && function.parameters.len() == 1 => break,
                Type::Array(of, length) => (Type::Pointer(of, constant), length),
                Type::Function(..) => (Type::Pointer(Box::new(ty), false), None),
                ty => (ty, None),
            };
            if ty.bare() == &Type::Void {
                return Err(unsupported(format!("a parameter of type `void` in `{text}`"), "did you mean `void *`?"));
            }
            let name = name.unwrap_or_default();
            let declarator = parameter.node.declarator.as_ref();
            let counted_by = declarator.and_then(|declarator| self.variable_length(&declarator.node));
            let counted_by = counted_by.map(names::for_c);
            parameters.push(Parameter { name, ty, length, counted_by });
        }
        let mut scope = Scope::new("parameter");
        for index in 0..parameters.len() {
            let mut name = parameters[index].name.clone();
            if name.is_empty() {
                name = format!("arg{index}");
                while parameters.iter().any(|other| other.name == name) {
                    name.push('_');
                }
            }
            reserved::check(&name)?;
            if self.named.contains_key(&name) {
                let why = "is a type's, which the parameter would hide".to_owned();
                return Err(Problem::NameReserved { name, why });
            }
            let c = names::for_c(&name);
            scope.add(&name, &[names::rust_parameter(&c), names::rust_argument(&c), c.clone()])?;
            parameters[index].name = c;
        }
        Ok(parameters)
    }

    /// The name in a declarator, if it has one, and the type that it gets.
    fn declared(
        &mut self,
        text: &str,
        base: Qualified,
        declarator: &Declarator,
    ) -> Result<(Option<String>, Qualified)> {
        if !declarator.extensions.is_empty() {
            return Err(attribute(text));
        }
        let ty = self.derive(text, base, &declarator.derived)?;
        match &declarator.kind.node {
            DeclaratorKind::Abstract => Ok((None, ty)),
            DeclaratorKind::Identifier(name) => Ok((Some(name.node.name.clone()), ty)),
            DeclaratorKind::Declarator(inner) => self.declared(text, ty, &inner.node),
        }
    }

    /// Stars apply in their order, then the suffixes after the name, last one first.
    fn derive(&mut self, text: &str, base: Qualified, derived: &[Node<DerivedDeclarator>]) -> Result<Qualified> {
        let is_star = |part: &&Node<DerivedDeclarator>| matches!(part.node, DerivedDeclarator::Pointer(_));
        let (stars, behind) = derived.split_at(derived.iter().take_while(is_star).count());
        let mut ty = base;
        for part in stars.iter().chain(behind.iter().rev()) {
            let Qualified(inner, constant) = ty;
            ty = match &part.node {
                // How many elements such an array has, and so what lies where, is not known.
                DerivedDeclarator::Pointer(_) if matches!(inner.bare(), Type::Array(_, None)) => {
                    return Err(no_length(text));
                }
                DerivedDeclarator::Pointer(qualifiers) => {
                    Qualified(Type::Pointer(Box::new(inner), constant), is_const_pointer(text, qualifiers)?)
                }
                DerivedDeclarator::Array(array) => {
                    self.check_element(text, &inner)?;
                    if matches!(inner.bare(), Type::Array(_, None)) {
                        return Err(no_length(text));
                    }
                    let array = Type::Array(Box::new(inner), self.length(text, &array.node.size)?);
                    if let Type::Array(of, Some(length)) = &array {
                        let layout =
                            of.layout().map(|(size, align)| size.checked_mul(*length).map(|size| (size, align)));
                        layout.map_or(Ok(()), |layout| check_size(text, layout))?;
                    }
                    Qualified(array, constant)
                }
                // A function returns no function and no array.
                DerivedDeclarator::Function(_) | DerivedDeclarator::KRFunction(_)
                    if matches!(inner.bare(), Type::Array(..) | Type::Function(..)) =>
                {
                    return Err(unsupported(
                        format!("a function that returns an array or a function in `{text}`"),
                        "return a pointer",
                    ));
                }
                DerivedDeclarator::Function(function) => {
                    let parameters = self.parameters(text, &function.node)?;
                    let parameters = parameters.into_iter().map(|parameter| parameter.ty).collect();
                    Qualified(Type::Function(Box::new(inner), parameters), false)
                }
                DerivedDeclarator::KRFunction(names) if names.is_empty() => {
                    Qualified(Type::Function(Box::new(inner), Vec::new()), false)
                }
                DerivedDeclarator::KRFunction(names) => {
                    return Err(syntax::unknown(text, &names[0].node.name, |name| self.similar(name)));
                }
                DerivedDeclarator::Block(_) => {
                    return Err(unsupported(format!("a block in `{text}`"), "pass a function"));
                }
            };
        }
        Ok(ty)
    }

    /// The length of an array, if it is a number.
    fn length(&mut self, text: &str, size: &ArraySize) -> Result<Option<u64>> {
        let expression = match size {
            ArraySize::Unknown | ArraySize::VariableUnknown => return Ok(None),
            ArraySize::VariableExpression(expression) | ArraySize::StaticExpression(expression) => &expression.node,
        };
        match expression {
            // Another parameter, for the reader.
            Expression::Identifier(name) if !self.values.contains_key(&name.node.name) => Ok(None),
            expression => match self.constant(text, expression)?.value {
                length @ 1..=0xffff_ffff => Ok(Some(length as u64)),
                _ => Err(unsupported(format!("the length of an array in `{text}`"), "write a number above zero")),
            },
        }
    }

    /// Fails if the type cannot be that of a field or of an array's elements.
    fn check_element(&self, text: &str, ty: &Type) -> Result<()> {
        let what = match ty.bare() {
            Type::Void => "`void`".to_owned(),
            Type::Function(..) => "a function".to_owned(),
            Type::Array(of, _) => return self.check_element(text, of),
            Type::Opaque(name) if !self.defined.contains(name) => format!("`{name}`, which has no fields yet,"),
            Type::Opaque(name) if self.open.contains(name) => format!("`{name}`, which is inside itself,"),
            _ => return Ok(()),
        };
        Err(unsupported(format!("{what} as a field or element in `{text}`"), "make it a pointer"))
    }

    /// The name that is the length of a declared array, if it is not a constant's.
    fn variable_length<'a>(&self, declarator: &'a Declarator) -> Option<&'a str> {
        let Some(DerivedDeclarator::Array(array)) = outermost(declarator) else { return None };
        match &array.node.size {
            ArraySize::VariableExpression(length) | ArraySize::StaticExpression(length) => match &length.node {
                Expression::Identifier(name) => Some(&*name.node.name).filter(|name| !self.values.contains_key(*name)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Fails if the length of an array is the name of a parameter, where there are none.
    fn check_not_variable(&self, text: &str, declarator: &Declarator) -> Result<()> {
        match self.variable_length(declarator) {
            None => Ok(()),
            Some(name) => Err(unsupported(
                format!("the length `{name}` of an array in `{text}`, which is no constant of an enum declared before"),
                "write the number, or declare the enum first",
            )),
        }
    }

    /// The type that specifiers name, or define.
    fn base(&mut self, text: &str, specifiers: &Specifiers<'_>, defining: Defining<'_>) -> Result<Type> {
        match specifiers.types.as_slice() {
            [TypeSpecifier::Void] => Ok(Type::Void),
            // `char` is unsigned on RISC-V, and still a type of its own.
            [TypeSpecifier::Char] => Ok(Type::Named(CHAR.to_owned(), Box::new(Type::Scalar(Scalar::U8)))),
            [TypeSpecifier::Struct(record)] => self.record(text, &record.node, defining),
            [TypeSpecifier::Enum(kind)] => self.enumeration(text, &kind.node, defining),
            [TypeSpecifier::TypedefName(name)] => match self.named.get(&name.node.name) {
                Some(ty) => Ok(ty.clone()),
                None => Err(syntax::unknown(text, &name.node.name, |name| self.similar(name))),
            },
            words => scalar(words).map(Type::Scalar).ok_or_else(|| {
                unsupported(
                    format!("a type of numbers in `{text}`"),
                    "bool, integers of 8 to 64 bits, float and double are supported",
                )
            }),
        }
    }

    fn record(&mut self, text: &str, record: &ast::StructType, defining: Defining<'_>) -> Result<Type> {
        let keyword = if record.kind.node == StructKind::Union { "union" } else { "struct" };
        let tag = record.identifier.as_ref().map(|name| format!("{keyword} {}", name.node.name));
        let (declarations, own_name) = match (&record.declarations, defining) {
            (Some(declarations), Defining::Yes(own_name)) => (declarations, own_name),
            (Some(_), Defining::No) => {
                return Err(unsupported(format!("a struct is defined in `{text}`"), "define it under \"typedef\""));
            }
            (None, defining) => {
                let tag = tag.unwrap_or_default();
                return match (self.tags.get(&tag), defining) {
                    (Some(ty), _) => Ok(ty.clone()),
                    (None, Defining::No) => Err(syntax::unknown(text, &tag, |name| self.similar(name))),
                    (None, Defining::Yes(_)) => {
                        self.write(&tag)?;
                        self.tags.insert(tag.clone(), Type::Opaque(tag.clone()));
                        Ok(Type::Opaque(tag))
                    }
                };
            }
        };
        let Some(name) = tag.clone().or_else(|| own_name.map(str::to_owned)) else {
            return Err(unsupported(format!("a struct without a name in `{text}`"), "give it one"));
        };
        match tag.as_ref().and_then(|tag| self.tags.get(tag)) {
            // It may have been declared before.
            Some(Type::Opaque(_)) if !self.defined.contains(&name) => {}
            Some(_) => return Err(Problem::BadName(format!("the type `{name}` is declared already"))),
            None => self.write(&name)?,
        }
        self.defined.insert(name.clone());
        // Its fields may be pointers to it.
        if let Some(tag) = &tag {
            self.tags.insert(tag.clone(), Type::Opaque(tag.clone()));
        }
        self.open.push(name.clone());
        let fields = self.fields(text, declarations, record.kind.node == StructKind::Union)?;
        self.open.pop();
        let ty = match fields {
            Some(fields) if record.kind.node == StructKind::Struct && !fields.is_empty() => {
                let record = Arc::new(Record { name: name.clone(), fields });
                if record.fields.iter().all(|field| field.ty.layout().is_some()) {
                    check_size(text, record.layout())?;
                    self.records.push(record.clone());
                    Type::Record(record)
                } else {
                    Type::Opaque(name)
                }
            }
            _ => Type::Opaque(name),
        };
        if let Some(tag) = tag {
            self.tags.insert(tag, ty.clone());
        }
        Ok(ty)
    }

    /// The fields, or `None` if their places are not known (bit fields, nested anonymous structs).
    fn fields(
        &mut self,
        text: &str,
        declarations: &[Node<StructDeclaration>],
        in_union: bool,
    ) -> Result<Option<Vec<Field>>> {
        let mut fields: Vec<Field> = Vec::new();
        let mut scope = Scope::new("field");
        for declaration in declarations {
            let StructDeclaration::Field(field) = &declaration.node else { continue };
            let specifiers = Specifiers::of_field(text, &field.node.specifiers)?;
            if field.node.declarators.is_empty() {
                return Ok(None);
            }
            let base = self.base(text, &specifiers, Defining::Yes(None))?;
            for declarator in &field.node.declarators {
                let (Some(declarator), None) = (&declarator.node.declarator, &declarator.node.bit_width) else {
                    return Ok(None);
                };
                let base = Qualified(base.clone(), specifiers.constant);
                let (name, Qualified(ty, _)) = self.declared(text, base, &declarator.node)?;
                let name = name.unwrap_or_default();
                reserved::check_field(&name)?;
                self.check_element(text, &ty)?;
                self.check_not_variable(text, &declarator.node)?;
                // Only the last field of a struct can be an array without a length.
                let before = fields.last().map(|field| field.ty.bare());
                if matches!(before, Some(Type::Array(_, None))) || in_union && matches!(ty, Type::Array(_, None)) {
                    return Err(no_length(text));
                }
                scope.add(&name, &[names::for_c(&name), names::for_rust(&name)])?;
                fields.push(Field { name, ty });
            }
        }
        Ok(Some(fields))
    }

    fn enumeration(&mut self, text: &str, kind: &ast::EnumType, defining: Defining<'_>) -> Result<Type> {
        let tag = kind.identifier.as_ref().map(|name| format!("enum {}", name.node.name));
        if let (Some(tag), true) = (&tag, kind.enumerators.is_empty()) {
            return match self.tags.get(tag) {
                Some(ty) => Ok(ty.clone()),
                None => Err(syntax::unknown(text, tag, |name| self.similar(name))),
            };
        }
        if matches!(defining, Defining::No) {
            return Err(unsupported(format!("an enum is defined in `{text}`"), "define it under \"typedef\""));
        }
        let ty = Type::Scalar(self.enumerators(text, kind)?);
        Ok(match tag {
            Some(tag) => {
                self.write(&tag)?;
                let ty = Type::Named(tag.clone(), Box::new(ty));
                self.tags.insert(tag, ty.clone());
                ty
            }
            None => ty,
        })
    }
}

impl Constants for Types {
    fn value(&self, name: &str) -> Option<Constant> {
        self.values.get(name).copied()
    }

    fn set_value(&mut self, name: &str, constant: Constant) {
        self.values.insert(name.to_owned(), constant);
    }

    fn add_constant(&mut self, name: &str) -> Result<()> {
        if self.named.contains_key(name) {
            return Err(Problem::BadName(format!("`{name}` is declared as a type already")));
        }
        self.constants.add(name, &[name.to_owned()])
    }

    fn type_name(&mut self, text: &str, name: &TypeName) -> Result<Type> {
        let specifiers = Specifiers::of_field(text, &name.specifiers)?;
        let base = Qualified(self.base(text, &specifiers, Defining::No)?, specifiers.constant);
        match &name.declarator {
            None => Ok(base.0),
            Some(declarator) => Ok(self.declared(text, base, &declarator.node)?.1.0),
        }
    }
}

/// Whether a struct or enum may be defined here, and the name that its typedef gives it.
#[derive(Clone, Copy)]
enum Defining<'a> {
    Yes(Option<&'a str>),
    No,
}

/// The specifiers before a declarator.
struct Specifiers<'a> {
    types: Vec<&'a TypeSpecifier>,
    constant: bool,
    storage: Option<&'a StorageClassSpecifier>,
}

impl<'a> Specifiers<'a> {
    fn of_declaration(text: &str, specifiers: &'a [Node<DeclarationSpecifier>]) -> Result<Specifiers<'a>> {
        let mut all = Specifiers { types: Vec::new(), constant: false, storage: None };
        for specifier in specifiers {
            match &specifier.node {
                DeclarationSpecifier::TypeSpecifier(ty) => all.types.push(&ty.node),
                DeclarationSpecifier::TypeQualifier(qualifier) => all.constant |= is_const(text, &qualifier.node)?,
                DeclarationSpecifier::StorageClass(class) => all.storage = Some(&class.node),
                DeclarationSpecifier::Function(_) => {
                    return Err(unsupported(format!("`inline` or `_Noreturn` in `{text}`"), "leave it out"));
                }
                DeclarationSpecifier::Alignment(_) | DeclarationSpecifier::Extension(_) => return Err(attribute(text)),
            }
        }
        Ok(all)
    }

    fn of_field(text: &str, specifiers: &'a [Node<SpecifierQualifier>]) -> Result<Specifiers<'a>> {
        let mut all = Specifiers { types: Vec::new(), constant: false, storage: None };
        for specifier in specifiers {
            match &specifier.node {
                SpecifierQualifier::TypeSpecifier(ty) => all.types.push(&ty.node),
                SpecifierQualifier::TypeQualifier(qualifier) => all.constant |= is_const(text, &qualifier.node)?,
                SpecifierQualifier::Extension(_) => return Err(attribute(text)),
            }
        }
        Ok(all)
    }
}

/// `unsigned long int` and the like, in any order.
fn scalar(words: &[&TypeSpecifier]) -> Option<Scalar> {
    let count = |wanted: &TypeSpecifier| words.iter().filter(|&&word| word == wanted).count();
    let (signed, unsigned) = (count(&TypeSpecifier::Signed), count(&TypeSpecifier::Unsigned));
    let (short, long, int) = (count(&TypeSpecifier::Short), count(&TypeSpecifier::Long), count(&TypeSpecifier::Int));
    let char = count(&TypeSpecifier::Char);
    let others = words.len() - signed - unsigned - short - long - int - char;
    if others != 0 {
        return match words {
            [TypeSpecifier::Bool] => Some(Scalar::Bool),
            [TypeSpecifier::Float] => Some(Scalar::F32),
            [TypeSpecifier::Double] => Some(Scalar::F64),
            _ => None,
        };
    }
    let pick = |yes: Scalar, no: Scalar| Some(if unsigned == 1 { yes } else { no });
    match (signed + unsigned, char, short, long, int) {
        (1, 1, 0, 0, 0) => pick(Scalar::U8, Scalar::I8),
        (0 | 1, 0, 1, 0, 0 | 1) => pick(Scalar::U16, Scalar::I16),
        (0 | 1, 0, 0, 1 | 2, 0 | 1) => pick(Scalar::U64, Scalar::I64),
        (0, 0, 0, 0, 1) | (1, 0, 0, 0, 0 | 1) => pick(Scalar::U32, Scalar::I32),
        _ => None,
    }
}

fn is_const(text: &str, qualifier: &TypeQualifier) -> Result<bool> {
    match qualifier {
        TypeQualifier::Const => Ok(true),
        TypeQualifier::Restrict => Ok(false),
        _ => Err(unsupported(format!("`volatile` or `_Atomic` in `{text}`"), "leave it out")),
    }
}

fn is_const_pointer(text: &str, qualifiers: &[Node<PointerQualifier>]) -> Result<bool> {
    let mut constant = false;
    for qualifier in qualifiers {
        match &qualifier.node {
            PointerQualifier::TypeQualifier(qualifier) => constant |= is_const(text, &qualifier.node)?,
            PointerQualifier::Extension(_) => return Err(attribute(text)),
        }
    }
    Ok(constant)
}

/// What the type of a declared name is first: in `float (*m)[n]` a pointer, in `float *m[n]` an array.
fn outermost(declarator: &Declarator) -> Option<&DerivedDeclarator> {
    let inner = match &declarator.kind.node {
        DeclaratorKind::Declarator(inner) => outermost(&inner.node),
        _ => None,
    };
    let is_star = |part: &DerivedDeclarator| matches!(part, DerivedDeclarator::Pointer(_));
    let mut own = declarator.derived.iter().map(|part| &part.node);
    inner.or_else(|| own.clone().find(|part| !is_star(part))).or_else(|| own.next_back())
}

/// Fails if no guest's memory holds a type of this size; `None` is more than 64 bits.
fn check_size(text: &str, layout: Option<(u64, u64)>) -> Result<()> {
    const GUEST_MEMORY: u64 = 1 << 32;
    if layout.is_some_and(|(size, _)| size < GUEST_MEMORY) {
        return Ok(());
    }
    Err(unsupported(format!("a type in `{text}` that is larger than a guest's memory"), "make it less than 4 GiB"))
}

fn no_length(text: &str) -> Problem {
    let what = format!("an array without a number as its length, inside another type, in `{text}`");
    unsupported(what, "write the number, or pass a pointer to the first element")
}

fn attribute(text: &str) -> Problem {
    unsupported(
        format!("an attribute in `{text}`"),
        "leave it out; it could change the call, or how a struct lies in memory",
    )
}
