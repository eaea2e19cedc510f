//! ELF bytes to immutable programs: segments, symbols, functions, debug information.
