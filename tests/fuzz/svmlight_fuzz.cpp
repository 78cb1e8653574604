// Reads any bytes with the native svmlight reader and writer. The reader must neither crash nor disagree with itself.
// `make fuzz` builds it with a main that alters a few texts at random; libFuzzer brings a main of its own:
//
//   clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -I native tests/fuzz/svmlight_fuzz.cpp
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "svmlight.hpp"
#include "svmlight_text.hpp"

namespace {

void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

// What is read once, written and read again must be the same bits.
template <class Value>
void check_round_trip(rankwise::SvmlightReader<Value>& first) {
    std::vector<std::int64_t> indices(first.indices.data(), first.indices.data() + first.indices.size());
    const std::string text = rankwise::svmlight_text<Value>(
        {first.n_rows(), first.row_begin.data(), indices.data(), first.values.data(), first.labels.data(), {}, {}, 1});
    if (text.empty()) return;
    rankwise::SvmlightReader<Value> second({1, INT32_MAX, false}, 1);
    require(!second.read(text.data(), text.size(), 0), "what was written is malformed");
    require(second.values.size() == first.values.size(), "entries were lost");
    if (first.values.size() > 0)
        require(std::memcmp(first.values.data(), second.values.data(), first.values.size() * sizeof(Value)) == 0,
                "a value has changed");
}

template <class Value>
void check(const std::uint8_t* data, std::size_t size) {
    // A block of its own, so that a step past its end is seen.
    std::vector<char> text(data, data + size);
    text.push_back('\n');
    text.shrink_to_fit();
    rankwise::SvmlightReader<Value> reader({1, INT32_MAX, true}, 1);
    if (const auto problem = reader.read(text.data(), text.size(), 1000))
        require(problem->at >= text.data() && problem->at < text.data() + text.size(), "a problem lies outside");
    else
        check_round_trip(reader);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    check<double>(data, size);
    check<float>(data, size);
    return 0;
}

#ifdef PLAIN_MAIN
int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
    const char* seeds[] = {"2 qid:10 1:0.5 3:-1.25e-3 25:7 #docid = 1\n0\tqid:10\t2:+4.  \t3:.5\r\n",
                           "# header\n\n+1 1:1 2147483647:5e-324\n-1e5 3:123456789.123456789\n",
                           "1 qid:word 1:9007199254740993\n1 qid:7 2:1e-400 # x\n1 qid:8 1:1e-45 2:3.4e38"};
    const char* words[] = {"qid:", ":", " ", "\n", "\r\n", "#", "e", "-", ".", "0", "99999999", "nan", "1:1"};
    std::mt19937_64 random(1);
    const auto start = std::chrono::steady_clock::now();
    long runs = 0;
    for (; std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds; ++runs) {
        std::string text = seeds[random() % std::size(seeds)];
        for (unsigned long change = random() % 6; change > 0; --change) {
            const std::size_t place = random() % (text.size() + 1);
            switch (random() % 4) {
                case 0:
                    text.insert(place, words[random() % std::size(words)]);
                    break;
                case 1:
                    text.erase(place, random() % 4);
                    break;
                case 2:
                    text.insert(place, 1, static_cast<char>(random()));
                    break;
                default:
                    text += text.substr(0, place);
            }
        }
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
    }
    std::printf("%ld texts, no problem found\n", runs);
}
#endif
