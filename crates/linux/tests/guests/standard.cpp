// The C++ standard library: exceptions, streams, locales, std::filesystem; in the directory of the first argument.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <locale>
#include <map>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace fs = std::filesystem;

struct Guard {
    std::string name;
    ~Guard() { std::cout << "unwound " << name << '\n'; }
};

static int thrower(int n) {
    Guard guard{"level " + std::to_string(n)};
    if (n == 0) throw std::out_of_range("the bottom");
    return thrower(n - 1) + 1;
}

// Has nothing to unwind, and is small: compiled code has copies of it in itself.
[[gnu::noipa]] static void at_the_bottom(long n) {
    if (n == 0) throw 6L;
}
[[gnu::noipa]] static long diver(long n) {
    at_the_bottom(n);
    return n == 0 ? 0 : (diver(n - 1) ^ n) * 3;
}

int main(int argc, char **argv) try {
    if (argc != 2) return 2;
    fs::current_path(argv[1]);
    try {
        thrower(3);
    } catch (const std::exception &error) {
        std::cout << error.what() << std::endl;
    }
    for (long depth = 0; depth < 5; depth++) try {
        diver(depth);
    } catch (long value) {
        std::cout << "dived " << depth + value << '\n';
    }
    try {
        std::vector<int>().at(3);
    } catch (const std::out_of_range &) {
        std::cout << "at throws\n";
    }
    try {
        std::locale locale("xx_XX.UTF-8");
    } catch (const std::runtime_error &) {
        std::cout << "no such locale\n";
    }
    std::cout << std::setprecision(17) << 0.1 << ' ' << std::hex << 255 << std::dec << ' ' << std::setw(8) << 1.5 << '\n';

    fs::create_directories("a/b/c");
    for (int i = 0; i < 5; i++) std::ofstream("a/b/file" + std::to_string(i)) << std::string(i * 100, 'x') << i;
    fs::create_symlink("b/file3", "a/link");
    fs::create_directory_symlink("b", "a/dirlink");
    fs::copy("a", "copied", fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    fs::rename("copied/b/file1", "copied/renamed");
    fs::resize_file("copied/b/file2", 7);
    fs::permissions("copied/b/file2", fs::perms::owner_read | fs::perms::owner_write);
    std::map<std::string, std::string> tree;
    for (auto &entry : fs::recursive_directory_iterator(".")) {
        auto status = entry.symlink_status();
        std::ostringstream text;
        text << int(status.type()) << ' ' << std::oct << int(status.permissions()) << std::dec;
        if (entry.is_regular_file() && !entry.is_symlink()) text << ' ' << entry.file_size();
        tree[entry.path().string()] = text.str();
    }
    for (auto &[path, text] : tree) std::cout << path << ": " << text << '\n';
    std::cout << fs::read_symlink("a/link") << ' ' << fs::equivalent("a/link", "a/b/file3") << ' '
              << fs::weakly_canonical("a/dirlink/../b/file1").filename() << '\n';
    std::cout << fs::canonical("a/dirlink").filename() << ' ' << fs::exists("a/none") << ' ' << fs::is_empty("a/b/c") << '\n';
    std::error_code error;
    fs::remove("a/b", error);
    std::cout << error.message() << '\n';
    fs::file_size("nothing", error);
    std::cout << error.message() << '\n';
    std::cout << fs::remove_all("copied") << ' ' << fs::exists("copied") << '\n';
    auto written = fs::last_write_time("a/b/file1");
    fs::last_write_time("a/b/file1", written - std::chrono::hours(1));
    std::cout << (fs::last_write_time("a/b/file1") < written) << '\n';
    std::cout << (fs::space(".").capacity > 0) << '\n';

    std::ifstream in("a/b/file4");
    in.seekg(-1, std::ios::end);
    char last = 0;
    in >> last;
    std::cout << last << '\n';
    std::random_device device;
    std::cout << (device.entropy() >= 0) << std::regex_match("2024-05-06", std::regex("(\\d+)-(\\d+)-(\\d+)")) << '\n';
    std::string word;
    int count = 0;
    while (std::cin >> word) count++;
    std::cout << count << " words\n";
    throw 42;
} catch (int value) {
    std::cout << "caught " << value << '\n';
    return value;
}
