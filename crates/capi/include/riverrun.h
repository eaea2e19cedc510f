/* riverrun: an embeddable RISC-V sandbox, for hosts in C (C99 or newer) and C++ (C++11 or newer; see riverrun.hpp).
 *
 * - Functions that can fail return an error, which the caller frees (riverrun_error_delete), or NULL. Results are
 *   written where the last parameters point to, and only if there is no error.
 * - Handles are freed by the function of their type that ends in _delete, in any order: what a handle needs of
 *   others it keeps alive. NULL may be given to these.
 * - Pointers are valid for what they are said to point to, as long as the call; texts are UTF-8 and end with a zero.
 *   A NULL that is not said to be possible is an error of the kind RIVERRUN_ERROR_MISUSE, or is answered by 0.
 * - Nothing is global. Engines and programs may be used by any number of threads at once, everything else by one at
 *   a time. In debug builds of riverrun, a machine says so if it is used by two.
 * - No function unwinds, and functions of the host's must not unwind through guests.
 * - Guest addresses are 64-bit numbers: riverrun_memory_view and its like lead to what is there.
 */
#ifndef RIVERRUN_H
#define RIVERRUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RIVERRUN_MUST_USE __attribute__((warn_unused_result))
#define RIVERRUN_NORETURN __attribute__((noreturn))
#else
#define RIVERRUN_MUST_USE
#define RIVERRUN_NORETURN
#endif

/* Casts are C's here, and some structs are called as functions are: hosts in C++ may have warnings of both. */
#if defined(__GNUC__) && defined(__cplusplus)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wshadow"
#endif

#ifdef __cplusplus
#define RIVERRUN_NOEXCEPT noexcept
extern "C" {
#else
#define RIVERRUN_NOEXCEPT
#endif

/* ---- From here on it is written by crates/capi/tests/header.rs: change the Rust sources instead. ---- */

/**
 * An error: message and details.
 *
 * Errors are owned: riverrun_error_delete frees them.
 */
typedef struct riverrun_error riverrun_error_t;

typedef struct riverrun_trap riverrun_trap_t;
typedef struct riverrun_frame riverrun_frame_t;
typedef struct riverrun_value riverrun_value_t;
/** How programs are run. */
typedef struct riverrun_config riverrun_config_t;

/** A configuration that programs and machines share. Any number of threads may use it. */
typedef struct riverrun_engine riverrun_engine_t;

typedef struct riverrun_limits riverrun_limits_t;
/** A program, loaded and checked once. May be used by any number of threads and machines. */
typedef struct riverrun_program riverrun_program_t;

typedef struct riverrun_function_name riverrun_function_name_t;
typedef struct riverrun_tier_up_statistics riverrun_tier_up_statistics_t;
typedef struct riverrun_file_status riverrun_file_status_t;
/** The entries of a directory, to which list adds. It is valid during that call only. */
typedef struct riverrun_entries riverrun_entries_t;

typedef struct riverrun_file_system riverrun_file_system_t;
/**
 * The grants of guests: arguments, variables, streams, directories; nothing at first. Any number of machines may be made
 * with them.
 */
typedef struct riverrun_linux riverrun_linux_t;

typedef struct riverrun_host_results riverrun_host_results_t;
typedef struct riverrun_environment riverrun_environment_t;
typedef struct riverrun_import riverrun_import_t;
typedef struct riverrun_machine_head riverrun_machine_head_t;
typedef struct riverrun_entry_guard_head riverrun_entry_guard_head_t;
/**
 * The host functions that guests can call. Any number of threads may make machines with it while no thread changes it; a
 * machine keeps the functions that the linker had when the machine was made.
 */
typedef struct riverrun_linker riverrun_linker_t;

typedef struct riverrun_flow riverrun_flow_t;
/**
 * A machine: one guest with its memory. In a host function, the guest that has called it.
 *
 * One thread at a time may use it, but for riverrun_interrupt_handle_interrupt. While a host function runs,
 * the guest waits: its functions may be called, its memory and heap be used. Anything else is an error that says so.
 */
typedef struct riverrun_machine riverrun_machine_t;

/** A handle by which other threads stop a machine. */
typedef struct riverrun_interrupt_handle riverrun_interrupt_handle_t;

/**
 * A guest at one moment: memory, registers, heap, and its state of Linux (open files, clocks, signals). Any number of
 * machines, on any threads, are made from it. It does not change, but for its sections.
 */
typedef struct riverrun_snapshot riverrun_snapshot_t;

/**
 * Machines that start from one snapshot, used again and again, by any number of threads. A machine that comes back is as
 * new; nothing of its last use is left in it.
 */
typedef struct riverrun_pool riverrun_pool_t;

/** A function of a guest. It can be called on every machine of its program. */
typedef struct riverrun_func riverrun_func_t;

typedef struct riverrun_func_head riverrun_func_head_t;
/**
 * A guest's call of a host function that is answered later: by riverrun_token_complete or riverrun_token_fail, once,
 * from any thread, also when the call was given up or its machine is gone; then the answer has no effect. If the token is
 * deleted without an answer, the call fails.
 */
typedef struct riverrun_token riverrun_token_t;

/**
 * A run or a call that can wait for host functions (riverrun_linker_func_async). A machine has one at a time; while
 * it has, it cannot be run otherwise, saved or reset, but functions can be called, and memory and heap be used.
 */
typedef struct riverrun_future riverrun_future_t;

typedef struct riverrun_heap_statistics riverrun_heap_statistics_t;
/** Frees what data points to. Called once, on the thread that drops the last owner. */
typedef void (*riverrun_destructor_t)(void *data);

/** What kind of error it is. */
typedef enum riverrun_error_kind {
    /**
     * The host has called a function as this header forbids: a handle is NULL, types or counts are wrong, the
     * machine is running.
     */
    RIVERRUN_ERROR_MISUSE = 1,
    /** The bytes are no program that can be run. */
    RIVERRUN_ERROR_LOAD = 2,
    /** Compiled code cannot be used. */
    RIVERRUN_ERROR_ARTIFACT = 3,
    /** The program cannot be compiled. */
    RIVERRUN_ERROR_COMPILE = 4,
    /** A file cannot be read or written. */
    RIVERRUN_ERROR_FILE = 5,
    /** A setting is out of range, or cannot be granted. */
    RIVERRUN_ERROR_CONFIG = 6,
    /** The host lacks memory or address space. */
    RIVERRUN_ERROR_RESOURCE = 7,
    /** A guest address is not mapped for the access, or cannot be mapped so. */
    RIVERRUN_ERROR_MEMORY = 8,
    /** The guest's heap has no room, or was not used as it can be. */
    RIVERRUN_ERROR_HEAP = 9,
    /** The guest's and the host's types of a function differ, or one of them is missing. */
    RIVERRUN_ERROR_LINK = 10,
    /** The guest trapped: riverrun_error_trap has the details. */
    RIVERRUN_ERROR_TRAP = 11,
    /**
     * The run was stopped inside of compiled code where registers are not known, and cannot go on. Functions
     * can be called.
     */
    RIVERRUN_ERROR_LOST = 12,
    /** A host function failed. */
    RIVERRUN_ERROR_HOST = 13,
    /** The guest has ended itself while one of its functions was called: riverrun_error_exit_status. */
    RIVERRUN_ERROR_EXITED = 14,
    /** Host and guest call each other too deep. */
    RIVERRUN_ERROR_CALL_DEPTH = 15,
    /** Anything else. */
    RIVERRUN_ERROR_OTHER = 16,
    /** A snapshot cannot be taken or used, or a file that its guest had open cannot be opened. */
    RIVERRUN_ERROR_SNAPSHOT = 17
} riverrun_error_kind_t;

/** Why a guest trapped. */
typedef enum riverrun_trap_kind {
    /** No instruction; detail has its bits. */
    RIVERRUN_TRAP_ILLEGAL_INSTRUCTION = 1,
    /** An ebreak. */
    RIVERRUN_TRAP_BREAKPOINT = 2,
    /** A load from an address that cannot be read; detail is the address, as for all faults. */
    RIVERRUN_TRAP_LOAD_FAULT = 3,
    /** A store to an address that cannot be written. */
    RIVERRUN_TRAP_STORE_FAULT = 4,
    /** An access just below the stack. */
    RIVERRUN_TRAP_STACK_OVERFLOW = 5,
    /** An atomic access whose address is not a multiple of its size. */
    RIVERRUN_TRAP_MISALIGNED_ATOMIC = 6,
    /** A jump to an address without code. */
    RIVERRUN_TRAP_FETCH_FAULT = 7,
    /** A call of an import that the program does not declare; detail is its number. */
    RIVERRUN_TRAP_UNBOUND_IMPORT = 8,
    /** The fuel is used up. */
    RIVERRUN_TRAP_OUT_OF_FUEL = 9,
    /** The host has interrupted the machine. */
    RIVERRUN_TRAP_INTERRUPTED = 10,
    /** A signal that the guest has sent to itself, as by abort; detail is its number. */
    RIVERRUN_TRAP_SIGNAL = 11,
    /** Anything else. */
    RIVERRUN_TRAP_OTHER = 12,
    /** The time is up. */
    RIVERRUN_TRAP_DEADLINE = 13,
    /** A system call without a timeout waits for an event that cannot happen. */
    RIVERRUN_TRAP_ENDLESS_WAIT = 14
} riverrun_trap_kind_t;

/** A guest's trap. */
struct riverrun_trap {
    /** Why. */
    riverrun_trap_kind_t kind;
    /** The address of the instruction that could not complete. */
    uint64_t pc;
    /** What the kind says of it. */
    uint64_t detail;
    /** The function that the pc lies in, demangled; NULL if it is not known. It lives as long as the error. */
    const char *function;
};

/** A call that had not returned when the guest stopped. */
struct riverrun_frame {
    /** The address of the instruction. */
    uint64_t pc;
    /** The function, demangled; NULL if it is not known. It lives as long as the error. */
    const char *function;
    /** How far into the function it is, in bytes. */
    uint64_t offset;
    /** The source file; NULL if it is not known. It lives as long as the error. */
    const char *file;
    /** The line in it; 0 if it is not known. */
    uint32_t line;
};

/** The type of a value. */
typedef enum riverrun_kind {
    /** bool. */
    RIVERRUN_KIND_BOOL = 0,
    /** int8_t. */
    RIVERRUN_KIND_I8 = 1,
    /** uint8_t. */
    RIVERRUN_KIND_U8 = 2,
    /** int16_t. */
    RIVERRUN_KIND_I16 = 3,
    /** uint16_t. */
    RIVERRUN_KIND_U16 = 4,
    /** int32_t. */
    RIVERRUN_KIND_I32 = 5,
    /** uint32_t. */
    RIVERRUN_KIND_U32 = 6,
    /** int64_t. */
    RIVERRUN_KIND_I64 = 7,
    /** uint64_t. */
    RIVERRUN_KIND_U64 = 8,
    /** float. */
    RIVERRUN_KIND_F32 = 9,
    /** double. */
    RIVERRUN_KIND_F64 = 10,
    /** A guest address. */
    RIVERRUN_KIND_PTR = 11
} riverrun_kind_t;

/** The contents of a value: the field for its kind is set. */
typedef union riverrun_value_of {
    /** For RIVERRUN_KIND_BOOL. */
    bool boolean;
    /** For RIVERRUN_KIND_I8. */
    int8_t i8;
    /** For RIVERRUN_KIND_U8. */
    uint8_t u8;
    /** For RIVERRUN_KIND_I16. */
    int16_t i16;
    /** For RIVERRUN_KIND_U16. */
    uint16_t u16;
    /** For RIVERRUN_KIND_I32. */
    int32_t i32;
    /** For RIVERRUN_KIND_U32. */
    uint32_t u32;
    /** For RIVERRUN_KIND_I64. */
    int64_t i64;
    /** For RIVERRUN_KIND_U64. */
    uint64_t u64;
    /** For RIVERRUN_KIND_F32. */
    float f32;
    /** For RIVERRUN_KIND_F64. */
    double f64;
    /** For RIVERRUN_KIND_PTR: a guest address. */
    uint64_t ptr;
} riverrun_value_of_t;

/** A value with its type. */
struct riverrun_value {
    /** Its type. */
    riverrun_kind_t kind;
    /** Its contents. */
    riverrun_value_of_t of;
};

/** The limits of a call. The tighter of these and the machine's own applies. */
struct riverrun_limits {
    /** Instructions that it may execute; RIVERRUN_UNLIMITED for any number. */
    uint64_t fuel;
    /** Nanoseconds that it may take; RIVERRUN_UNLIMITED for any time. */
    uint64_t timeout_ns;
};

/** No limit. */
#define RIVERRUN_UNLIMITED UINT64_MAX

/** An export or import of a program. The texts live as long as the program. */
struct riverrun_function_name {
    /** Its name. */
    const char *name;
    /** Its types, as i32 (f32, ptr); NULL if the program does not say. */
    const char *signature;
};

/** What was compiled of a program while it ran. Times are in nanoseconds. */
struct riverrun_tier_up_statistics {
    /** Samples of interpreted code so far, each of 524,288 instructions, those of earlier starts in the cache included. */
    uint64_t samples;
    /** Compilations that were successful, in this process. */
    uint64_t compilations;
    /** Functions that have compiled code now. */
    uint64_t functions;
    /** How long the compiler has run, in this process. */
    uint64_t time_ns;
    /** When there was the present code, after the program was loaded. */
    uint64_t since_ns;
    /** Whether the compiler is running. */
    bool is_compiling;
    /** Whether the code was made quickly, and better code follows. */
    bool is_quick;
    /** Why nothing more is compiled, as long as the program lives; NULL if that is not so. */
    const char *failure;
};

/** The attributes of a file or directory, which look fills in. Each field has its default before the call. */
struct riverrun_file_status {
    /** Whether it is a directory; otherwise it is a regular file. Default: false. */
    bool is_directory;
    /** The lower twelve bits of st_mode. The guest owns every file. Default: 0444, or 0555 for a directory. */
    uint32_t permissions;
    /** The size of a regular file, in bytes. Default: 0. */
    uint64_t len;
    /** The time of the last modification, in seconds since 1970. Default: 0. */
    int64_t modified;
    /** The inode number, unique in the file system. Default: 0, for a number that is derived from the path. */
    uint64_t number;
};

/** Fills in the attributes of what is at a path. Returns 0, or an error number such as ENOENT. */
typedef int32_t (*riverrun_file_look_t)(void *data, const char *path, riverrun_file_status_t *status);

/** Adds the names in a directory by riverrun_entries_add. Returns 0 or an error number. */
typedef int32_t (*riverrun_file_list_t)(void *data, const char *path, riverrun_entries_t *entries);

/** Reads bytes of a file from a position on. Returns how many, 0 at the end, or a negative error number. */
typedef int64_t (*riverrun_file_read_t)(void *data, const char *path, void *buffer, size_t len, uint64_t at);

/** Writes bytes to a file from a position on. Returns how many, or a negative error number. */
typedef int64_t (*riverrun_file_write_t)(void *data, const char *path, const void *bytes, size_t len, uint64_t at);

/** Changes the size of a file. Returns 0 or an error number. */
typedef int32_t (*riverrun_file_resize_t)(void *data, const char *path, uint64_t len);

/** Creates an empty file or directory at a path where there is none. Returns 0 or an error number. */
typedef int32_t (*riverrun_file_create_t)(void *data, const char *path, bool is_directory, uint32_t permissions);

/** Removes a file or an empty directory. Returns 0 or an error number. */
typedef int32_t (*riverrun_file_remove_t)(void *data, const char *path, bool is_directory);

/** Moves a file or directory to another path, where it replaces a file or an empty directory. Returns 0 or an error number. */
typedef int32_t (*riverrun_file_rename_t)(void *data, const char *from, const char *to);

/**
 * A file system that the host implements. Paths are relative to the path at which the guest sees it, without ., .. and
 * slashes at either end; its root is "". riverrun calls these functions on the threads that run guests, so machines on
 * several threads call them concurrently; a guest waits for its call, and its machine cannot be used meanwhile.
 */
struct riverrun_file_system {
    /** What is at a path. */
    riverrun_file_look_t look;
    /** What is in a directory. */
    riverrun_file_list_t list;
    /** Reads a file. */
    riverrun_file_read_t read;
    /** Writes a file; NULL, as all that follow, in a file system that can only be read. */
    riverrun_file_write_t write;
    /** Changes a file's size. */
    riverrun_file_resize_t resize;
    /** Makes files and directories. */
    riverrun_file_create_t create;
    /** Removes them. */
    riverrun_file_remove_t remove;
    /** Moves them. */
    riverrun_file_rename_t rename;
};

/** Takes what a guest writes. It cannot use the machine that writes, but others. */
typedef void (*riverrun_write_t)(void *data, const void *bytes, size_t len);

/**
 * A host function that takes values with their types. results have their kinds set and are 0. It returns NULL, or an
 * error, which ends the guest's run. caller is the machine whose guest has called. The function must not unwind or
 * longjmp out of the call.
 */
typedef riverrun_error_t *(*riverrun_host_func_t)(void *data, riverrun_machine_t *caller,
    const riverrun_value_t *arguments, size_t arguments_len, riverrun_value_t *results, size_t results_len);

/**
 * A host function that takes its arguments as raw values in slots and writes its results to the first ones, extended as
 * by riverrun_slot_i32 and the like. Otherwise as riverrun_host_func_t.
 */
typedef riverrun_error_t *(*riverrun_host_func_raw_t)(void *data, riverrun_machine_t *caller, uint64_t *slots);

/**
 * A host function that the guest calls directly (riverrun_linker_func_code), with the entry of the machine's table and
 * the guest's a0 to a4. Further arguments are in the other registers or on the guest's stack. Its results become a0 and
 * a1; one that holds no result must be returned unchanged. Float results it writes to riverrun_machine_registers. It must
 * not unwind; to fail, it calls riverrun_import_fail.
 */
typedef riverrun_host_results_t (*riverrun_host_code_t)(const riverrun_import_t *entry, uint64_t a0, uint64_t a1,
    uint64_t a2, uint64_t a3, uint64_t a4);

/** The results of a riverrun_host_code_t. */
struct riverrun_host_results {
    /** The guest's new a0. */
    uint64_t a0;
    /** The guest's new a1. */
    uint64_t a1;
};

/** The data with which a host function was registered. */
struct riverrun_environment {
    /** The host's data. */
    void *data;
};

/** An entry of a machine's table of host functions. */
struct riverrun_import {
    /** The code. */
    riverrun_host_code_t code;
    /** The data with which it was registered. */
    const riverrun_environment_t *environment;
    /** The machine. */
    riverrun_machine_t *machine;
};

/** The memory at a machine's address, for bindings: riverrun_machine_head. */
struct riverrun_machine_head {
    /** The result of riverrun_machine_registers. */
    uint64_t *registers;
    /** The machine's entry guard. */
    riverrun_entry_guard_head_t *entry_guard;
};

/** The beginning of a machine's entry guard, for the inline functions at the end of this header and for bindings. */
struct riverrun_entry_guard_head {
    /** For the library only. */
    uint64_t reserved[6];
    /** The error of a call by a function's code, if it has changed the word. */
    riverrun_error_t *error;
    /** For the library only. */
    uint64_t also_reserved;
    /**
     * The entry_token of the functions for which it is open (riverrun_func_head), RIVERRUN_ENTRY_GUARD_CALLING,
     * or another number if it is closed.
     */
    uint64_t word;
};

/** The word of an entry guard while a call by a function's code is in the guest. */
#define RIVERRUN_ENTRY_GUARD_CALLING UINT64_MAX

/** A part of a host function. */
typedef void (*riverrun_body_t)(void *data);

/** How a guest goes on after its trap. */
typedef enum riverrun_flow_kind {
    /** Its run or call ends with the trap, as without a handler. */
    RIVERRUN_FLOW_TRAP = 0,
    /** It executes the instruction again. */
    RIVERRUN_FLOW_CONTINUE = 1,
    /** It goes on at address. */
    RIVERRUN_FLOW_JUMP = 2,
    /** It has exited with status. */
    RIVERRUN_FLOW_EXIT = 3
} riverrun_flow_kind_t;

/** How a guest goes on after its trap. */
struct riverrun_flow {
    /** Which of them. */
    riverrun_flow_kind_t kind;
    /** For RIVERRUN_FLOW_EXIT. */
    int32_t status;
    /** For RIVERRUN_FLOW_JUMP. */
    uint64_t address;
};

/**
 * A handler of traps: flow is RIVERRUN_FLOW_TRAP unless it is set. The machine's pc and registers are as before the
 * instruction that could not complete, and the handler may change registers; trap->function is NULL. It returns NULL, or
 * an error, which ends the guest's run. It must not unwind or longjmp out of the call.
 */
typedef riverrun_error_t *(*riverrun_trap_handler_t)(void *data, riverrun_machine_t *caller,
    const riverrun_trap_t *trap, riverrun_flow_t *flow);

/** Registers of a guest, in the order of riverrun_machine_registers. */
#define RIVERRUN_REGISTERS 65

/** The index of a0, the first of the integer argument registers a0 to a7. */
#define RIVERRUN_REGISTER_A0 10

/** The index of fa0, the first of the float argument registers fa0 to fa7. */
#define RIVERRUN_REGISTER_FA0 43

/** The index of the stack pointer. */
#define RIVERRUN_REGISTER_SP 2

/** The maximal number of parameters. */
#define RIVERRUN_PARAMETERS_MAX 16

/**
 * Calls a function on a machine whose entry guard is open for it, with up to three raw values. If the guard's word is
 * RIVERRUN_ENTRY_GUARD_CALLING afterwards, the function has returned this, and the caller opens the guard again.
 * Otherwise the library has made or finished the call, and the guard's error says whether it has failed.
 */
typedef uint64_t (*riverrun_func_code_t)(const riverrun_func_t *func, riverrun_machine_t *machine, uint64_t first,
    uint64_t second, uint64_t third, riverrun_entry_guard_head_t *entry_guard);

/** The beginning of a function's handle, for the inline functions at the end of this header and for bindings. */
struct riverrun_func_head {
    /** The code that calls it while a machine's entry guard is open for it. */
    riverrun_func_code_t code;
    /** The word of guards that are open for it. No guard has the word of a function that cannot be called so. */
    uint64_t entry_token;
    /**
     * The kinds of its parameters, each plus one, from the lowest byte on, and in the highest byte the number of its
     * results, which is one at most; UINT32_MAX if it cannot be called so, or its result has to be checked.
     */
    uint32_t types;
    /** The kind of its result, if it has one. */
    riverrun_kind_t result;
};

/**
 * A host function that answers later. It owns token from now on, whatever it returns, and may answer at once. caller is
 * the machine whose guest has called. It returns NULL, or an error, which ends the guest's run.
 *
 * It runs within riverrun_future_poll. There, and until it has answered, functions of the guest may be called, and its
 * memory and heap be used, by the thread that uses the machine. The function must not unwind or longjmp out of the call.
 */
typedef riverrun_error_t *(*riverrun_host_func_async_t)(void *data, riverrun_machine_t *caller,
    const riverrun_value_t *arguments, size_t arguments_len, riverrun_token_t *token);

/**
 * Tells an executor that a future is to be polled. Any thread may call it, also within other functions of this header, and
 * more often than needed: it must not wait, nor poll the future or use its machine.
 */
typedef void (*riverrun_wake_func_t)(void *data);

/** The guest can load from the pages. Permissions are added up. */
#define RIVERRUN_PERM_READ 1

/** The guest can load from the pages and store to them. */
#define RIVERRUN_PERM_WRITE 2

/** How a heap is used. Sizes are in bytes. */
struct riverrun_heap_statistics {
    /** Blocks in use. */
    uint64_t blocks;
    /** Requested bytes of blocks in use. */
    uint64_t requested;
    /** Bytes that blocks in use take. */
    uint64_t taken;
    /** The maximum of requested so far. */
    uint64_t peak_requested;
    /** Bytes that the heap has mapped. */
    uint64_t mapped;
    /** Blocks allocated so far. */
    uint64_t allocations;
};

/**
 * An error of the host's own, for host functions to return: it ends the guest's run, and comes out of the
 * call that has begun it, with where the guest was. message is UTF-8.
 */
riverrun_error_t *riverrun_error_new(const char *message) RIVERRUN_NOEXCEPT;

/** Another error that says the same, but has no data of the host; NULL of NULL. */
riverrun_error_t *riverrun_error_copy(const riverrun_error_t *error) RIVERRUN_NOEXCEPT;

/** Frees the error. NULL is allowed, as for all functions whose names end in _delete. */
void riverrun_error_delete(riverrun_error_t *error) RIVERRUN_NOEXCEPT;

/** What kind of error it is. */
riverrun_error_kind_t riverrun_error_kind(const riverrun_error_t *error) RIVERRUN_NOEXCEPT;

/** The error's message: UTF-8, usually one line. It lives as long as the error. */
const char *riverrun_error_message(const riverrun_error_t *error) RIVERRUN_NOEXCEPT;

/**
 * The trap, of errors of the kinds RIVERRUN_ERROR_TRAP and RIVERRUN_ERROR_LOST; otherwise NULL. It lives as
 * long as the error.
 */
const riverrun_trap_t *riverrun_error_trap(const riverrun_error_t *error) RIVERRUN_NOEXCEPT;

/** The guest's exit status, of errors of the kind RIVERRUN_ERROR_EXITED; otherwise 0. */
int32_t riverrun_error_exit_status(const riverrun_error_t *error) RIVERRUN_NOEXCEPT;

/**
 * How many calls of the guest had not returned when it trapped, or its host function failed; 0 where that is
 * not known, and 1 where only the innermost is: an access has faulted in compiled code that is not precise.
 */
size_t riverrun_error_frames(const riverrun_error_t *error) RIVERRUN_NOEXCEPT;

/** One of these calls; 0 is the innermost. False if there is no such call. */
bool riverrun_error_frame(const riverrun_error_t *error, size_t index, riverrun_frame_t *frame) RIVERRUN_NOEXCEPT;

/**
 * Puts data of the host's into an error that a host function is about to return. The error that comes out of
 * the guest has it. destructor may be NULL.
 */
void riverrun_error_set_data(riverrun_error_t *error, void *data, riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/** The data that riverrun_error_set_data has set, or NULL. It lives as long as the error. */
void *riverrun_error_data(const riverrun_error_t *error) RIVERRUN_NOEXCEPT;

/**
 * The default configuration: memory limited only by the guest's 4 GiB of addresses, 8 MiB of stack, the interpreter, 64
 * nested calls between host and guest.
 */
riverrun_config_t *riverrun_config_new(void) RIVERRUN_NOEXCEPT;

/** Frees the configuration. */
void riverrun_config_delete(riverrun_config_t *config) RIVERRUN_NOEXCEPT;

/**
 * Bits of a guest's addresses, 26 to 32; 32 unless told otherwise. A machine takes so many addresses of the process, 2
 * to the power of bits: fewer are for processes that may not have 4 GiB for each machine. riverrun_engine_new
 * refuses other numbers, and a stack or limit of memory that does not fit.
 */
void riverrun_config_set_address_bits(riverrun_config_t *config, uint32_t bits) RIVERRUN_NOEXCEPT;

/** Bytes of memory that a guest may have, image and stack included. */
void riverrun_config_set_memory_limit(riverrun_config_t *config, uint64_t bytes) RIVERRUN_NOEXCEPT;

/**
 * Pieces that a guest may split its memory into, 4,096 unless told otherwise: each range of pages with the
 * same permissions is one, and each hole between two. The kernel keeps a mapping for each, of which a process
 * has about 65,000.
 */
void riverrun_config_set_mapping_limit(riverrun_config_t *config, size_t pieces) RIVERRUN_NOEXCEPT;

/** Bytes of a guest's stack, rounded up to pages: at most 1 GiB. */
void riverrun_config_set_stack_size(riverrun_config_t *config, uint64_t bytes) RIVERRUN_NOEXCEPT;

/** Bytes that a program's decoded code may take; an instruction that has run takes about 32. */
void riverrun_config_set_code_limit(riverrun_config_t *config, uint64_t bytes) RIVERRUN_NOEXCEPT;

/** How deep runs of a guest may nest, by host functions that call back into it: at least 1. */
void riverrun_config_set_call_depth(riverrun_config_t *config, uint32_t runs) RIVERRUN_NOEXCEPT;

/** Runs every instruction in the reference interpreter: slow, for comparison with the other engines. */
void riverrun_config_set_single_step(riverrun_config_t *config, bool on) RIVERRUN_NOEXCEPT;

/**
 * Keeps compiled code in a folder, which is made when it is needed: programs use what they find there, and what is compiled
 * while they run stays for their next start. Only users and processes that have all rights of the host may be able to
 * write there: compiled code runs with these. The command's cache is $XDG_CACHE_HOME/riverrun; both may use the same.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_config_set_cache(riverrun_config_t *config,
    const char *folder) RIVERRUN_NOEXCEPT;

/**
 * Compiles programs while they run: the interpreter begins, and a process in the background compiles the functions that
 * turn out to be hot. compiler is the path of riverrun-compile, or its name if it is to be searched for as
 * commands are: what it makes runs with all rights of the host. With counts_fuel the code counts instructions;
 * machines with a limit of fuel use no other. If the compiler fails, nothing more is compiled, and
 * riverrun_program_tier_up says why. A cache keeps what is compiled, and the profile by riverrun_program_keep_profile.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_config_set_tier_up(riverrun_config_t *config, const char *compiler,
    bool counts_fuel) RIVERRUN_NOEXCEPT;

/** An engine of this configuration, which stays the caller's; NULL is the default one. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_engine_new(const riverrun_config_t *config,
    riverrun_engine_t **engine) RIVERRUN_NOEXCEPT;

/** Frees the engine; programs, linkers and machines that were made of it stay usable. */
void riverrun_engine_delete(riverrun_engine_t *engine) RIVERRUN_NOEXCEPT;

/** Reads a static RISC-V executable; the bytes are copied. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_program_new(const riverrun_engine_t *engine, const void *elf, size_t len,
    riverrun_program_t **program) RIVERRUN_NOEXCEPT;

/** Reads a static RISC-V executable from a file. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_program_from_file(const riverrun_engine_t *engine, const char *path,
    riverrun_program_t **program) RIVERRUN_NOEXCEPT;

/** Frees the program; machines that run it stay usable. */
void riverrun_program_delete(riverrun_program_t *program) RIVERRUN_NOEXCEPT;

/**
 * Makes another program: the same executable with compiled code, which riverrun compile or
 * riverrun_program_compile has made of it. If the code is refused, the error says why.
 *
 * Loading it is an act of trust: compiled code runs with all rights of the host. The file must come from
 * riverrun's compiler, and must not change while the program is in use. What is checked guards against
 * mistakes, not against forgery.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_program_with_artifact(const riverrun_program_t *program,
    const char *path, riverrun_program_t **compiled) RIVERRUN_NOEXCEPT;

/**
 * Compiles the program into an artifact, a file at path, and makes another program: the same executable with that
 * code. Code that counts fuel is slower, and the only one that machines with a limit of fuel use.
 *
 * A library built without the compiler, which is the default, returns an error that says so: then use riverrun
 * compile.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_program_compile(const riverrun_program_t *program, const char *path,
    bool counts_fuel, riverrun_program_t **compiled) RIVERRUN_NOEXCEPT;

/** Whether the program has compiled code. */
bool riverrun_program_is_compiled(const riverrun_program_t *program) RIVERRUN_NOEXCEPT;

/** What was compiled of the program while it ran. False if it is not compiled so (riverrun_config_set_tier_up). */
bool riverrun_program_tier_up(const riverrun_program_t *program,
    riverrun_tier_up_statistics_t *statistics) RIVERRUN_NOEXCEPT;

/**
 * Keeps the profile of the program in the cache, so that its next start goes on where this one ends. Does nothing if it is
 * not compiled as it runs, or if there is no cache.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_program_keep_profile(
    const riverrun_program_t *program) RIVERRUN_NOEXCEPT;

/** How many functions the program exports by name. */
size_t riverrun_program_exports(const riverrun_program_t *program) RIVERRUN_NOEXCEPT;

/** One of them. False if there is no such. */
bool riverrun_program_export(const riverrun_program_t *program, size_t index,
    riverrun_function_name_t *function) RIVERRUN_NOEXCEPT;

/** How many host functions the program calls by name. */
size_t riverrun_program_imports(const riverrun_program_t *program) RIVERRUN_NOEXCEPT;

/** One of them. False if there is no such. */
bool riverrun_program_import(const riverrun_program_t *program, size_t index,
    riverrun_function_name_t *function) RIVERRUN_NOEXCEPT;

/** Adds a name to what is in a directory. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_entries_add(riverrun_entries_t *entries, const char *name,
    bool is_directory) RIVERRUN_NOEXCEPT;

/** Makes grants that grant nothing. */
riverrun_linux_t *riverrun_linux_new(void) RIVERRUN_NOEXCEPT;

/** Frees the grants; machines that were made with them keep theirs. */
void riverrun_linux_delete(riverrun_linux_t *granted) RIVERRUN_NOEXCEPT;

/** Adds an argument; the first one is the program's name. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_add_argument(riverrun_linux_t *granted,
    const char *argument) RIVERRUN_NOEXCEPT;

/** Sets a variable of the environment; the guest gets none of the host's. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_add_variable(riverrun_linux_t *granted, const char *name,
    const char *value) RIVERRUN_NOEXCEPT;

/** Gives the guest the host's own standard input, output and error. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_inherit_streams(riverrun_linux_t *granted) RIVERRUN_NOEXCEPT;

/** Gives the guest these bytes, which are copied, as its standard input. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_set_input(riverrun_linux_t *granted, const void *bytes,
    size_t len) RIVERRUN_NOEXCEPT;

/**
 * Calls write with what guests write to their standard output: on the threads that run them, and for machines of
 * several threads at once. destructor, which may be NULL, frees data when this and all machines are gone.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_set_output(riverrun_linux_t *granted, riverrun_write_t write,
    void *data, riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/** The same for standard error. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_set_errors(riverrun_linux_t *granted, riverrun_write_t write,
    void *data, riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/**
 * Grants the host's directory host under the guest's absolute path guest. Guests cannot leave it; other mounts, file
 * systems of the kernel such as procfs, and devices are not part of it.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_add_directory(riverrun_linux_t *granted, const char *host,
    const char *guest, bool read_only) RIVERRUN_NOEXCEPT;

/**
 * Gives the guest a file with these bytes, which are copied, at its absolute path guest. The guest can read it and not
 * change it; the host needs no such file.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_add_file(riverrun_linux_t *granted, const char *guest,
    const void *bytes, size_t len) RIVERRUN_NOEXCEPT;

/**
 * Grants a file system that the host implements, under the guest's absolute path guest. look, list and read
 * are needed. destructor, which may be NULL, frees data when this and all machines are gone.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_add_file_system(riverrun_linux_t *granted, const char *guest,
    const riverrun_file_system_t *functions, void *data, riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/**
 * Lets guests connect to an address by TCP and UDP: HOST:PORT, such as 127.0.0.1:80, [::1]:80 or example.org:443. A
 * name is looked up now, and when a machine is made, which may take a while; the guest finds its addresses in /etc/hosts.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_add_connect(riverrun_linux_t *granted,
    const char *address) RIVERRUN_NOEXCEPT;

/**
 * Lets guests listen at an address by TCP and UDP: PORT for programs of the same host, or ADDRESS:PORT, such as
 * 0.0.0.0:8080. Port 0 is one that the host chooses.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_add_listen(riverrun_linux_t *granted,
    const char *address) RIVERRUN_NOEXCEPT;

/** Sets the directory that guests are in when they start, an absolute path: / if this is not called. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_set_current_directory(riverrun_linux_t *granted,
    const char *guest) RIVERRUN_NOEXCEPT;

/**
 * Limits how many descriptors a guest may have open: 256 if this is not called, 65,536 at most. Each may take one of the
 * host's.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_set_max_descriptors(riverrun_linux_t *granted,
    size_t count) RIVERRUN_NOEXCEPT;

/** Limits the size in bytes that a guest may give a file; the process's own limit (RLIMIT_FSIZE) holds in any case. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_set_max_file_size(riverrun_linux_t *granted,
    uint64_t bytes) RIVERRUN_NOEXCEPT;

/** Limits how many threads a guest may have at a time: 1,024 if this is not called. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_set_max_threads(riverrun_linux_t *granted,
    size_t count) RIVERRUN_NOEXCEPT;

/**
 * Limits what a guest's private files (/tmp, /dev/shm, memfd_create) take of the host's memory, in bytes: 64 MiB if this is
 * not called. The memory limit of the engine counts them, too. Beyond, calls fail with ENOSPC.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_set_max_private_files(riverrun_linux_t *granted,
    uint64_t bytes) RIVERRUN_NOEXCEPT;

/** Makes guests' random numbers reproducible. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_set_seed(riverrun_linux_t *granted,
    uint64_t seed) RIVERRUN_NOEXCEPT;

/** Makes guests' clocks reproducible: they go on by one nanosecond with each instruction. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_set_virtual_time(riverrun_linux_t *granted,
    bool on) RIVERRUN_NOEXCEPT;

/**
 * Whether a program that offers functions to its host exits once its main has returned, as others do. By default its
 * run ends there with nothing torn down, so that its functions can be called, if it was linked with the SDK's reactor.c;
 * run once more, it exits.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linux_set_exits(riverrun_linux_t *granted, bool on) RIVERRUN_NOEXCEPT;

/**
 * Runs a part of a host function that is plain code in the host's float environment: see
 * riverrun_linker_func_code.
 */
void riverrun_with_host_floats(riverrun_body_t body, void *data) RIVERRUN_NOEXCEPT;

/**
 * Ends the run of the guest that has called a host function that is plain code, with an error. This does not
 * return, and nothing between that code and this call is cleaned up. An error that is NULL is one without words.
 */
RIVERRUN_NORETURN void riverrun_import_fail(const riverrun_import_t *entry,
    riverrun_error_t *error) RIVERRUN_NOEXCEPT;

/** A linker with no functions: every call to the host is an error, but for Linux's exit. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linker_new(const riverrun_engine_t *engine,
    riverrun_linker_t **linker) RIVERRUN_NOEXCEPT;

/** Frees the linker; machines that were made with it stay usable. */
void riverrun_linker_delete(riverrun_linker_t *linker) RIVERRUN_NOEXCEPT;

/**
 * Adds a host function that takes values with their types. types is a signature such as i32 (f32, ptr).
 *
 * destructor, which may be NULL, frees data when the linker and all machines are gone; at once if this fails.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linker_func(riverrun_linker_t *linker, const char *name,
    const char *types, riverrun_host_func_t function, void *data, riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/** Adds a host function that takes raw values in slots. Otherwise as riverrun_linker_func. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linker_func_raw(riverrun_linker_t *linker, const char *name,
    const char *types, riverrun_host_func_raw_t function, void *data,
    riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/**
 * Adds a system call: a host function that guests call by ecall with this number in a7. Otherwise as
 * riverrun_linker_func_raw.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linker_syscall(riverrun_linker_t *linker, uint32_t number,
    const char *types, riverrun_host_func_raw_t function, void *data,
    riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/**
 * Adds a host function that the guest calls directly: for bindings, such as riverrun.hpp. It finds data at
 * entry->environment->data. Guests that can observe the float environment, by their rounding mode or their exceptions,
 * call guarded instead, which must compute floats in riverrun_with_host_floats; code without floats may be given as
 * both. Otherwise as riverrun_linker_func.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linker_func_code(riverrun_linker_t *linker, const char *name,
    const char *types, riverrun_host_code_t code, riverrun_host_code_t guarded, void *data,
    riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/**
 * Lets guests use Linux's system calls, as riverrun_linux_t grants them: without this, programs with a C
 * library do not run.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linker_add_linux(riverrun_linker_t *linker) RIVERRUN_NOEXCEPT;

/**
 * Lets guests use the guest heap by the functions of the guest's header riverrun/heap.h. The heap may have limit
 * bytes; RIVERRUN_UNLIMITED is as many as the machine's memory allows.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linker_add_heap(riverrun_linker_t *linker,
    uint64_t limit) RIVERRUN_NOEXCEPT;

/**
 * Makes a machine of the program, at its first instruction, with these grants, which the caller keeps; NULL grants
 * nothing.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_new(const riverrun_linker_t *linker,
    const riverrun_program_t *program, const riverrun_linux_t *granted,
    riverrun_machine_t **machine) RIVERRUN_NOEXCEPT;

/**
 * Sets the handler of what guests do wrong by themselves, such as accesses to unmapped memory, illegal instructions and
 * ebreak. A trap after which the guest goes on counts as an instruction, so that fuel bounds a guest that only traps.
 *
 * There is one handler: this takes the place of that before, and of riverrun_linker_add_linux's, which gives faults to
 * the guest's own signal handlers. The end of a limit is no trap of the guest. Compiled code that is not precise calls
 * no handler at faults of memory: the registers are lost there (RIVERRUN_ERROR_LOST).
 *
 * destructor, which may be NULL, frees data when the linker and all machines are gone; at once if this fails.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linker_set_trap_handler(riverrun_linker_t *linker,
    riverrun_trap_handler_t handler, void *data, riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/** Frees the machine and the host's data in it. In its own host functions this does nothing; debug builds abort. */
void riverrun_machine_delete(riverrun_machine_t *machine) RIVERRUN_NOEXCEPT;

/** Sets the host's data of the machine and frees the data before it. destructor may be NULL. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_set_data(riverrun_machine_t *machine, void *data,
    riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/** The data that riverrun_machine_set_data has set, or NULL. */
void *riverrun_machine_data(riverrun_machine_t *machine) RIVERRUN_NOEXCEPT;

/**
 * Runs the guest from its pc until it exits; status receives its exit status, and may be NULL.
 *
 * After a trap, another run continues there, for example with more fuel or time.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_run(riverrun_machine_t *machine,
    int32_t *status) RIVERRUN_NOEXCEPT;

/**
 * Runs the guest as riverrun_machine_run does, for a slice at most: so many instructions, or so long. is_over receives
 * whether it has exited, and only then status its exit status; otherwise the next slice or run continues it, on this
 * thread or another. The machine's own limits hold as well, and end the run with an error.
 *
 * Calls of the guest that a host function makes are not cut: a slice of time waits for them, one of instructions ends them
 * with an error.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_run_for(riverrun_machine_t *machine,
    const riverrun_limits_t *slice, bool *is_over, int32_t *status) RIVERRUN_NOEXCEPT;

/** Limits the instructions that the guest may still execute; RIVERRUN_UNLIMITED takes the limit away. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_set_fuel(riverrun_machine_t *machine,
    uint64_t instructions) RIVERRUN_NOEXCEPT;

/** The instructions that the guest may still execute; RIVERRUN_UNLIMITED without a limit. */
uint64_t riverrun_machine_fuel(riverrun_machine_t *machine) RIVERRUN_NOEXCEPT;

/**
 * Sets a deadline that many nanoseconds from now. It ends every run and call with a trap of the kind
 * RIVERRUN_TRAP_DEADLINE; RIVERRUN_UNLIMITED takes the limit away.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_set_timeout(riverrun_machine_t *machine,
    uint64_t nanoseconds) RIVERRUN_NOEXCEPT;

/** Ends the initialization, as the guest's exit does: see riverrun_machine_is_initializing. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_end_initialization(
    riverrun_machine_t *machine) RIVERRUN_NOEXCEPT;

/**
 * Whether the guest still initializes: it has not exited, and riverrun_machine_end_initialization was not called. Host
 * functions for this phase test it.
 */
bool riverrun_machine_is_initializing(riverrun_machine_t *machine) RIVERRUN_NOEXCEPT;

/** Instructions that the machine has executed. */
uint64_t riverrun_machine_instructions(riverrun_machine_t *machine) RIVERRUN_NOEXCEPT;

/** The guest's address of the next instruction; in a host function, that of the call. */
uint64_t riverrun_machine_pc(riverrun_machine_t *machine) RIVERRUN_NOEXCEPT;

/** Sets the address of the next instruction. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_set_pc(riverrun_machine_t *machine,
    uint64_t pc) RIVERRUN_NOEXCEPT;

/**
 * The guest's registers: x0 to x31, one that is not used, f0 to f31. The pointer is valid as long as the machine lives. In
 * host functions that the guest calls directly, a0 to a4 are out of date; they are arguments. Only float results of such
 * functions may be written.
 */
uint64_t *riverrun_machine_registers(riverrun_machine_t *machine) RIVERRUN_NOEXCEPT;

/** Makes a handle by which other threads stop this machine; NULL if the machine is NULL. */
riverrun_interrupt_handle_t *riverrun_interrupt_handle_new(riverrun_machine_t *machine) RIVERRUN_NOEXCEPT;

/** Frees the handle. */
void riverrun_interrupt_handle_delete(riverrun_interrupt_handle_t *handle) RIVERRUN_NOEXCEPT;

/**
 * Makes the machine's present run, or its next one, end with a trap of the kind RIVERRUN_TRAP_INTERRUPTED
 * within a few milliseconds. Any thread may call this, also when the machine is gone.
 */
void riverrun_interrupt_handle_interrupt(const riverrun_interrupt_handle_t *handle) RIVERRUN_NOEXCEPT;

/** Takes a snapshot of a machine that is not running. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_snapshot_new(riverrun_machine_t *machine,
    riverrun_snapshot_t **snapshot) RIVERRUN_NOEXCEPT;

/** Frees the snapshot; machines that were made from it stay usable. */
void riverrun_snapshot_delete(riverrun_snapshot_t *snapshot) RIVERRUN_NOEXCEPT;

/** Calls write once with the snapshot as bytes, its sections included: the same on every host and of every engine. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_snapshot_to_bytes(const riverrun_snapshot_t *snapshot,
    riverrun_write_t write, void *data) RIVERRUN_NOEXCEPT;

/**
 * Reads what riverrun_snapshot_to_bytes has given, of the same program. The bytes need not be trusted: their author
 * chooses what the guest does, within its sandbox.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_snapshot_from_bytes(const riverrun_program_t *program, const void *bytes,
    size_t len, riverrun_snapshot_t **snapshot) RIVERRUN_NOEXCEPT;

/** Writes the snapshot to a file. A file that is there is replaced in one step. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_snapshot_write_to(const riverrun_snapshot_t *snapshot,
    const char *path) RIVERRUN_NOEXCEPT;

/** Reads a file that riverrun_snapshot_write_to has written: as riverrun_snapshot_from_bytes. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_snapshot_read(const riverrun_program_t *program, const char *path,
    riverrun_snapshot_t **snapshot) RIVERRUN_NOEXCEPT;

/** Adds bytes of the host's under a name, in place of those that had it before. They are copied. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_snapshot_set_section(riverrun_snapshot_t *snapshot, const char *name,
    const void *bytes, size_t len) RIVERRUN_NOEXCEPT;

/** The bytes of this name, which live as long as the snapshot and until they are replaced. False if there are none. */
bool riverrun_snapshot_section(const riverrun_snapshot_t *snapshot, const char *name, const void **bytes,
    size_t *len) RIVERRUN_NOEXCEPT;

/**
 * Makes a machine that goes on where the snapshot was taken, with these grants, which the caller keeps; NULL grants
 * nothing. Files that the guest had open are opened again by the grants: an error names one that cannot be.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_from_snapshot(const riverrun_linker_t *linker,
    const riverrun_snapshot_t *snapshot, const riverrun_linux_t *granted,
    riverrun_machine_t **machine) RIVERRUN_NOEXCEPT;

/**
 * Puts a machine that is not running back to a snapshot of its program. Its grants, data and limits stay as they are. If
 * this fails, the machine is only good for being deleted.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_reset(riverrun_machine_t *machine,
    const riverrun_snapshot_t *snapshot) RIVERRUN_NOEXCEPT;

/** Makes another machine whose guest is as this one's now, with the same host functions, and with these grants. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_fork(riverrun_machine_t *machine,
    const riverrun_linux_t *granted, riverrun_machine_t **forked) RIVERRUN_NOEXCEPT;

/**
 * Makes a pool whose machines have these grants, which the caller keeps. It keeps at most idle machines for later, and
 * makes more whenever more are asked for at once.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_pool_new(const riverrun_linker_t *linker,
    const riverrun_snapshot_t *snapshot, const riverrun_linux_t *granted, size_t idle,
    riverrun_pool_t **pool) RIVERRUN_NOEXCEPT;

/** Frees the pool and its idle machines. Machines that are in use stay usable, and are deleted as others are. */
void riverrun_pool_delete(riverrun_pool_t *pool) RIVERRUN_NOEXCEPT;

/** A machine at the pool's snapshot, for riverrun_pool_put or riverrun_machine_delete. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_pool_get(const riverrun_pool_t *pool,
    riverrun_machine_t **machine) RIVERRUN_NOEXCEPT;

/**
 * Gives a machine back that is not running, for another use; its data is freed, and handles of it must not be used any
 * more. A machine that the pool does not want, because it has enough, is deleted.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_pool_put(const riverrun_pool_t *pool,
    riverrun_machine_t *machine) RIVERRUN_NOEXCEPT;

/** How many machines are idle. */
size_t riverrun_pool_idle(const riverrun_pool_t *pool) RIVERRUN_NOEXCEPT;

/**
 * The function that the machine's program exports by this name, or that has a symbol of this name.
 *
 * signature reads i32 (f32, ptr). Where the guest has exported the function with its types, they have to be
 * the same, and NULL stands for them. Where it has not, it is for the host to know them: wrong types then give
 * wrong values, and nothing worse. Types are void, bool, i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, ptr, and
 * as a result {f32, i64}, a structure of two, which is two results.
 *
 * Programs with a C library have to be run first, until main has returned: their start code makes the library
 * ready. Memory stays as it is then.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_func_new(riverrun_machine_t *machine, const char *name,
    const char *types, riverrun_func_t **func) RIVERRUN_NOEXCEPT;

/** The function at a guest address, such as a function pointer that the guest has passed. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_func_at(riverrun_machine_t *machine, uint64_t address, const char *types,
    riverrun_func_t **func) RIVERRUN_NOEXCEPT;

/** Frees the handle. */
void riverrun_func_delete(riverrun_func_t *func) RIVERRUN_NOEXCEPT;

/** The function's guest address. */
uint64_t riverrun_func_address(const riverrun_func_t *func) RIVERRUN_NOEXCEPT;

/** How many slots a call takes: as many as parameters, or results. */
size_t riverrun_func_slots(const riverrun_func_t *func) RIVERRUN_NOEXCEPT;

/** How many parameters the function has. */
size_t riverrun_func_parameters(const riverrun_func_t *func) RIVERRUN_NOEXCEPT;

/** How many results the function has: none, one, or the two fields of a structure. */
size_t riverrun_func_results(const riverrun_func_t *func) RIVERRUN_NOEXCEPT;

/**
 * Calls the function with values of its types, and gives its results: none, one or two. They may be in the array of
 * the arguments. Within a host function this calls back into the guest that waits.
 *
 * The thread's float environment has to be the default one, as C has it when a program starts: guest code runs
 * in it. Debug builds check that.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_func_call(const riverrun_func_t *func, riverrun_machine_t *machine,
    const riverrun_value_t *arguments, size_t arguments_len, riverrun_value_t *results,
    size_t results_len) RIVERRUN_NOEXCEPT;

/** Calls it as riverrun_func_call does, within limits of its own, and the machine's. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_func_call_within(const riverrun_func_t *func,
    riverrun_machine_t *machine, const riverrun_limits_t *limits, const riverrun_value_t *arguments,
    size_t arguments_len, riverrun_value_t *results, size_t results_len) RIVERRUN_NOEXCEPT;

/**
 * Calls the function with raw values, without a check of their types: wrong types give wrong values, and nothing worse.
 * slots holds the arguments, and then the results in the first places and unspecified values in the others. There must be
 * at least as many as riverrun_func_slots says; all of those are read. riverrun_slot_i32 and the like make slots,
 * riverrun_slot_as_i32 and the like read them.
 *
 * The float environment must be as for riverrun_func_call.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_func_call_raw(const riverrun_func_t *func, riverrun_machine_t *machine,
    uint64_t *slots, size_t slots_len) RIVERRUN_NOEXCEPT;

/** Calls it as riverrun_func_call_raw does, within limits of its own, and the machine's. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_func_call_raw_within(const riverrun_func_t *func,
    riverrun_machine_t *machine, const riverrun_limits_t *limits, uint64_t *slots,
    size_t slots_len) RIVERRUN_NOEXCEPT;

/**
 * Adds a host function that answers later. Only guests that are run by riverrun_machine_run_async or
 * riverrun_func_call_async can wait for it; in other runs, and in calls that a host function makes, it fails. Otherwise
 * as riverrun_linker_func.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_linker_func_async(riverrun_linker_t *linker, const char *name,
    const char *types, riverrun_host_func_async_t function, void *data,
    riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/**
 * Answers the guest's call with the function's results: none, one or two. The run's waker is called, if it has one
 * (riverrun_future_set_waker); its next riverrun_future_poll continues the guest. A second answer is an error, and
 * has no effect; so are results of other types.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_token_complete(const riverrun_token_t *token,
    const riverrun_value_t *results, size_t results_len) RIVERRUN_NOEXCEPT;

/**
 * Answers the guest's call with an error, which ends its run. The error is the token's from now on. A second answer is an
 * error.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_token_fail(const riverrun_token_t *token,
    riverrun_error_t *error) RIVERRUN_NOEXCEPT;

/** Whether a guest still waits for the answer: there was none yet, and neither was the call given up. */
bool riverrun_token_is_awaited(const riverrun_token_t *token) RIVERRUN_NOEXCEPT;

/** Frees the token. If it was not answered, the guest's call fails. */
void riverrun_token_delete(riverrun_token_t *token) RIVERRUN_NOEXCEPT;

/**
 * Begins a run that can wait, from the guest's pc until it exits. Nothing is executed before riverrun_future_poll. The
 * result of the future is the exit status, an i32.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_machine_run_async(riverrun_machine_t *machine,
    riverrun_future_t **future) RIVERRUN_NOEXCEPT;

/**
 * Begins a call that can wait, with values of the function's types. Nothing is executed before riverrun_future_poll. The
 * results of the future are the function's.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_func_call_async(const riverrun_func_t *func, riverrun_machine_t *machine,
    const riverrun_value_t *arguments, size_t arguments_len, riverrun_future_t **future) RIVERRUN_NOEXCEPT;

/**
 * Runs the guest until it is done or waits for a host function; gives the executor its turn every 10 ms besides.
 * is_ready receives whether it is done: then riverrun_future_results has its results. Otherwise the waker is
 * called when there is more to do, perhaps before this returns. On an error the future is over, and the machine as
 * after another call or run.
 *
 * It uses the machine: one thread at a time may, not always the same.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_future_poll(const riverrun_future_t *future,
    bool *is_ready) RIVERRUN_NOEXCEPT;

/** The results of a future that is ready: as many as the function has, or the exit status of a run. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_future_results(const riverrun_future_t *future,
    riverrun_value_t *results, size_t results_len) RIVERRUN_NOEXCEPT;

/**
 * Sets what is called when the future is to be polled again, from the next riverrun_future_poll on: when the host
 * function has answered, a limit ends the run, or its turn is over. It must not block: the thread that all limits of time
 * of the process depend on calls it, too. destructor, which may be NULL, frees the data when no thread calls the waker
 * any more, which may be after the future is deleted.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_future_set_waker(const riverrun_future_t *future,
    riverrun_wake_func_t wake, void *data, riverrun_destructor_t destructor) RIVERRUN_NOEXCEPT;

/**
 * Frees the future, on the thread that uses its machine. If it is not over, it is given up: a call has not happened,
 * but for its effects, and a run has stopped where it waits. The machine can be used as before.
 */
void riverrun_future_delete(riverrun_future_t *future) RIVERRUN_NOEXCEPT;

/** Copies guest memory to buffer. If the guest could not read all of it, nothing is copied. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_memory_read(riverrun_machine_t *machine, uint64_t address, void *buffer,
    size_t len) RIVERRUN_NOEXCEPT;

/** Copies bytes to guest memory. If the guest could not write all of it, nothing is copied. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_memory_write(riverrun_machine_t *machine, uint64_t address,
    const void *bytes, size_t len) RIVERRUN_NOEXCEPT;

/**
 * The host address of len bytes of guest memory that the guest can read. They are not a copy, and may be read until the
 * guest runs or its mappings change.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_memory_view(riverrun_machine_t *machine, uint64_t address, uint64_t len,
    const uint8_t **view) RIVERRUN_NOEXCEPT;

/**
 * The same for len bytes that the guest can read and write; the host may write them until the machine's next snapshot or
 * reset, too, which let each page be written only after it was asked for again.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_memory_view_mut(riverrun_machine_t *machine, uint64_t address,
    uint64_t len, uint8_t **view) RIVERRUN_NOEXCEPT;

/**
 * The host address of a C string in guest memory, valid as that of riverrun_memory_view. len receives its length
 * without the zero, and may be NULL. An error if it has more than max bytes.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_memory_string(riverrun_machine_t *machine, uint64_t address,
    uint64_t max, const char **view, size_t *len) RIVERRUN_NOEXCEPT;

/** Maps zeroed pages of 4096 bytes, in place of whatever was there. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_memory_map(riverrun_machine_t *machine, uint64_t start, uint64_t len,
    uint32_t permissions) RIVERRUN_NOEXCEPT;

/** Changes the permissions of mapped pages. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_memory_protect(riverrun_machine_t *machine, uint64_t start, uint64_t len,
    uint32_t permissions) RIVERRUN_NOEXCEPT;

/** Unmaps pages; what is not mapped stays so. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_memory_unmap(riverrun_machine_t *machine, uint64_t start,
    uint64_t len) RIVERRUN_NOEXCEPT;

/** Bytes that the guest has mapped. */
uint64_t riverrun_memory_used(riverrun_machine_t *machine) RIVERRUN_NOEXCEPT;

/**
 * Allocates a block in the guest's heap that the host owns, of size bytes at a multiple of alignment, a power of two,
 * and of 16. The guest cannot free it before riverrun_heap_give_to_guest. Its contents are undefined.
 */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_heap_allocate(riverrun_machine_t *machine, uint64_t size,
    uint64_t alignment, uint64_t *address) RIVERRUN_NOEXCEPT;

/** Resizes a block and keeps its contents up to the smaller size. address is its address, and receives the new one. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_heap_reallocate(riverrun_machine_t *machine, uint64_t *address,
    uint64_t size) RIVERRUN_NOEXCEPT;

/** Frees a block, the host's or the guest's. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_heap_free(riverrun_machine_t *machine,
    uint64_t address) RIVERRUN_NOEXCEPT;

/** Transfers a block to the guest, which may then free it. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_heap_give_to_guest(riverrun_machine_t *machine,
    uint64_t address) RIVERRUN_NOEXCEPT;

/** Transfers a block to the host, so that the guest cannot free it any more. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_heap_take_from_guest(riverrun_machine_t *machine,
    uint64_t address) RIVERRUN_NOEXCEPT;

/** The bytes that were asked for of the block at address; 0 if no block in use starts there. */
uint64_t riverrun_heap_size(riverrun_machine_t *machine, uint64_t address) RIVERRUN_NOEXCEPT;

/** How the heap is used. */
RIVERRUN_MUST_USE riverrun_error_t *riverrun_heap_statistics(riverrun_machine_t *machine,
    riverrun_heap_statistics_t *statistics) RIVERRUN_NOEXCEPT;

/* ---- To here. ---- */

/* What follows knows layouts of the library's. Their version is in this symbol's name, so that code which was compiled with
 * another version's header does not link. */
extern const unsigned char riverrun_layout_1;
#if defined(__GNUC__)
static const unsigned char *const riverrun_layout __attribute__((used)) = &riverrun_layout_1;
#endif

/* Slots: 64 bits as guest registers hold values. Integers of less are extended as the RISC-V calling convention asks
 * for: those of 32 bits by their sign, always. */

static inline uint64_t riverrun_slot_bool(bool value) { return value; }
static inline uint64_t riverrun_slot_i32(int32_t value) { return (uint64_t)(int64_t)value; }
static inline uint64_t riverrun_slot_u32(uint32_t value) { return (uint64_t)(int64_t)(int32_t)value; }
static inline uint64_t riverrun_slot_i64(int64_t value) { return (uint64_t)value; }
static inline uint64_t riverrun_slot_u64(uint64_t value) { return value; }

static inline uint64_t riverrun_slot_f32(float value)
{
    union { float value; uint32_t bits; } pun;
    pun.value = value;
    return UINT64_C(0xffffffff00000000) | pun.bits;
}

static inline uint64_t riverrun_slot_f64(double value)
{
    union { double value; uint64_t bits; } pun;
    pun.value = value;
    return pun.bits;
}

static inline bool riverrun_slot_as_bool(uint64_t slot) { return (slot & 0xff) != 0; }
static inline int32_t riverrun_slot_as_i32(uint64_t slot) { return (int32_t)(uint32_t)slot; }
static inline uint32_t riverrun_slot_as_u32(uint64_t slot) { return (uint32_t)slot; }
static inline int64_t riverrun_slot_as_i64(uint64_t slot) { return (int64_t)slot; }
static inline uint64_t riverrun_slot_as_u64(uint64_t slot) { return slot; }

static inline float riverrun_slot_as_f32(uint64_t slot)
{
    union { float value; uint32_t bits; } pun;
    pun.bits = (uint32_t)slot;
    return pun.value;
}

static inline double riverrun_slot_as_f64(uint64_t slot)
{
    union { double value; uint64_t bits; } pun;
    pun.bits = slot;
    return pun.value;
}

/** What lies at a machine's address, for bindings. */
static inline const riverrun_machine_head_t *riverrun_machine_head(const riverrun_machine_t *machine)
{
    return (const riverrun_machine_head_t *)(const void *)machine;
}

/* Values with their types. Of those that are not here, set the fields. */

static inline riverrun_value_t riverrun_value_i32(int32_t of)
{
    riverrun_value_t value;
    value.kind = RIVERRUN_KIND_I32;
    value.of.i32 = of;
    return value;
}

static inline riverrun_value_t riverrun_value_i64(int64_t of)
{
    riverrun_value_t value;
    value.kind = RIVERRUN_KIND_I64;
    value.of.i64 = of;
    return value;
}

static inline riverrun_value_t riverrun_value_f32(float of)
{
    riverrun_value_t value;
    value.kind = RIVERRUN_KIND_F32;
    value.of.f32 = of;
    return value;
}

static inline riverrun_value_t riverrun_value_f64(double of)
{
    riverrun_value_t value;
    value.kind = RIVERRUN_KIND_F64;
    value.of.f64 = of;
    return value;
}

static inline riverrun_value_t riverrun_value_ptr(uint64_t of)
{
    riverrun_value_t value;
    value.kind = RIVERRUN_KIND_PTR;
    value.of.ptr = of;
    return value;
}

/** The slot of a value; 0 if its kind is none. */
static inline uint64_t riverrun_value_slot(const riverrun_value_t *value)
{
    switch (value->kind) {
    case RIVERRUN_KIND_BOOL: return riverrun_slot_bool(value->of.boolean);
    case RIVERRUN_KIND_I8: return (uint64_t)(int64_t)value->of.i8;
    case RIVERRUN_KIND_U8: return value->of.u8;
    case RIVERRUN_KIND_I16: return (uint64_t)(int64_t)value->of.i16;
    case RIVERRUN_KIND_U16: return value->of.u16;
    case RIVERRUN_KIND_I32: return riverrun_slot_i32(value->of.i32);
    case RIVERRUN_KIND_U32: return riverrun_slot_u32(value->of.u32);
    case RIVERRUN_KIND_I64: return riverrun_slot_i64(value->of.i64);
    case RIVERRUN_KIND_U64: return value->of.u64;
    case RIVERRUN_KIND_F32: return riverrun_slot_f32(value->of.f32);
    case RIVERRUN_KIND_F64: return riverrun_slot_f64(value->of.f64);
    case RIVERRUN_KIND_PTR: return value->of.ptr;
    }
    return 0;
}

/* The inline fast path of calls with up to three integers. */

#if defined(__GNUC__)
#define RIVERRUN_INLINE static inline __attribute__((always_inline))
#define RIVERRUN_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#else
#define RIVERRUN_INLINE static inline
#define RIVERRUN_UNLIKELY(condition) (condition)
#endif

/**
 * Calls a function with up to three raw values; those that it does not have are ignored. False if it cannot be called so now:
 * then nothing has happened, and riverrun_func_call_raw calls it. Neither handle may be NULL. For bindings.
 */
RIVERRUN_INLINE bool riverrun_func_enter(const riverrun_func_t *func, riverrun_machine_t *machine, uint64_t first,
    uint64_t second, uint64_t third, uint64_t *result, riverrun_error_t **error) RIVERRUN_NOEXCEPT
{
    const riverrun_func_head_t *head = (const riverrun_func_head_t *)(const void *)func;
    riverrun_entry_guard_head_t *entry_guard;
    entry_guard = riverrun_machine_head(machine)->entry_guard;
    if (RIVERRUN_UNLIKELY(entry_guard->word != head->entry_token))
        return false;
    *result = head->code(func, machine, first, second, third, entry_guard);
    if (RIVERRUN_UNLIKELY(entry_guard->word != RIVERRUN_ENTRY_GUARD_CALLING)) {
        *error = entry_guard->error;
        return true;
    }
    entry_guard->word = head->entry_token;
    *error = NULL;
    return true;
}

/* Calls whose compilers know how many values of which kinds there are. Where nothing is optimised, where less is known, and
 * with RIVERRUN_NO_INLINE, the library's functions of these names are called. */
#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(RIVERRUN_NO_INLINE)

#define RIVERRUN_KNOWN(condition) (__builtin_constant_p(condition) && (condition))

RIVERRUN_INLINE RIVERRUN_MUST_USE riverrun_error_t *riverrun_func_call_inline(
    const riverrun_func_t *func, riverrun_machine_t *machine, const riverrun_value_t *arguments, size_t arguments_len,
    riverrun_value_t *results, size_t results_len) RIVERRUN_NOEXCEPT
{
    const riverrun_func_head_t *head = (const riverrun_func_head_t *)(const void *)func;
    uint64_t slots[3] = {0, 0, 0}, result;
    uint32_t types = (uint32_t)results_len << 24;
    riverrun_error_t *error;
    if (!RIVERRUN_KNOWN(arguments_len <= 3 && results_len <= 1) || (arguments_len && !arguments)
        || (results_len && !results))
        return riverrun_func_call(func, machine, arguments, arguments_len, results, results_len);
#define RIVERRUN_ARGUMENT(n)                                                                                       \
    if (arguments_len > (n)) {                                                                                     \
        if (!RIVERRUN_KNOWN((unsigned)arguments[n].kind <= RIVERRUN_KIND_PTR))                                     \
            return riverrun_func_call(func, machine, arguments, arguments_len, results, results_len);              \
        slots[n] = riverrun_value_slot(&arguments[n]);                                                             \
        types |= ((uint32_t)arguments[n].kind + 1) << (8 * (n));                                                   \
    }
    RIVERRUN_ARGUMENT(0)
    RIVERRUN_ARGUMENT(1)
    RIVERRUN_ARGUMENT(2)
#undef RIVERRUN_ARGUMENT
    if (!func || !machine || head->types != types
        || !riverrun_func_enter(func, machine, slots[0], slots[1], slots[2], &result, &error))
        return riverrun_func_call(func, machine, arguments, arguments_len, results, results_len);
    if (results_len && __builtin_expect(!error, 1)) {
        results[0].kind = (riverrun_kind_t)head->result;
        results[0].of.u64 = result;
    }
    return error;
}

RIVERRUN_INLINE RIVERRUN_MUST_USE riverrun_error_t *riverrun_func_call_raw_inline(
    const riverrun_func_t *func, riverrun_machine_t *machine, uint64_t *slots, size_t slots_len) RIVERRUN_NOEXCEPT
{
    uint64_t result;
    riverrun_error_t *error;
    if (!RIVERRUN_KNOWN(slots_len <= 3) || (slots_len && !slots) || !func || !machine
        || !riverrun_func_enter(func, machine, slots_len > 0 ? slots[0] : 0, slots_len > 1 ? slots[1] : 0,
                                slots_len > 2 ? slots[2] : 0, &result, &error))
        return riverrun_func_call_raw(func, machine, slots, slots_len);
    if (slots_len && __builtin_expect(!error, 1))
        slots[0] = result;
    return error;
}

#undef RIVERRUN_KNOWN
#define riverrun_func_call riverrun_func_call_inline
#define riverrun_func_call_raw riverrun_func_call_raw_inline

#endif
#undef RIVERRUN_INLINE
#undef RIVERRUN_UNLIKELY

#ifdef __cplusplus
}
#endif

#if defined(__GNUC__) && defined(__cplusplus)
#pragma GCC diagnostic pop
#endif

#endif
