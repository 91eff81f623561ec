// scanf in transactions, compared with glibc: the same result, errno and memory, for generated formats and inputs.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "libc/blocks.hpp"
#include "libc/files.hpp"

namespace {

/// The memory in which a format of up to six conversions stores.
struct memory {
    alignas(16) char place[6][512];
    memory() { std::memset(place, '#', sizeof place); }
    bool operator==(const memory& other) const { return std::memcmp(place, other.place, sizeof place) == 0; }
};

std::mt19937 random_source{4711};
std::size_t below(std::size_t n) { return random_source() % n; }

std::string some_format() {
    static const char* const parts[] = {"%d",    "%5d", "%ld",  "%hhx", "%hi", "%u",  "%o",     "%lf",
                                        "%f",    "%Lf", "%s",   "%3s",  "%c",  "%4c", "%[a-z]", "%5[^,]",
                                        "%[]x]", "%n",  "%hhn", "%ln",  "%*d", "%*s", "%ls",    "%lc",
                                        "%p",    "%%",  " ",    ",",    "x",   "%a",  "%'d",    "%lld"};
    std::string all;
    for (std::size_t i = 1 + below(5); i-- != 0;) {
        all += parts[below(std::size(parts))];
        if (below(3) == 0) all += ' ';
    }
    return all;
}

std::string some_input() {
    static const char* const parts[] = {"12", "-7",       "0x1f", "abc",    "x",
                                        ",",  " ",        "\n",   "3.25e2", "99999999999999999999",
                                        "]x", "nan",      "%",    "1,234",  "zzzzzzzzzzzzzzzz",
                                        "0",  "\xc3\xa4", "-"};
    std::string all;
    for (std::size_t i = below(below(10) == 0 ? 60 : 8); i-- != 0;) {
        all += parts[below(std::size(parts))];
        if (below(2) == 0) all += ' ';
    }
    return all;
}

#define PLACES(m) m.place[0], m.place[1], m.place[2], m.place[3], m.place[4], m.place[5]

void strings() {
    for (int i = 0; i != 3000; ++i) {
        const std::string format = some_format();
        const std::string input = some_input();
        const char* const f = format.c_str();
        const char* const s = input.c_str();
        memory expected;
        errno = 0;
        const int wanted = std::sscanf(s, f, PLACES(expected));
        const int error = errno;
        const ending e = every_ending[below(4)];
        memory found;
        int result = -99;
        errno = 0;
        run(e, [&] { result = CALL(sscanf, s, f, PLACES(found)); });
        if (e == ending::cancel) {
            EXPECT(found == memory{});
            continue;
        }
        if (result != wanted || errno != error || !(found == expected)) {
            std::fprintf(stderr, "\"%s\" of \"%s\": %d instead of %d, errno %d instead of %d\n", f, s, result, wanted,
                         errno, error);
            std::exit(1);
        }
    }
}

/// Compares input from files. Afterwards both streams have the same position and state.
void files() {
    const folder here;
    for (int i = 0; i != 300; ++i) {
        std::string input;
        for (std::size_t k = below(6); k-- != 0;) input += some_input();
        if (below(4) == 0) input.insert(0, std::string(4090 + below(10), ' '));
        fill("file", input);
        FILE* const a = std::fopen("file", "r");
        FILE* const b = std::fopen("file", "r");
        const bool piped = below(5) == 0;
        for (int k = 0; k != 4; ++k) {
            const std::string format = some_format();
            const char* const f = format.c_str();
            memory expected;
            errno = 0;
            const int wanted = std::fscanf(a, f, PLACES(expected));
            const int error = errno;
            const ending e = piped ? ending::commit : every_ending[below(4)];
            memory found;
            int result = -99;
            if (e == ending::cancel) {
                run(e, [&] { CALL(fscanf, b, f, PLACES(found)); });
                EXPECT(found == memory{});
            }
            errno = 0;
            run(e == ending::cancel ? ending::commit : e, [&] { result = CALL(fscanf, b, f, PLACES(found)); });
            const bool same = result == wanted && errno == error && found == expected &&
                              std::ftell(a) == std::ftell(b) && std::feof(a) == std::feof(b) &&
                              std::ferror(a) == std::ferror(b);
            if (!same) {
                std::fprintf(
                    stderr,
                    "\"%s\" of \"%s\": %d instead of %d, errno %d instead of %d, at %ld instead of %ld, %d %d\n", f,
                    input.c_str(), result, wanted, errno, error, std::ftell(b), std::ftell(a), std::feof(b),
                    std::feof(a));
                std::exit(1);
            }
        }
        std::fclose(a);
        std::fclose(b);
    }
}

void pipes() {
    int ends[2];
    EXPECT(::pipe(ends) == 0);
    FILE* const in = ::fdopen(ends[0], "r");
    EXPECT(::write(ends[1], "12 hello 3x", 11) == 11);
    int n = 0;
    int result = 0;
    char word[20] = "";
    run(ending::commit, [&] { result = CALL(fscanf, in, "%d%19s", &n, word); });
    EXPECT(result == 2 && n == 12 && std::strcmp(word, "hello") == 0);
    run(ending::commit, [&] { result = CALL(fscanf, in, "%d", &n); });
    EXPECT(result == 1 && n == 3 && std::fgetc(in) == 'x');
    ::close(ends[1]);
    run(ending::commit, [&] { result = CALL(fscanf, in, "%d", &n); });
    EXPECT(result == EOF && std::feof(in) != 0);
    std::fclose(in);
}

// A variable, because Clang does not know %mls.
const char* allocating = "%ms %m[a-c],%mls %d%ms";

void allocated() {
    for (const ending e : every_ending) {
        char* word = nullptr;
        char* set = nullptr;
        wchar_t* wide = nullptr;
        int n = 0;
        char* last = nullptr;
        int result = -99;
        run(e, [&] { result = CALL(sscanf, "hello abc,wide 1", allocating, &word, &set, &wide, &n, &last); });
        if (e == ending::cancel) {
            EXPECT(word == nullptr && set == nullptr && wide == nullptr);
            continue;
        }
        EXPECT(result == 4 && std::strcmp(word, "hello") == 0 && std::strcmp(set, "abc") == 0 && wide[3] == L'e');
        std::free(word);
        std::free(set);
        std::free(wide);
    }
}

void positions() {
    int a = 0;
    int b = 0;
    char word[10] = "";
    int result = 0;
    run(ending::commit, [&] { result = CALL(sscanf, "1 two 3", "%3$d %1$9s %2$d", word, &b, &a); });
    EXPECT(result == 3 && a == 1 && b == 3 && std::strcmp(word, "two") == 0);
}

}  // namespace

int main() {
    strings();
    files();
    pipes();
    allocated();
    positions();
}
