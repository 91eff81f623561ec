// printf's formats in transactions, compared with glibc, over generated formats and arguments. Covers flags, widths and
// precisions, also from arguments, every length and letter, numbered arguments, %n, unknown conversions, and formats
// that end within a conversion. Catches a conversion that is parsed differently than in glibc, and one that bypasses
// the barriers.
//
// The argument list is built by hand, as the x86-64 ABI lays it out after the registers. Its types are therefore free.
// A format that requests too many arguments finds zeros, in plain code as in a transaction.
#include <rapidcheck.h>

#include <clocale>
#include <cstdarg>
#include <cstring>
#include <string>
#include <vector>

#include "differential.hpp"

namespace {

using namespace differential;

constexpr std::size_t texts = 512, wide_texts = 640, counts = 960;  // offsets in the arena; the output comes first
constexpr const char* some_texts[] = {"", "a", "text", "\xc3\xa4\xe2\x82\xac", "%d %s", "twelve chars"};
constexpr const wchar_t* some_wide[] = {L"", L"w", L"wide", L"\u00e4\u20ac"};

enum class kind : std::uint8_t { whole, real, long_real, text, wide, count, nothing };
struct argument {
    kind what;
    std::uint64_t bits;
};

// The target of a va_list; see the ABI's section on variable argument lists.
struct list_tag {
    unsigned general_offset, float_offset;
    void* overflow;
    void* saved;
};
static_assert(sizeof(list_tag) == sizeof(va_list));

/// Arguments in their memory layout.
class made_list {
public:
    explicit made_list(std::vector<argument> a) : arguments_{std::move(a)} {}

    /// Returns the list. Addresses point into `a`. The list is valid until the next call.
    [[gnu::transaction_pure, gnu::noinline]] auto of(arena& a)
        -> std::remove_reference_t<decltype(*std::declval<va_list&>())>* {
        std::memset(slots_, 0, sizeof slots_);
        std::size_t at = 0;
        for (const argument& g : arguments_) {
            if (g.what == kind::long_real) {
                at += at % 2;
                const long double value = static_cast<long double>(static_cast<std::int64_t>(g.bits)) / 1000;
                std::memcpy(&slots_[at], &value, 10);
                at += 2;
                continue;
            }
            std::uint64_t slot = g.bits;
            if (g.what == kind::real) {
                const double value = static_cast<double>(static_cast<std::int64_t>(g.bits)) / 1000;
                std::memcpy(&slot, &value, sizeof slot);
            }
            if (g.what == kind::text)
                slot = g.bits % 7 == 6 ? 0 : reinterpret_cast<std::uint64_t>(&a.bytes[texts + 16 * (g.bits % 7)]);
            if (g.what == kind::wide)
                slot = g.bits % 5 == 4 ? 0 : reinterpret_cast<std::uint64_t>(&a.bytes[wide_texts + 32 * (g.bits % 5)]);
            if (g.what == kind::count) slot = reinterpret_cast<std::uint64_t>(&a.bytes[counts]);
            slots_[at++] = slot;
        }
        tag_ = {48, 176, slots_, nullptr};
        return reinterpret_cast<std::remove_reference_t<decltype(*std::declval<va_list&>())>*>(&tag_);
    }

private:
    std::vector<argument> arguments_;
    alignas(16) std::uint64_t slots_[256];
    list_tag tag_{};
};

/// The order of arguments. glibc reads all numbered arguments before it prints the first one. It does the same if a
/// conversion is strange, that is, unknown and without an argument. Some conversions then behave differently
/// (docs/libc.md).
enum class order : std::uint8_t { plain, strange, numbered };

struct made {
    std::string format;
    std::vector<argument> arguments;
};

std::string one_of(std::initializer_list<const char*> all) {
    return *rc::gen::elementOf(std::vector<std::string>(all.begin(), all.end()));
}
std::uint64_t any_number() {
    return *rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(), rc::gen::map(rc::gen::inRange(-20, 20), [](int i) {
                               return static_cast<std::uint64_t>(i);
                           }));
}

/// Returns a width or a precision: a number, or an argument. glibc drops the flag 0 for a negative numbered one.
std::string amount(made& m, order o) {
    if (*rc::gen::inRange(0, 4) != 0) return std::to_string(*rc::gen::inRange(0, 60));
    m.arguments.push_back({kind::whole, static_cast<std::uint64_t>(static_cast<std::uint32_t>(
                                            *rc::gen::inRange(o != order::plain ? 0 : -40, 40)))});
    return o == order::numbered ? "*" + std::to_string(m.arguments.size()) + "$" : "*";
}

void add_conversion(made& m, order o) {
    static const std::string whole = "diouxXbBc", real = "eEfFgGaA";
    const int which = *rc::gen::inRange(0, 20);
    std::string spec;
    for (int i = *rc::gen::inRange(0, 3); i > 0; --i) spec += one_of({"-", "+", " ", "#", "0", "'"});
    constexpr int stores_count = 17;
    if (which != stores_count && *rc::gen::inRange(0, 3) == 0) spec += amount(m, o);
    if (which != stores_count && *rc::gen::inRange(0, 3) == 0)
        spec += "." + (*rc::gen::inRange(0, 4) == 0 ? std::string{} : amount(m, o));
    kind what = kind::whole;
    if (which < 9) {
        const char letter = whole[static_cast<std::size_t>(*rc::gen::inRange(0, 9))];
        // glibc reads a numbered argument of %Ld or %qd as an int, but prints a long long.
        if (letter != 'c' && o != order::plain) spec += one_of({"", "hh", "h", "l", "ll", "j", "z", "Z", "t"});
        else if (letter != 'c') spec += one_of({"", "hh", "h", "l", "ll", "q", "j", "z", "Z", "t", "L"});
        spec += letter;
    } else if (which < 13) {
        what = kind::real;
        if (*rc::gen::inRange(0, 3) == 0) {
            what = kind::long_real;
            spec += "L";
        }
        spec += real[static_cast<std::size_t>(*rc::gen::inRange(0, 8))];
    } else if (which < 16) {
        what = kind::text;
        spec += "s";
    } else if (which == 16) {
        what = kind::wide;
        spec += one_of({"ls", "S"});
    } else if (which == stores_count) {
        what = kind::count;
        spec = one_of({"n", "hn", "hhn", "ln", "lln", "zn", "jn", "tn"});
    } else if (which == 18) {
        spec += one_of({"p", "lc", "C"});
    } else {
        what = kind::nothing;
        spec += o == order::strange ? one_of({"%", "m", "y", "lk"}) : one_of({"%", "m"});
    }
    std::string number;
    if (what != kind::nothing) {
        m.arguments.push_back({what, any_number()});
        if (o == order::numbered) number = std::to_string(m.arguments.size()) + "$";
    }
    m.format += "%" + number + spec;
}

made any_format() {
    made m;
    const order o = *rc::gen::element(order::plain, order::plain, order::strange, order::numbered);
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
        m.format += one_of({"", "x", "between ", "\xc3\xa4"});
        add_conversion(m, o);
    }
    // Adds too few arguments, invalid combinations, or an incomplete end.
    if (o != order::plain) return m;
    if (*rc::gen::inRange(0, 6) == 0) m.format += one_of({"%d", "%s", "%ld %x", "%f%s"});
    else if (*rc::gen::inRange(0, 6) == 0)
        m.format += one_of({"%y", "%k!", "%", "%-", "%l", "%5", "%.", "%99999999999d"});
    return m;
}

void any_format_is_glibcs() {
    made m = any_format();
    if (m.format.size() >= 256) m.format.resize(255);
    arena before{};
    std::memset(before.bytes, '#', 256);
    std::memcpy(before.bytes + 256, m.format.c_str(), m.format.size() + 1);
    for (std::size_t i = 0; i != std::size(some_texts); ++i) std::strcpy(before.bytes + texts + 16 * i, some_texts[i]);
    for (std::size_t i = 0; i != std::size(some_wide); ++i)
        std::wcscpy(reinterpret_cast<wchar_t*>(before.bytes + wide_texts + 32 * i), some_wide[i]);
    made_list list{m.arguments};
    const auto size = static_cast<std::size_t>(*rc::gen::element(0, 1, 7, 40, 250));
    std::string call = "vsnprintf of \"" + m.format + "\" into " + std::to_string(size);
    for (const argument& g : m.arguments)
        call += ", " + std::to_string(static_cast<int>(g.what)) + ':' + std::to_string(g.bits);
    check(
        call.c_str(), before, as_is{}, [&](arena& a) { return ::vsnprintf(a.bytes, size, a.bytes + 256, list.of(a)); },
        [&](tutti::tx& t, arena& a) { return tutti::libc::vsnprintf(t, a.bytes, size, a.bytes + 256, list.of(a)); });
}

}  // namespace

int main() {
    bool good = true;
    for (const char* locale : {"C", "C.UTF-8"}) {
        if (std::setlocale(LC_ALL, locale) == nullptr) {
            std::fprintf(stderr, "formats: there is no locale %s\n", locale);
            return 1;
        }
        good = rc::check(std::string{"generated formats do as in plain code, in locale "} + locale,
                         any_format_is_glibcs) &&
               good;
    }
    return good ? 0 : 1;
}
