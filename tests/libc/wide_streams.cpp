// Wide streams, whose calls make a block irrevocable, and swprintf, which can be undone like a store.
#include <cwchar>
#include <string>

#include "libc/blocks.hpp"
#include "libc/files.hpp"

namespace {

/// Compares the call in a block with the call outside.
#define SAME_TEXT(size, ...)                                                                      \
    do {                                                                                          \
        for (const ending e : every_ending) {                                                     \
            wchar_t expected[64];                                                                 \
            wchar_t made[64];                                                                     \
            std::wmemset(expected, L'#', 64);                                                     \
            std::wmemset(made, L'#', 64);                                                         \
            const int right = std::swprintf(expected, size, __VA_ARGS__);                         \
            int result = -2;                                                                      \
            run(e, [&] { result = CALL(swprintf, made, size, __VA_ARGS__); });                    \
            if (e == ending::cancel) EXPECT(made[0] == L'#');                                     \
            else EXPECT(result == right && (right < 0 || std::wmemcmp(made, expected, 64) == 0)); \
        }                                                                                         \
    } while (false)

void formats() {
    const char unterminated[] = {'a', 'b', 'c'};
    const wchar_t* const wide = L"wide \u20ac";
    SAME_TEXT(64, L"nothing");
    SAME_TEXT(64, L"%d %5u|%-6lx|%+lld", 42, 7U, 0xbeefUL, -5LL);
    SAME_TEXT(64, L"%s and %ls", "bytes", wide);
    SAME_TEXT(64, L"%.2s|%.*s|%.3ls|%5.1S", "bytes", 3, unterminated, wide, wide);
    SAME_TEXT(64, L"%2$s %1$d %2$.1s", 9, "twice");
    SAME_TEXT(64, L"%*d|%-*d|%.*d", 5, 1, 5, 2, 4, 3);
    SAME_TEXT(64, L"%f %.3e %La %Lf", 1.5, 2.25, 3.5L, 4.75L);
    SAME_TEXT(64, L"%c%lc%% %p", 'x', static_cast<wint_t>(0x20ac), static_cast<const void*>(unterminated));
    SAME_TEXT(5, L"%s", "does not fit");
    SAME_TEXT(0, L"%d", 1);
    for (const ending e : every_ending) {
        static wchar_t text[4000];
        text[0] = L'#';
        int counted = -1;
        short short_counted = -1;
        int result = -2;
        run(e, [&] { result = CALL(swprintf, text, 4000, L"%3000d%n%s%hn", 1, &counted, "x", &short_counted); });
        if (e == ending::cancel) EXPECT(text[0] == L'#' && counted == -1 && short_counted == -1);
        else EXPECT(result == 3001 && counted == 3000 && short_counted == 3001 && text[2999] == L'1');
    }
}

void streams() {
    const folder here;
    FILE* f = std::fopen("file", "w");
    int results[4]{};
    run(ending::commit, [&] {
        results[0] = CALL(fwide, f, 0);
        CALL(fputwc, L'a', f);
        CALL(putwc, L'b', f);
        CALL(fputws, L"c\n", f);
        results[1] = CALL(fwprintf, f, L"%d %s\n", 5, "five");
        results[2] = CALL(fwide, f, 0);
    });
    EXPECT(results[0] == 0 && results[1] == 7 && results[2] > 0 && std::fclose(f) == 0);
    EXPECT(contents("file") == "abc\n5 five\n");
    f = std::fopen("file", "r");
    wint_t read[3]{};
    wchar_t line[16]{};
    run(ending::commit, [&] {
        read[0] = CALL(fgetwc, f);
        CALL(ungetwc, L'A', f);
        read[1] = CALL(getwc, f);
        CALL(fgetws, line, 16, f);
        read[2] = CALL(fgetwc, f);
    });
    EXPECT(read[0] == L'a' && read[1] == L'A' && std::wstring(line) == L"bc\n" && read[2] == L'5');
    EXPECT(std::fclose(f) == 0);
    // A query changes nothing, so it can be undone.
    f = std::fopen("file", "r");
    for (const ending e : every_ending) run(e, [&] { results[3] = CALL(fwide, f, 0); });
    EXPECT(std::fclose(f) == 0);
}

}  // namespace

int main() {
    formats();
    streams();
}
