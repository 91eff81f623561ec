// Runs programs that combine features, shrinks those that fail, and replays them.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <tutti/algorithm.hpp>

#include "generator.hpp"
#include "shrink.hpp"
#include "support/effort.hpp"
#include "trial.hpp"

namespace {

using namespace crossings;

struct arguments {
    engine of{"wb-etl", "patient"};
    double seconds = 1;                          ///< processor time for each of the two kinds of programs
    std::uint64_t programs = ~std::uint64_t{0};  ///< maximum number of seeds of each kind
    double seconds_to_hang = 10;
    int faults = 1;   ///< number of different faults after which the search ends
    int tries = 300;  ///< limit of the shrinker
    std::uint64_t from = 0, from_many = 0;
    double minutes = 0;  ///< repeats everything with further seeds for this time
    bool one_thread = true, many_threads = true;
    std::set<std::string> wanted{}, unwanted{};  ///< ingredients
};

std::set<std::string> words_of(std::string text) {
    std::replace(text.begin(), text.end(), ',', ' ');
    std::stringstream words{text};
    std::set<std::string> out;
    for (std::string word; words >> word;) out.insert(word);
    return out;
}

/// Everything takes longer in a build with more checks.
double slowdown_factor() { return tutti::support::slowdown > 1 ? 3 : 1; }

[[noreturn]] void usage() {
    std::fputs(
        "usage: tutti-crossings [--algorithm <name>] [--policy <name>] [--seconds <n>] [--faults <n>] [--from <seed>]\n"
        "                       [--programs <n>|pairs]\n"
        "                       [--hang <seconds>] [--tries <n>] [--threads one|many]\n"
        "                       [--minutes <n>] [--from-many <seed>]\n"
        "                       [--with <step>,:<option>...] [--without <step>,:<option>...]\n"
        "  an algorithm or policy may be 'all': all that this machine runs, and five that differ\n"
        "  --programs pairs ends when every pair of features has had its program\n"
        "  TUTTI_CROSSINGS_SEED=<seed>      runs the programs of that seed alone\n"
        "  TUTTI_CROSSINGS_PROGRAM=<text>   runs that program, or the one in the file @<path>\n"
        "  TUTTI_CROSSINGS_TIMES=<n>        so many times (default: 100)\n"
        "  TUTTI_CROSSINGS_AT_HANG=<command>  runs that command of the shell, with PID, where a program hangs\n",
        stderr);
    std::exit(2);
}

arguments read(int count, char** words) {
    arguments out;
    if (const char* a = std::getenv("TUTTI_ALGORITHM")) out.of.algorithm = a;
    if (const char* p = std::getenv("TUTTI_POLICY")) out.of.policy = p;
    for (int i = 1; i < count; i += 2) {
        if (i + 1 >= count) usage();
        const std::string name = words[i], value = words[i + 1];
        if (name == "--algorithm") out.of.algorithm = value;
        else if (name == "--policy") out.of.policy = value;
        else if (name == "--seconds") out.seconds = std::stod(value);
        else if (name == "--programs") out.programs = value == "pairs" ? seeds_of_all_pairs() : std::stoull(value);
        else if (name == "--faults") out.faults = std::stoi(value);
        else if (name == "--tries") out.tries = std::stoi(value);
        else if (name == "--hang") out.seconds_to_hang = std::stod(value);
        else if (name == "--from") out.from = out.from_many = std::stoull(value);
        else if (name == "--from-many") out.from_many = std::stoull(value);
        else if (name == "--minutes") out.minutes = std::stod(value);
        else if (name == "--with") out.wanted = words_of(value);
        else if (name == "--without") out.unwanted = words_of(value);
        else if (name == "--threads") (value == "one" ? out.many_threads : out.one_thread) = false;
        else usage();
    }
    return out;
}

void print_failure(const failure_of_child& f, const engine& e) {
    std::printf("%s\n  TUTTI_ALGORITHM=%s TUTTI_POLICY=%s\n  %s\n", f.kind.c_str(), e.algorithm.c_str(),
                e.policy.c_str(), f.what.c_str());
}

int replay(const program& p, const arguments& how, int times) {
    std::fputs(print(p).c_str(), stdout);
    const auto failed = try_program(p, how.of, how.seconds_to_hang * slowdown_factor(), times);
    if (failed) print_failure(*failed, how.of);
    else std::puts("it is right");
    return failed ? 1 : 0;
}

/// Returns a smaller program that fails in the same way.
program smallest(const program& p, const failure_of_child& f, const arguments& how, bool many_threads) {
    const auto begun = std::chrono::steady_clock::now();
    return shrink(
        p,
        [&](const program& candidate) {
            // Each try of a hang takes its whole time limit.
            if (std::chrono::steady_clock::now() - begun > std::chrono::seconds{20}) return false;
            const bool is_sure = !many_threads && !ingredients(candidate).contains(":timed");
            const auto again =
                try_program(candidate, how.of, f.kind == "hang" ? 1.5 * slowdown_factor() : 4 * slowdown_factor(),
                            is_sure ? 12 : 60);
            return again && again->kind == f.kind;
        },
        how.tries);
}

/// Searches programs of one kind for faults. Returns the number of faults found.
int look(const arguments& how, bool many_threads) {
    stretch s{.first = many_threads ? how.from_many : how.from, .last = 0, .many_threads = many_threads};
    s.last = s.first + std::min(how.programs, ~std::uint64_t{0} - s.first);
    s.wanted = how.wanted;
    for (const std::string& u : how.unwanted) s.known.push_back({u});
    double left = how.seconds * tutti::support::effort();
    std::uint64_t programs = 0;
    int faults = 0;
    const auto begun = std::chrono::steady_clock::now();
    const auto now = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(); };
    double shrinking = 0;
    while (left > 0) {
        std::uint64_t done = 0;
        const double before = now();
        const auto failed = try_seeds(s, how.of, how.seconds_to_hang * slowdown_factor(), left, done);
        programs += done;
        if (!failed) break;
        const double found = now();
        left -= std::max(0.0, found - before - (failed->kind == "hang" ? how.seconds_to_hang * slowdown_factor() : 0));
        ++faults;
        const program p = generate(failed->seed, many_threads);
        std::printf("-- fault %d, after %llu programs and %.2f s\nTUTTI_CROSSINGS_SEED=%llu, %s\n", faults,
                    static_cast<unsigned long long>(programs), found - shrinking,
                    static_cast<unsigned long long>(failed->seed), many_threads ? "many threads" : "one thread");
        print_failure(*failed, how.of);
        const program small = smallest(p, *failed, how, many_threads);
        std::printf("the program, of %zu steps before:\n%s", size_of(p), print(small).c_str());
        std::fflush(stdout);
        shrinking += now() - found;
        if (faults >= how.faults) break;
        s.first = failed->seed + 1;
        s.known.push_back(ingredients(small));
    }
    std::printf("%s, %s, %s: %llu programs were right, %d faults\n", how.of.algorithm.c_str(), how.of.policy.c_str(),
                many_threads ? "many threads" : "one thread", static_cast<unsigned long long>(programs), faults);
    std::fflush(stdout);
    return faults;
}

program from_environment(const char* text) {
    if (*text != '@') return parse(text);
    std::ifstream file{text + 1};
    std::stringstream all;
    all << file.rdbuf();
    return parse(all.str());
}

std::vector<std::string> algorithms(const arguments& how) {
    if (how.of.algorithm != "all") return {how.of.algorithm};
    std::vector<std::string> all;
    for (const auto& a : tutti::available_algorithms()) all.emplace_back(a.name);
    return all;
}

/// Returns five different policies that bound the restarts of a block. If one transaction runs at a time, no policy is
/// ever consulted.
std::vector<std::string> policies(const arguments& how, const std::string& algorithm) {
    if (how.of.policy != "all") return {how.of.policy};
    if (algorithm == "serial" || algorithm == "global-lock") return {"patient"};
    return {"patient", "backoff", "karma", "timestamp", "serialize"};
}

}  // namespace

int main(int count, char** words) try {
    arguments how = read(count, words);
    const char* const given = std::getenv("TUTTI_CROSSINGS_TIMES");
    const int times = given != nullptr ? std::atoi(given) : 100;
    if (const char* text = std::getenv("TUTTI_CROSSINGS_PROGRAM")) return replay(from_environment(text), how, times);
    if (const char* seed = std::getenv("TUTTI_CROSSINGS_SEED")) {
        int failed = 0;
        for (const bool many : {false, true})
            if (many ? how.many_threads : how.one_thread)
                failed |= replay(generate(std::strtoull(seed, nullptr, 10), many), how, times);
        return failed;
    }
    int faults = 0;
    const auto begun = std::chrono::steady_clock::now();
    const auto goes_on = [&] {
        return std::chrono::steady_clock::now() - begun < std::chrono::duration<double, std::ratio<60>>(how.minutes);
    };
    do {
        for (const std::string& algorithm : algorithms(how)) {
            for (const std::string& policy : policies(how, algorithm)) {
                arguments one = how;
                one.of = {algorithm, policy};
                if (how.one_thread) faults += look(one, false);
                if (how.many_threads) faults += look(one, true);
            }
        }
        how.from += 100'000;
        how.from_many += 2'000;
    } while (goes_on());
    return faults != 0 ? 1 : 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "tutti-crossings: %s\n", e.what());
    return 2;
}
