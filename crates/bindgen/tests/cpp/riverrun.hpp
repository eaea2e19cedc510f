// What generated headers ask of riverrun's header for hosts in C++, and no more.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

namespace riverrun {

template <class T> struct Ptr { std::uint64_t address; };
template <class T> struct Slice { Ptr<T> start; std::uint64_t length; };
struct Str { std::uint64_t address; };
struct Memory {};

struct Caller {
    Memory &memory() { return memory_; }
    // Ends the guest's run with this message.
    [[noreturn]] void fail(const char *message) { throw std::runtime_error(message); }
    // Ends the guest's run if it does not initialize itself any more.
    void only_while_initializing()
    {
        if (initialized)
            fail("it can be called during initialization only");
    }
    bool initialized = false;
    Memory memory_;
};

// Remembers the signatures.
struct Linker {
    template <class Function, class Closure> void func(const char *name, const char *signature, Closure closure)
    {
        (void)closure;
        signatures[name] = signature;
    }
    std::map<std::string, std::string> signatures;
};

} // namespace riverrun
