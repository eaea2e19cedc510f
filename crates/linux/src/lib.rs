//! The Linux personality: system calls for guests, files by capability.
