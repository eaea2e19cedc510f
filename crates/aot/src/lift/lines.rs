//! Line tables: where in the guest a host instruction comes from. Traps, profilers and debuggers read
//! them.
//!
//! A place is both an address and, where the guest has debug information, a source line. So a line of
//! the file [`GUEST_FILE`] is an address; of every other file, the *column* is the address, as the
//! distance from the function's start in parcels of two bytes, counted from 1.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use inkwell::context::Context;
use inkwell::debug_info::{
    AsDIScope, DICompileUnit, DIFile, DIFlagsConstants, DILocation, DIScope, DISubroutineType, DWARFEmissionKind,
    DWARFSourceLanguage, DebugInfoBuilder,
};
use inkwell::module::{FlagBehavior, Module};
use inkwell::values::FunctionValue;

use riverrun_program::demangle;
use riverrun_vm::artifact::GUEST_FILE;

use crate::analysis::Function;

/// A module's debug information under construction.
pub(crate) struct Lines<'c> {
    builder: DebugInfoBuilder<'c>,
    file: DIFile<'c>,
    unit: DICompileUnit<'c>,
    kind: DISubroutineType<'c>,
    /// The scope of what has no source line, in the function that lines are now of.
    unknown: Cell<Option<DIScope<'c>>>,
    start: Cell<u64>,
    /// The source lines of the function's instructions.
    sources: RefCell<HashMap<u64, (DIScope<'c>, u32)>>,
}

impl<'c> Lines<'c> {
    pub(crate) fn new(context: &'c Context, module: &Module<'c>) -> Lines<'c> {
        let version = context.i32_type().const_int(inkwell::debug_info::debug_metadata_version().into(), false);
        module.add_basic_value_flag("Debug Info Version", FlagBehavior::Warning, version);
        let (builder, unit) = module.create_debug_info_builder(
            false,
            DWARFSourceLanguage::Assembly,
            GUEST_FILE,
            "",
            "riverrun",
            true,
            "",
            0,
            "",
            DWARFEmissionKind::LineTablesOnly,
            0,
            false,
            false,
            "",
            "",
        );
        let file = builder.create_file(GUEST_FILE, "");
        let kind = builder.create_subroutine_type(file, None, &[], inkwell::debug_info::DIFlags::ZERO);
        Lines { builder, file, unit, kind, unknown: Cell::new(None), start: Cell::new(0), sources: RefCell::default() }
    }

    pub(crate) fn finish(&self) {
        self.builder.finalize();
    }

    /// Lines are those of this function from now on, with what `source` knows of its instructions.
    pub(crate) fn begin(
        &self,
        host: FunctionValue<'c>,
        function: &Function,
        source: impl Fn(u64) -> Option<(String, u32)>,
    ) {
        let address = function.start as u32;
        let name = function.name.as_deref().map_or_else(|| format!("#{address:x}").into(), demangle);
        let (file, line) = match source(function.start) {
            Some((path, line)) => (self.builder.create_file(&path, ""), line),
            None => (self.file, address),
        };
        let subprogram = self.builder.create_function(
            self.unit.as_debug_info_scope(),
            &name,
            None,
            file,
            line,
            self.kind,
            false,
            true,
            line,
            inkwell::debug_info::DIFlags::ZERO,
            true,
        );
        host.set_subprogram(subprogram);
        self.start.set(function.start);
        let mut scopes: HashMap<String, DIScope<'c>> = HashMap::new();
        let mut scope = |path: String| {
            *scopes.entry(path).or_insert_with_key(|path| {
                let file = self.builder.create_file(path, "");
                let function = subprogram.as_debug_info_scope();
                self.builder.create_lexical_block(function, file, line, 0).as_debug_info_scope()
            })
        };
        self.unknown.set(Some(scope(GUEST_FILE.to_owned())));
        let pcs = function.blocks.values().flat_map(|block| &block.insts).map(|(pc, _)| *pc);
        let sources = pcs.filter_map(|pc| source(pc).map(|(path, line)| (pc, (scope(path), line))));
        *self.sources.borrow_mut() = sources.collect();
    }

    /// The place of the guest instruction at `pc`; `None` outside of functions.
    pub(crate) fn place(&self, context: &'c Context, pc: u64) -> Option<DILocation<'c>> {
        let unknown = self.unknown.get()?;
        let column = u16::try_from(pc.wrapping_sub(self.start.get()) / 2 + 1);
        let (scope, line, column) = match (self.sources.borrow().get(&pc), column) {
            (Some(&(scope, line)), Ok(column)) => (scope, line, column.into()),
            _ => (unknown, pc as u32, 0),
        };
        Some(self.builder.create_debug_location(context, line, column, scope, None))
    }
}
