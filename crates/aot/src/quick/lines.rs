//! The line table of a unit: which guest instruction a host instruction belongs to. Lines are addresses of the file
//! [`GUEST_FILE`], as of LLVM's code without source lines.

use gimli::write::{
    Address, AttributeValue, Dwarf, EndianVec, LineProgram, LineString, RelocateWriter, Relocation, RelocationTarget,
    Sections, Unit,
};
use gimli::{Encoding, Format, LineEncoding, LittleEndian, SectionId, constants};
use object::write::{Object, SectionId as ObjectSection, SymbolId};
use object::{RelocationFlags, SectionKind, elf};
use riverrun_vm::artifact::GUEST_FILE;

use crate::error::CompileError;

/// The line table of the code of one section.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Places in the section, ascending, and the guest addresses of what begins there; 0 for none.
    rows: Vec<(u64, u64)>,
}

/// A section with the places that depend on where others lie.
#[derive(Clone)]
struct Section {
    bytes: EndianVec<LittleEndian>,
    relocations: Vec<Relocation>,
}

impl RelocateWriter for Section {
    type Writer = EndianVec<LittleEndian>;

    fn writer(&self) -> &EndianVec<LittleEndian> {
        &self.bytes
    }

    fn writer_mut(&mut self) -> &mut EndianVec<LittleEndian> {
        &mut self.bytes
    }

    fn relocate(&mut self, relocation: Relocation) {
        self.relocations.push(relocation);
    }
}

impl Lines {
    /// Notes that code of a guest instruction begins at a place of the section.
    pub(super) fn add(&mut self, place: u64, pc: u64) {
        self.rows.push((place, pc));
    }

    /// Adds the table to an object, for its code, which has this symbol and length.
    pub(super) fn write(&self, object: &mut Object<'_>, code: SymbolId, len: u64) -> Result<(), CompileError> {
        let failed = |error: &dyn std::fmt::Display| CompileError::Cranelift(format!("line table: {error}"));
        let start = Address::Symbol { symbol: 0, addend: 0 };
        let encoding = Encoding { format: Format::Dwarf32, version: 4, address_size: 8 };
        let name = || LineString::String(GUEST_FILE.into());
        let folder = LineString::String(b"/".to_vec());
        let mut program = LineProgram::new(encoding, LineEncoding::default(), folder, None, name(), None);
        let file = program.add_file(name(), program.default_directory(), None);
        program.begin_sequence(Some(start));
        for &(place, pc) in &self.rows {
            let row = program.row();
            (row.address_offset, row.file, row.line) = (place, file, pc);
            program.generate_row();
        }
        program.end_sequence(len);
        let mut dwarf = Dwarf::new();
        let unit = dwarf.units.add(Unit::new(encoding, program));
        let unit = dwarf.units.get_mut(unit);
        let root = unit.get_mut(unit.root());
        root.set(constants::DW_AT_name, AttributeValue::String(GUEST_FILE.into()));
        root.set(constants::DW_AT_low_pc, AttributeValue::Address(start));
        root.set(constants::DW_AT_high_pc, AttributeValue::Udata(len));
        let empty = Section { bytes: EndianVec::new(LittleEndian), relocations: Vec::new() };
        let mut sections = Sections::new(empty);
        dwarf.write(&mut sections).map_err(|error| failed(&error))?;

        let mut made: Vec<(SectionId, ObjectSection, &Section)> = Vec::new();
        let add = |id: SectionId, section| {
            let at = object.add_section(Vec::new(), id.name().into(), SectionKind::Debug);
            made.push((id, at, section));
            Ok::<(), CompileError>(())
        };
        sections.for_each(add)?;
        for (_, at, section) in &made {
            object.set_section_data(*at, section.bytes.slice().to_vec(), 1);
            for relocation in &section.relocations {
                let symbol = match relocation.target {
                    RelocationTarget::Symbol(_) => code,
                    RelocationTarget::Section(id) => {
                        let (_, target, _) =
                            made.iter().find(|(other, ..)| *other == id).expect("all sections are made");
                        object.section_symbol(*target)
                    }
                };
                let r_type = if relocation.size == 8 { elf::R_X86_64_64 } else { elf::R_X86_64_32 };
                let (offset, addend) = (relocation.offset as u64, relocation.addend);
                let flags = RelocationFlags::Elf { r_type };
                object
                    .add_relocation(*at, object::write::Relocation { offset, symbol, addend, flags })
                    .map_err(|error| failed(&error))?;
            }
        }
        Ok(())
    }
}
