// Streams, containers and exceptions of C++'s library: `containers ROUNDS`. A line on standard error is a
// hundredth of the work, as of the programs beside this one.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

static int thrice(int n) {
    if (n % 7 == 0) throw std::runtime_error("seven " + std::to_string(n));
    return n * 3;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? std::atoi(argv[1]) : 10;
    std::map<std::string, int> names;
    std::unordered_map<int, std::vector<int>> buckets;
    long sum = 0, thrown = 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 1000; i++) {
            std::ostringstream text;
            text << "key" << i * 37 % 101 << ' ' << i * 0.5;
            names[text.str()] += i;
            buckets[i % 53].push_back(i ^ round);
        }
        for (auto &[key, bucket] : buckets) {
            std::sort(bucket.begin(), bucket.end());
            sum += bucket[bucket.size() / 2];
            if (bucket.size() > 500) bucket.clear();
        }
        for (int i = 0; i < 200; i++) {
            try {
                sum += thrice(i + round);
            } catch (const std::exception &error) {
                thrown += std::string(error.what()).size();
            }
        }
        if (round % (rounds / 100 + 1) == 0) std::cerr << '.' << std::endl;
    }
    std::cout << "sum " << sum << ", thrown " << thrown << ", names " << names.size() << std::endl;
}
