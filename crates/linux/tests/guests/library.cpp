// The library that dynamic.cpp is linked with.
#include <stdexcept>
#include <string>

extern "C" int library_value = 10;

extern "C" int library_add(int amount) { return library_value += amount; }

void library_throw(const std::string& text) { throw std::runtime_error(text); }
