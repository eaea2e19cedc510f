// A tour of C++17's library: `cxx DIRECTORY`. Exceptions through several frames, streams, containers,
// locales, and std::filesystem on the directory.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <locale>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace fs = std::filesystem;

namespace {

void heading(std::string_view title) { std::cout << "\n== " << title << " ==\n"; }

// ---- Exceptions ----

// Tells when it leaves scope, so that the output shows the unwinding.
class Guard {
public:
    explicit Guard(std::string name) : name_(std::move(name)) {}
    Guard(const Guard &) = delete;
    ~Guard() { std::cout << "  leaving " << name_ << '\n'; }

private:
    std::string name_;
};

class LimitExceeded : public std::runtime_error {
public:
    explicit LimitExceeded(int depth)
        : std::runtime_error("limit exceeded at depth " + std::to_string(depth)), depth(depth) {}
    int depth;
};

[[gnu::noinline]] int descend(int depth, int limit) {
    if (depth == limit) throw LimitExceeded(depth);
    Guard guard("frame " + std::to_string(depth));
    return descend(depth + 1, limit) + 1;
}

void rethrow_nested() {
    try {
        try {
            std::vector<int>{1, 2, 3}.at(7);
        } catch (const std::out_of_range &) {
            std::throw_with_nested(std::invalid_argument("index from the caller"));
        }
    } catch (const std::exception &outer) {
        std::cout << "  caught " << outer.what();
        try {
            std::rethrow_if_nested(outer);
        } catch (const std::out_of_range &) {
            std::cout << ", caused by an index out of range";
        }
        std::cout << '\n';
    }
}

void exceptions() {
    heading("exceptions");
    try {
        descend(0, 5);
    } catch (const LimitExceeded &error) {
        std::cout << "  caught " << error.what() << " (depth " << error.depth << ")\n";
    }
    rethrow_nested();
    try {
        throw 42;
    } catch (const std::exception &) {
        std::cout << "  wrong handler\n";
    } catch (int value) {
        std::cout << "  caught the int " << value << '\n';
    }
    std::exception_ptr kept;
    try {
        (void)std::stoi("not a number");
    } catch (...) {
        kept = std::current_exception();
    }
    try {
        std::rethrow_exception(kept);
    } catch (const std::invalid_argument &error) {
        std::cout << "  kept and thrown again: " << error.what() << '\n';
    }
    try {
        (void)std::get<int>(std::variant<int, std::string>("text"));
    } catch (const std::bad_variant_access &error) {
        std::cout << "  " << error.what() << '\n';
    }
    int caught = 0;
    for (int i = 0; i < 20000; i++) {
        try {
            if (i % 2 == 0) throw std::runtime_error("even");
            throw static_cast<long>(i);
        } catch (const std::runtime_error &) {
            caught += 1;
        } catch (long) {
            caught += 2;
        }
    }
    std::cout << "  20000 thrown and caught, weight " << caught << '\n';
}

// ---- Containers and algorithms ----

void containers() {
    heading("containers");
    std::istringstream text("the quick brown fox jumps over the lazy dog while the other fox sleeps and the dog dreams");
    std::map<std::string, int> counts;
    for (std::string word; text >> word;) counts[word]++;
    std::vector<std::pair<std::string, int>> ranked(counts.begin(), counts.end());
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
    for (const auto &[word, count] : ranked)
        if (count > 1) std::cout << "  " << std::left << std::setw(6) << word << std::right << count << '\n';

    std::mt19937_64 random(2024);
    std::vector<std::uint64_t> numbers(200000);
    std::generate(numbers.begin(), numbers.end(), std::ref(random));
    std::sort(numbers.begin(), numbers.end());
    std::cout << "  sorted " << numbers.size() << " numbers: first " << numbers.front() << ", median "
              << numbers[numbers.size() / 2] << ", last " << numbers.back() << '\n';

    std::unordered_map<std::uint64_t, std::string> by_remainder;
    for (auto n : numbers) by_remainder[n % 1009] += static_cast<char>('a' + n % 26);
    std::size_t longest = 0;
    for (const auto &[_, letters] : by_remainder) longest = std::max(longest, letters.size());
    std::cout << "  " << by_remainder.size() << " buckets, the longest of " << longest << " letters\n";

    auto shared = std::make_shared<std::vector<int>>(10);
    std::iota(shared->begin(), shared->end(), 1);
    std::weak_ptr<std::vector<int>> weak = shared;
    std::cout << "  product " << std::accumulate(shared->begin(), shared->end(), 1LL, std::multiplies<>());
    shared.reset();
    std::cout << ", shared vector " << (weak.expired() ? "freed" : "alive") << '\n';
}

// ---- Streams and numbers ----

void numbers() {
    heading("numbers");
    for (double x : {1.0 / 3.0, 6.02214076e23, -0.0, 1e-310, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        std::cout << "  " << x << " | " << std::scientific << std::setprecision(10) << x << " | " << std::hexfloat << x
                  << std::defaultfloat << std::setprecision(6) << '\n';
    std::cout << "  " << std::fixed << std::setprecision(2) << 2.675 << ' ' << 1e15 / 7 << ' ' << std::showpos << 0.125
              << std::noshowpos << std::defaultfloat << std::setprecision(6) << '\n';
    std::cout << "  " << std::hex << std::showbase << 255 << ' ' << std::oct << 255 << std::dec << std::noshowbase << ' '
              << std::boolalpha << true << ' ' << std::setfill('*') << std::setw(8) << 42 << std::setfill(' ') << '\n';
    std::cout << "  " << std::setprecision(17) << std::sin(1.0) << ' ' << std::exp(1.5) << ' ' << std::pow(2.0, 0.1) << ' '
              << std::setprecision(9) << std::cbrt(2.0f) << ' ' << std::fma(0.1, 10.0, -1.0) << std::setprecision(6) << '\n';
    std::cout << "  nearest to 2.5: " << std::nearbyint(2.5) << ", rounded " << std::round(2.5) << ", as int "
              << static_cast<int>(-7.9) << ", remainder " << std::remainder(10.0, 4.0) << '\n';
    double parsed = 0;
    std::istringstream("  -12.5e-3rest") >> parsed;
    std::cout << "  parsed " << parsed << ", stod " << std::stod("0x1.8p3") << '\n';
    long double wide = 1.0L / 3.0L;
    std::cout << "  long double has at least " << (std::numeric_limits<long double>::digits >= 64 ? 64 : 53)
              << " bits: " << std::setprecision(18) << wide << std::setprecision(6) << '\n';
}

// ---- Locales ----

struct Swiss : std::numpunct<char> {
    char do_thousands_sep() const override { return '\''; }
    std::string do_grouping() const override { return "\3"; }
    char do_decimal_point() const override { return ','; }
    std::string do_truename() const override { return "ja"; }
};

void locales() {
    heading("locales");
    std::ostringstream out;
    out.imbue(std::locale(std::locale::classic(), new Swiss));
    out << std::fixed << std::setprecision(3) << 1234567.891 << ' ' << 9876543210LL << ' ' << std::boolalpha << true;
    std::cout << "  " << out.str() << '\n';

    std::tm moment{};
    moment.tm_year = 124, moment.tm_mon = 1, moment.tm_mday = 29, moment.tm_wday = 4, moment.tm_yday = 59, moment.tm_hour = 13;
    std::cout << "  " << std::put_time(&moment, "%A %d %B %Y, %H:%M, %j") << '\n';

    const auto &facet = std::use_facet<std::ctype<char>>(std::locale::classic());
    std::string shout = "upper case by a facet";
    facet.toupper(shout.data(), shout.data() + shout.size());
    std::cout << "  " << shout << '\n';
    for (const char *name : {"C", "C.UTF-8", "xx_NOWHERE.UTF-8"}) {
        std::cout << "  locale " << name << ": ";
        try {
            std::cout << std::locale(name).name() << '\n';
        } catch (const std::runtime_error &) {
            std::cout << "refused\n";
        }
    }
}

// ---- Files ----

void list(const fs::path &root) {
    std::vector<fs::path> found;
    for (const auto &entry : fs::recursive_directory_iterator(root)) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    for (const auto &path : found) {
        auto status = fs::symlink_status(path);
        std::cout << "  " << std::left << std::setw(24) << path.lexically_relative(root).generic_string() << std::right;
        if (fs::is_directory(status))
            std::cout << "directory";
        else if (fs::is_symlink(status))
            std::cout << "-> " << fs::read_symlink(path).generic_string();
        else
            std::cout << fs::file_size(path) << " bytes";
        std::cout << '\n';
    }
}

void files(const fs::path &given) {
    heading("files");
    fs::path root = given / "tree";
    fs::remove_all(root);
    fs::create_directories(root / "a" / "b" / "c");
    for (int i = 0; i < 3; i++) {
        std::ofstream out(root / "a" / ("file" + std::to_string(i) + ".txt"));
        for (int line = 0; line < 100 * (i + 1); line++) out << "line " << line << " of file " << i << '\n';
    }
    fs::copy_file(root / "a" / "file1.txt", root / "a" / "b" / "copy.txt");
    fs::rename(root / "a" / "file2.txt", root / "a" / "b" / "c" / "moved.txt");
    fs::create_symlink("file0.txt", root / "a" / "link.txt");
    fs::resize_file(root / "a" / "file0.txt", 1000);
    list(root);

    std::ifstream in(root / "a" / "link.txt");
    std::string line, last;
    int lines = 0;
    while (std::getline(in, line)) last = line, lines++;
    std::cout << "  through the link: " << lines << " lines, the last \"" << last << "\"\n";

    std::fstream both(root / "a" / "b" / "copy.txt", std::ios::in | std::ios::out);
    both.seekp(5);
    both << "SEEK";
    both.seekg(0);
    std::getline(both, line);
    both.seekg(0, std::ios::end);
    std::cout << "  after a seek: \"" << line << "\", " << both.tellg() << " bytes\n";

    std::error_code error;
    fs::create_directory(root / "no" / "parent", error);
    std::cout << "  no parent: " << error.message() << '\n';
    fs::remove(root / "a", error);
    std::cout << "  not empty: " << error.message() << '\n';
    try {
        (void)fs::file_size(root / "absent");
    } catch (const fs::filesystem_error &thrown) {
        std::cout << "  absent: " << thrown.code().message() << " (" << thrown.path1().filename().string() << ")\n";
    }
    auto age = fs::file_time_type::clock::now() - fs::last_write_time(root / "a" / "file0.txt");
    std::cout << "  written within the last minute: " << std::boolalpha << (age < std::chrono::minutes(1)) << '\n';
    std::cout << "  equivalent: " << fs::equivalent(root / "a" / "link.txt", root / "a" / "file0.txt") << '\n';
    std::cout << "  removed " << fs::remove_all(root / "a" / "b") << " entries\n";
    list(root);
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: cxx DIRECTORY\n";
        return 2;
    }
    try {
        exceptions();
        containers();
        numbers();
        locales();
        files(argv[1]);
    } catch (const std::exception &error) {
        std::cerr << "cxx: " << error.what() << '\n';
        return 1;
    }
}
