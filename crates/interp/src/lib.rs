//! The interpreter: pre-decoded, fused, tail-threaded; and the single-step reference.
