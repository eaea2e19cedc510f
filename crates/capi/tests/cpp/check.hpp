// What tests in C++ have in common.
#ifndef CHECK_HPP
#define CHECK_HPP

// First, as it needs no other header.
#include <riverrun.hpp>

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
            std::exit(1);                                                         \
        }                                                                         \
    } while (0)

#endif
