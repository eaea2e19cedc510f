//! Making machines: a program, a linker's host functions, and the configured limits.

use std::ptr::NonNull;

use riverrun_vm::{MapError, STACK_RESERVED, Window};

use crate::compiled_code::CompiledEngine;
use crate::error::Error;
use crate::exhausted::{resource, resource_for};
use crate::guest::Guest;
use crate::heap::HeapState;
use crate::instance::Instance;
use crate::linker::Linker;
use crate::machine::Machine;
use crate::program::Program;
use crate::ready::{PlainEngine, Ready};

impl<T> Linker<T> {
    /// Makes a machine of the program, at its first instruction, with the stack mapped and sp at its top.
    ///
    /// # Errors
    /// [`Error::Resource`] if the host has no memory or address space left: it names the limit that is reached, such
    /// as `vm.max_map_count`, and the remedy. [`Error::Map`] if the program needs more than the configured limit;
    /// [`Error::AddressSpace`] if it and its stack do not fit the configured addresses;
    /// [`Error::Link`] if it calls host functions that the linker does not have, or has with other types.
    pub fn instantiate(&self, program: &Program, data: T) -> Result<Machine<T>, Error> {
        Machine::make(self, program, None, data)
    }
}

impl<T> Machine<T> {
    /// A machine of the program: at its first instruction, or as the guest that is given.
    pub(crate) fn make(
        linker: &Linker<T>,
        program: &Program,
        guest: Option<&Guest>,
        data: T,
    ) -> Result<Machine<T>, Error> {
        let config = &linker.engine.config;
        // Its code is for windows of these addresses.
        let own = &program.engine().config;
        let space = own.space();
        if config.space() != space {
            let (bits, program) = (config.address_bits, own.address_bits);
            let problem = format!("addresses of {bits} bits, and the program is one of an engine that gives {program}");
            return Err(Error::Config(problem));
        }
        let no_space = |source| resource_for("address space for a machine", space.size(), source);
        let not_mapped = |error| match error {
            MapError::Host(source) => no_space(source),
            error => error.into(),
        };
        let pages = config.stack();
        program.check_room(&pages)?;
        let stack = pages.start..pages.end - STACK_RESERVED;
        let (image, limit, mappings) = (program.memory(), config.memory_limit, config.mapping_limit);
        let window = match guest {
            Some(guest) => Window::for_saved(space, image, &guest.memory, limit, mappings),
            None => Window::at_start(space, image, &pages, limit, mappings),
        };
        let mut window = window.map_err(not_mapped)?;
        if guest.is_none() {
            let state = window.state_mut();
            state.hart.pc = program.image().entry();
            state.hart.set_x(2, stack.end);
        }
        let state = window.state_ptr();
        let execution = program.compiled().map(CompiledEngine::new).transpose();
        let execution = execution.map_err(|source| resource("memory for a stack", source))?;
        let sampler = program.sampler();
        let engine = match &execution {
            _ if config.single_step => None,
            // So that the dispatcher sees what is hot.
            None if sampler.is_some() => None,
            None => Some(PlainEngine::Interpreter),
            Some(execution) => (!execution.counts_fuel()).then_some(PlainEngine::Compiled),
        };
        let counts_instructions = execution.as_ref().is_none_or(|engine| engine.counts_fuel());
        let interruption = program.new_interruption();
        let ready = Ready::none();
        let instance = Box::new(Instance {
            window,
            data,
            program: program.clone(),
            state,
            entry_guard: interruption.entry_guard(),
            ecall: linker.ecall.clone(),
            alarm_handler: linker.alarm.clone(),
            trap_handler: linker.trap.clone(),
            hart_handler: linker.harts.clone(),
            has_own_hart: true,
            registry: linker.registry.clone(),
            imports: Box::default(),
            execution,
            spare_executions: Vec::new(),
            counts_instructions,
            pool: 0,
            fuel: None,
            fuel_end: None,
            deadline: None,
            alarm: None,
            slice_end: None,
            interruption,
            lost: None,
            sampler,
            last_words: None,
            stack,
            pending: None,
            depth: 0,
            code_id: program.code().id(),
            engine,
            ready,
            is_suspended: false,
            // Kept here because asking the program is slow.
            guards_floats: linker.registry.uses_floats() && program.code().touches_float_environment(),
            is_initializing: true,
            heap: HeapState::new(&linker.heap, program),
            suspension: None,
        });
        let mut machine = Machine { instance: NonNull::from(Box::leak(instance)) };
        // SAFETY: the window lives as long as the instance, whose machine has them forgotten before.
        unsafe { machine.instance().interruption.lead_to(machine.instance().window.polls()) };
        let context = machine.instance.as_ptr().cast();
        let guards_floats = machine.instance().guards_floats;
        let imports = linker.registry.bind(program, state, context, guards_floats)?;
        let state = machine.state_mut();
        (state.exit.imports, state.exit.imports_size) = (imports.as_ptr() as u64, size_of_val(&*imports) as u64);
        machine.instance_mut().imports = imports;
        if let Some(guest) = guest {
            machine.restore(guest)?;
        }
        Ok(machine)
    }
}
