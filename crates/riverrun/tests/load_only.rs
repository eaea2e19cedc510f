//! A host that loads programs and runs none can be linked: nothing here may call `Machine::run`, so
//! that the linker finds no use for the interpreter's handlers.

use riverrun::{Config, Engine, Program};

#[test]
fn a_host_that_only_loads_programs_links() {
    let engine = Engine::new(&Config::new()).unwrap();
    let program = Program::new(&engine, riverrun::doc::TINY).unwrap();
    assert_eq!(program.image().entry(), 0x10078);
}
