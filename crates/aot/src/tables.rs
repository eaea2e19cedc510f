//! The tables of an artifact: dispatch table, re-entry points, host-ABI entry points, identity.

use inkwell::GlobalVisibility;
use inkwell::context::Context;
use inkwell::module::Linkage;
use inkwell::types::BasicType;
use inkwell::values::{BasicValue, GlobalValue, PointerValue};
use riverrun_vm::artifact::{Dispatch, HOST_ABI_ENTRIES_SYMBOL, Header, IDENTITY_SYMBOL, REENTRY_POINTS_SYMBOL};

use crate::emit::{self, Phases};
use crate::error::CompileError;
use crate::lift::{Callers, Ir, define_helpers, searcher};
use crate::options::CompileOptions;
use crate::program::Program;
use crate::quick;
use crate::schedule::Schedule;

/// The object with the dispatch table, the re-entry points and the host-ABI entry points.
pub(crate) fn object(
    program: &Program<'_>,
    reentry_points: &[u64],
    host_entered: &[u64],
    header: &Header,
    options: &CompileOptions,
    phases: &mut Phases,
) -> Result<Vec<u8>, CompileError> {
    let machine = emit::machine(options)?;
    let context = Context::create();
    let ir = Ir::new(&context, "tables", *options, Callers::Guest, "generic", &program.names);
    define_helpers(&ir);
    let has_bodies = !program.quick.is_empty();
    if has_bodies {
        ir.module.set_inline_assembly(&quick::assembly(&searcher(&program.names)));
    } else {
        program.left_out.iter().for_each(|&start| ir.define_interpreted(start));
    }
    let dispatch = dispatch(&ir, program, has_bodies);
    ir.define_searcher(program.dispatch_bits);
    let i32 = ir.bits(32);
    let all: Vec<_> = std::iter::once(reentry_points.len() as u64).chain(reentry_points.iter().copied()).collect();
    let all: Vec<_> = all.into_iter().map(|word| i32.const_int(word, false)).collect();
    let reentry_points = constant(&ir, &program.names.table(REENTRY_POINTS_SYMBOL), &i32.const_array(&all));
    let host_abi_entries = host_abi_entries(&ir, host_entered);
    if program.names.is_linked {
        descriptor(&ir, program, [dispatch, reentry_points, host_abi_entries], header);
    } else {
        constant(&ir, IDENTITY_SYMBOL, &context.const_string(&header.identity(), false));
    }
    emit::object(&ir, Schedule::Registers, &machine, phases)
}

/// A table that shared objects export, but never replace by another one's.
fn constant<'c>(ir: &Ir<'c>, name: &str, value: &impl BasicValue<'c>) -> GlobalValue<'c> {
    let value = value.as_basic_value_enum();
    let global = ir.module.get_global(name).unwrap_or_else(|| ir.module.add_global(value.get_type(), None, name));
    let visibility = if ir.names.is_linked { GlobalVisibility::Hidden } else { GlobalVisibility::Protected };
    global.set_visibility(visibility);
    global.set_constant(true);
    global.set_initializer(&value);
    global
}

/// The dispatch table; see [`Dispatch`]. Behind that of quick code are the distances to the functions' bodies.
fn dispatch<'c>(ir: &Ir<'c>, program: &Program<'_>, has_bodies: bool) -> GlobalValue<'c> {
    let size = 1 << program.dispatch_bits;
    let mut places: Vec<Option<u64>> = vec![None; size];
    for &start in program.starts.difference(&program.interpreted) {
        let mut index = Dispatch::index(start as u32, program.dispatch_bits);
        while places[index].is_some() {
            index = (index + 1) % size;
        }
        places[index] = Some(start);
    }
    let words = ir.i64.array_type(size as u32);
    let name = program.names.dispatch();
    // Its own address is part of it.
    let columns = if has_bodies { 3 } else { 2 };
    let kind = ir.context.struct_type(&vec![words.into(); columns], false);
    let global = ir.module.add_global(kind.as_basic_type_enum(), None, &name);
    let here = global.as_pointer_value().const_to_int(ir.i64);
    let distances_to = |code: &dyn Fn(u64) -> PointerValue<'c>| -> Vec<_> {
        let distance = |start| code(start).const_to_int(ir.i64).const_sub(here);
        places.iter().map(|start| start.map_or(ir.i64.const_zero(), distance)).collect()
    };
    let code = |start| ir.function(start).as_global_value().as_pointer_value();
    let body =
        |start| ir.module.add_global(ir.bits(8), None, &quick::body_of(&program.names, start)).as_pointer_value();
    let free = |place| Dispatch::free(place, program.dispatch_bits);
    let pcs = places.iter().enumerate().map(|(place, start)| ir.int(start.unwrap_or_else(|| free(place))));
    let pcs: Vec<_> = pcs.collect();
    let mut columns = vec![pcs, distances_to(&code)];
    if has_bodies {
        columns.push(distances_to(&body));
    }
    let columns: Vec<_> = columns.iter().map(|words| ir.i64.const_array(words).into()).collect();
    constant(ir, &name, &kind.const_named_struct(&columns))
}

/// The table of host-ABI entry points; see [`HOST_ABI_ENTRIES_SYMBOL`].
fn host_abi_entries<'c>(ir: &Ir<'c>, starts: &[u64]) -> GlobalValue<'c> {
    let pairs = ir.i64.array_type(2).array_type(starts.len() as u32);
    let name = ir.names.table(HOST_ABI_ENTRIES_SYMBOL);
    let kind = ir.context.struct_type(&[ir.i64.into(), pairs.into()], false);
    let global = ir.module.add_global(kind.as_basic_type_enum(), None, &name);
    let here = global.as_pointer_value().const_to_int(ir.i64);
    let entry = |&start: &u64| {
        let code = ir.host_abi_entry(start).as_global_value().as_pointer_value().const_to_int(ir.i64);
        ir.i64.const_array(&[ir.int(start), code.const_sub(here)])
    };
    let entries: Vec<_> = starts.iter().map(entry).collect();
    let entries = ir.i64.array_type(2).const_array(&entries);
    constant(ir, &name, &kind.const_named_struct(&[ir.int(starts.len() as u64).into(), entries.into()]))
}

/// The [`riverrun_vm::artifact::LinkedArtifact`].
fn descriptor<'c>(ir: &Ir<'c>, program: &Program<'_>, tables: [GlobalValue<'c>; 3], header: &Header) {
    let names = &program.names;
    let sealed = constant(ir, &names.table("header"), &ir.context.const_string(&header.seal(Vec::new()), false));
    // Linkers define these, or leave them null.
    let bounds = |section: &str| {
        ["start", "stop"].map(|which| {
            let global = ir.module.add_global(ir.bits(8), None, &format!("__{which}_{section}"));
            global.set_linkage(Linkage::ExternalWeak);
            global.set_visibility(GlobalVisibility::Hidden);
            global.as_pointer_value()
        })
    };
    let [text_start, text_end] = bounds(&names.section().unwrap_or_default());
    let [exits_start, exits_end] = bounds(&names.fault_exits());
    let [dispatch, reentry_points, host_abi_entries] = tables.map(|global| global.as_pointer_value());
    let sealed = sealed.as_pointer_value();
    let fields = [sealed, dispatch, reentry_points, host_abi_entries, text_start, text_end, exits_start, exits_end];
    let descriptor = ir.context.const_struct(&fields.map(Into::into), false);
    constant(ir, &names.artifact(), &descriptor).set_visibility(GlobalVisibility::Default);
}
