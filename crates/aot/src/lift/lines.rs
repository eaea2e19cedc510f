//! Line tables in which the lines are guest addresses: traps, profilers and debuggers read them.

use std::cell::Cell;

use inkwell::context::Context;
use inkwell::debug_info::{
    AsDIScope, DICompileUnit, DIFile, DIFlagsConstants, DISubprogram, DISubroutineType, DWARFEmissionKind,
    DWARFSourceLanguage, DebugInfoBuilder,
};
use inkwell::module::{FlagBehavior, Module};
use inkwell::values::FunctionValue;

use crate::analysis::Function;
use crate::lift::ir::Ir;

/// A module's debug information under construction.
pub(crate) struct Lines<'c> {
    builder: DebugInfoBuilder<'c>,
    file: DIFile<'c>,
    unit: DICompileUnit<'c>,
    kind: DISubroutineType<'c>,
    function: Cell<Option<DISubprogram<'c>>>,
}

impl<'c> Lines<'c> {
    pub(crate) fn new(context: &'c Context, module: &Module<'c>) -> Lines<'c> {
        let version = context.i32_type().const_int(inkwell::debug_info::debug_metadata_version().into(), false);
        module.add_basic_value_flag("Debug Info Version", FlagBehavior::Warning, version);
        let (builder, unit) = module.create_debug_info_builder(
            false,
            DWARFSourceLanguage::Assembly,
            "guest",
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
        let file = builder.create_file("guest", "");
        let kind = builder.create_subroutine_type(file, None, &[], inkwell::debug_info::DIFlags::ZERO);
        Lines { builder, file, unit, kind, function: Cell::new(None) }
    }

    pub(crate) fn finish(&self) {
        self.builder.finalize();
    }
}

impl<'c> Ir<'c> {
    /// Lines are those of this function from now on.
    pub(crate) fn begin_lines(&self, host: FunctionValue<'c>, function: &Function) {
        let lines = &self.lines;
        let line = function.start as u32;
        let name = function.name.clone().unwrap_or_else(|| format!("guest_{line:x}"));
        let subprogram = lines.builder.create_function(
            lines.unit.as_debug_info_scope(),
            &name,
            None,
            lines.file,
            line,
            lines.kind,
            false,
            true,
            line,
            inkwell::debug_info::DIFlags::ZERO,
            true,
        );
        host.set_subprogram(subprogram);
        lines.function.set(Some(subprogram));
    }

    /// What is made from now on belongs to the guest instruction at `pc`.
    pub(crate) fn line(&self, pc: u64) {
        if let Some(function) = self.lines.function.get() {
            let scope = function.as_debug_info_scope();
            let location = self.lines.builder.create_debug_location(self.context, pc as u32, 0, scope, None);
            self.builder.set_current_debug_location(location);
        }
    }
}
