// Computes expressions by recursive descent. One in 128 is malformed, ten and more functions deep, which is said by an
// exception, or WITHOUT it by a flag that all callers look at.
extern "C" {
#include "bench.h"
}

#include <string>
#include <vector>

namespace {

struct Malformed {
    size_t at;
};

class Parser {
public:
    explicit Parser(const std::string &text) : text(text) {}

    // What the text comes to, or else where it is malformed.
    uint64_t parse() {
#ifndef WITHOUT
        try {
            return sum();
        } catch (const Malformed &malformed) {
            return malformed.at;
        }
#else
        uint64_t result = sum();
        return failed ? failed_at : result;
#endif
    }

    unsigned deepest = 0;

private:
    // Says how deep it is; wherever it is left, no more.
    struct Level {
        explicit Level(Parser &parser) : parser(parser) {
            if (++parser.depth > parser.deepest)
                parser.deepest = parser.depth;
        }
        ~Level() { parser.depth--; }
        Parser &parser;
    };

    const std::string &text;
    size_t at = 0;
    unsigned depth = 0;
#ifdef WITHOUT
    bool failed = false;
    size_t failed_at = 0;
#endif

    char next() const { return at < text.size() ? text[at] : '\0'; }

    uint64_t fail() {
#ifndef WITHOUT
        throw Malformed{at};
#else
        failed = true;
        failed_at = at;
        return 0;
#endif
    }

    bool has_failed() const {
#ifndef WITHOUT
        return false;
#else
        return failed;
#endif
    }

    __attribute__((noinline)) uint64_t sum() {
        Level level(*this);
        uint64_t result = product();
        while (!has_failed() && (next() == '+' || next() == '-')) {
            bool minus = text[at++] == '-';
            uint64_t operand = product();
            result = minus ? result - operand : result + operand;
        }
        return result;
    }

    __attribute__((noinline)) uint64_t product() {
        Level level(*this);
        uint64_t result = factor();
        while (!has_failed() && next() == '*') {
            at++;
            result *= factor();
        }
        return result;
    }

    __attribute__((noinline)) uint64_t factor() {
        Level level(*this);
        if (next() == '(') {
            at++;
            uint64_t result = sum();
            if (has_failed())
                return 0;
            if (next() != ')')
                return fail();
            at++;
            return result;
        }
        if (next() < '0' || next() > '9')
            return fail();
        uint64_t result = 0;
        for (; next() >= '0' && next() <= '9'; at++)
            result = result * 10 + static_cast<uint64_t>(next() - '0');
        return result;
    }
};

uint64_t state = 88172645463325252;

unsigned below(unsigned bound) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<unsigned>(state % bound);
}

// An expression in which the first operand, on each level, has the next one in it.
std::string expression(unsigned depth, bool malformed) {
    std::string text = depth > 0 ? "(" + expression(depth - 1, malformed) + ")" : malformed ? "?" : "7";
    for (unsigned operands = 4 + below(8); operands > 0; operands--)
        text += "+-*"[below(3)] + std::to_string(below(1000));
    return text;
}

}  // namespace

int main(int argc, char **argv) {
    uint64_t size = bench_size(argc, argv), sum = 0;
    std::vector<std::string> texts;
    for (unsigned n = 0; n < 128; n++)
        texts.push_back(expression(4, n == 127));
    for (uint64_t i = 0; i < size; i++) {
        Parser parser(texts[i % texts.size()]);
        sum = sum * 31 + parser.parse() + parser.deepest;
    }
    return bench_report(sum);
}
