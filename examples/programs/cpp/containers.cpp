// Containers, algorithms, regular expressions and streams of the standard library.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

int main() {
    std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    std::map<std::string, int> words;
    std::regex word("[A-Za-z]{4,}");
    for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it) ++words[it->str()];
    std::multimap<int, std::string, std::greater<>> frequent;
    for (auto& [name, count] : words) frequent.emplace(count, name);
    int shown = 0;
    for (auto& [count, name] : frequent) {
        if (shown++ == 5) break;
        std::cout << std::setw(12) << std::left << name << std::right << std::setw(4) << count << '\n';
    }
    std::mt19937_64 random(7);
    std::vector<double> values(20000);
    std::generate(values.begin(), values.end(), [&] { return std::normal_distribution<>(10, 3)(random); });
    std::nth_element(values.begin(), values.begin() + 10000, values.end());
    std::stable_sort(values.begin(), values.begin() + 100);
    std::cout << std::setprecision(12) << values[0] << ' ' << values[10000] << ' ' << std::scientific << values[99] << '\n';
    std::unordered_map<std::string, std::shared_ptr<std::set<int>>> index;
    for (int i = 0; i < 1000; ++i) {
        auto& set = index[std::to_string(i % 37)];
        if (!set) set = std::make_shared<std::set<int>>();
        set->insert(i);
    }
    std::istringstream in("12 0x1f 3.5e2 word");
    int number;
    double real;
    in >> number >> std::hex >> number >> real;
    std::cout << index.size() << ' ' << index["5"]->size() << ' ' << number << ' ' << std::fixed << real << '\n';
}
