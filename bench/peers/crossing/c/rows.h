// What the rows in C and C++ offer to the benchmark.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// What is called so many times: `nop`, which has no result; `i64` or `many`; or a loop in the guest.
enum row_kind { ROW_NOP, ROW_NUMBER, ROW_LOOP };

// One machine of the guest, with the function of this name. `artifact` may be empty. Ends the program with an
// error's words.
typedef struct c_row c_row;
c_row *c_row_new(const char *guest, const char *artifact, const char *name, bool checked);
int64_t c_row_run(c_row *row, enum row_kind kind, uint64_t times);
void c_row_delete(c_row *row);

typedef struct cpp_row cpp_row;
cpp_row *cpp_row_new(const char *guest, const char *artifact, const char *name, enum row_kind kind);
int64_t cpp_row_run(cpp_row *row, enum row_kind kind, uint64_t times);
void cpp_row_delete(cpp_row *row);

// One instance of a WebAssembly module in Wasmtime, with the function that it exports by this name.
typedef struct wasmtime_row wasmtime_row;
wasmtime_row *wasmtime_row_new(const char *wat, const char *name, bool checked);
int64_t wasmtime_row_run(wasmtime_row *row, enum row_kind kind, uint64_t times);
void wasmtime_row_delete(wasmtime_row *row);

#ifdef __cplusplus
}
#endif
