/* Makes the host's heap what `new` and `delete` use, in C++17 or newer, with or without exceptions. Included
 * in all of a program's files, or by `riverrun c++ -include riverrun/new.h`, they are one instruction where
 * they stand; in one file, that file's code, the library's and that of all others use the heap.
 *
 * Where there is no room, they call the new-handler and throw std::bad_alloc as the standard has it; without
 * exceptions, or without a libc, they trap.
 */
#pragma once

#ifndef __cplusplus
#error "this is for C++: riverrun/malloc.h is for C"
#endif

#include <riverrun/heap.h>

#if __has_include(<new>) && __STDC_HOSTED__
#include <new>
#else
namespace std {
enum class align_val_t : size_t {};
struct nothrow_t;
}
#endif

/* The standard wants replacements not to be inline, so that all files use the same. They do: a file
   that uses them has these, and the linker keeps one copy for all others. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Winline-new-delete"
#endif
#define RIVERRUN_NEW __attribute__((used)) inline

namespace riverrun {
namespace detail {

constexpr size_t max_align = 16;

inline void *allocate(size_t size, size_t alignment)
{
    return alignment <= max_align ? riverrun_malloc(size) : riverrun_aligned_alloc(alignment, size);
}

/* There was no room at first. */
__attribute__((cold, noinline)) inline void *allocate_later([[maybe_unused]] size_t size,
                                                            [[maybe_unused]] size_t alignment)
{
#if __has_include(<new>) && __STDC_HOSTED__ && defined(__cpp_exceptions)
    for (;;) {
        if (void *block = allocate(size, alignment))
            return block;
        if (std::new_handler handler = std::get_new_handler())
            handler();
        else
            throw std::bad_alloc();
    }
#else
    __builtin_trap();
#endif
}

RIVERRUN_INLINE void *allocate_or_throw(size_t size, size_t alignment)
{
    void *block = allocate(size, alignment);
    return __builtin_expect(block != nullptr, 1) ? block : allocate_later(size, alignment);
}

} // namespace detail
} // namespace riverrun

RIVERRUN_NEW void *operator new(size_t size)
{
    return riverrun::detail::allocate_or_throw(size, 1);
}
RIVERRUN_NEW void *operator new[](size_t size)
{
    return riverrun::detail::allocate_or_throw(size, 1);
}
RIVERRUN_NEW void *operator new(size_t size, std::align_val_t alignment)
{
    return riverrun::detail::allocate_or_throw(size, static_cast<size_t>(alignment));
}
RIVERRUN_NEW void *operator new[](size_t size, std::align_val_t alignment)
{
    return riverrun::detail::allocate_or_throw(size, static_cast<size_t>(alignment));
}
RIVERRUN_NEW void *operator new(size_t size, const std::nothrow_t &) noexcept
{
    return riverrun::detail::allocate(size, 1);
}
RIVERRUN_NEW void *operator new[](size_t size, const std::nothrow_t &) noexcept
{
    return riverrun::detail::allocate(size, 1);
}
RIVERRUN_NEW void *operator new(size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept
{
    return riverrun::detail::allocate(size, static_cast<size_t>(alignment));
}
RIVERRUN_NEW void *operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept
{
    return riverrun::detail::allocate(size, static_cast<size_t>(alignment));
}

RIVERRUN_NEW void operator delete(void *block) noexcept { riverrun_free(block); }
RIVERRUN_NEW void operator delete[](void *block) noexcept { riverrun_free(block); }
RIVERRUN_NEW void operator delete(void *block, size_t size) noexcept { riverrun_free_sized(block, size); }
RIVERRUN_NEW void operator delete[](void *block, size_t size) noexcept { riverrun_free_sized(block, size); }
RIVERRUN_NEW void operator delete(void *block, std::align_val_t) noexcept { riverrun_free(block); }
RIVERRUN_NEW void operator delete[](void *block, std::align_val_t) noexcept { riverrun_free(block); }
RIVERRUN_NEW void operator delete(void *block, size_t size, std::align_val_t) noexcept
{
    riverrun_free_sized(block, size);
}
RIVERRUN_NEW void operator delete[](void *block, size_t size, std::align_val_t) noexcept
{
    riverrun_free_sized(block, size);
}
RIVERRUN_NEW void operator delete(void *block, const std::nothrow_t &) noexcept { riverrun_free(block); }
RIVERRUN_NEW void operator delete[](void *block, const std::nothrow_t &) noexcept { riverrun_free(block); }
RIVERRUN_NEW void operator delete(void *block, std::align_val_t, const std::nothrow_t &) noexcept
{
    riverrun_free(block);
}
RIVERRUN_NEW void operator delete[](void *block, std::align_val_t, const std::nothrow_t &) noexcept
{
    riverrun_free(block);
}
