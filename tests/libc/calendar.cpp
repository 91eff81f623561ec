// Calendar times in transactions, compared with glibc, over generated times, fields and formats.
#include <rapidcheck.h>

#include <clocale>
#include <cstddef>
#include <ctime>
#include <cwchar>
#include <string>

#include "differential.hpp"

namespace {

using namespace differential;

// Offsets in the arena.
constexpr std::size_t at_seconds = 0, at_fields = 16, at_format = 128, at_wide_format = 256, at_output = 512;

const locale_t locale = ::newlocale(LC_ALL_MASK, "C", nullptr);

time_t* seconds(arena& a) { return reinterpret_cast<time_t*>(&a.bytes[at_seconds]); }
tm* fields(arena& a) { return reinterpret_cast<tm*>(&a.bytes[at_fields]); }
char* format(arena& a) { return &a.bytes[at_format]; }
wchar_t* wide_format(arena& a) { return reinterpret_cast<wchar_t*>(&a.bytes[at_wide_format]); }
char* output(arena& a) { return &a.bytes[at_output]; }
wchar_t* wide_output(arena& a) { return reinterpret_cast<wchar_t*>(output(a)); }

/// Compares values except for the padding in the fields, into which glibc copies bytes of its stack.
struct without_hole {
    template <class T>
    T operator()(arena& a, T value) const {
        std::memset(&a.bytes[at_fields + offsetof(tm, tm_isdst) + sizeof(int)], 0, sizeof(int));
        return as_is{}(a, value);
    }
};

/// The value behind a static result.
struct pointed_at {
    time_t operator()(const arena&, const tm* value) const {
        tm copy = *value;
        return ::timegm(&copy);
    }
    std::uint64_t operator()(const arena&, const char* value) const {
        std::uint64_t hash = 0;
        for (; value != nullptr && *value != 0; ++value) hash = 31 * hash + static_cast<unsigned char>(*value);
        return hash;
    }
};

arena memory() {
    arena a{};
    std::memset(a.bytes + at_output, 'z', sizeof a.bytes - at_output);
    *seconds(a) = *rc::gen::inRange<time_t>(-4'000'000'000, 8'000'000'000);
    tm& f = *fields(a);
    f.tm_year = *rc::gen::inRange(-100, 3000);
    f.tm_mon = *rc::gen::inRange(-20, 30);
    f.tm_mday = *rc::gen::inRange(-50, 80);
    f.tm_hour = *rc::gen::inRange(-50, 80);
    f.tm_min = *rc::gen::inRange(-100, 100);
    f.tm_sec = *rc::gen::inRange(-100, 100);
    f.tm_isdst = *rc::gen::inRange(0, 2);  // glibc chooses either of two equal hours for -1
    static const std::string conversions = "aAbBcCdDeFgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%";
    std::string text;
    for (int n = *rc::gen::inRange(0, 8); n != 0; --n) {
        text += *rc::gen::elementOf(std::string("% -"));
        text += *rc::gen::elementOf(conversions);
    }
    std::strcpy(format(a), text.c_str());
    std::copy(text.c_str(), text.c_str() + text.size() + 1, wide_format(a));
    return a;
}

void conversions(const arena& w) {
    CHECK_CALL(w, without_hole{}, gmtime_r, (seconds(a), fields(a)));
    CHECK_CALL(w, without_hole{}, localtime_r, (seconds(a), fields(a)));
    CHECK_CALL(w, pointed_at{}, gmtime, (seconds(a)));
    CHECK_CALL(w, pointed_at{}, localtime, (seconds(a)));
    CHECK_CALL(w, without_hole{}, mktime, (fields(a)));
    CHECK_CALL(w, without_hole{}, timegm, (fields(a)));
    CHECK_CALL(w, as_is{}, ctime_r, (seconds(a), output(a)));
    CHECK_CALL(w, pointed_at{}, ctime, (seconds(a)));
}

void texts(const arena& given) {
    // Fields in their valid ranges.
    arena w = given;
    ::mktime(fields(w));
    CHECK_CALL(w, as_is{}, asctime_r, (fields(a), output(a)));
    CHECK_CALL(w, pointed_at{}, asctime, (fields(a)));
    arena late = w;
    fields(late)->tm_year = 100'000;
    const char* text_of_late = nullptr;
    __transaction_atomic { text_of_late = ::asctime(fields(late)); }
    RC_ASSERT(std::string(text_of_late).substr(20) == "101900\n");
    char text[512];
    const std::size_t size = std::strftime(text, sizeof text, format(w), fields(w));
    CHECK_CALL(w, as_is{}, strftime, (output(a), size + 1, format(a), fields(a)));
    CHECK_CALL(w, as_is{}, strftime_l, (output(a), size + 7, format(a), fields(a), locale));
    if (size < 100) {
        CHECK_CALL(w, as_is{}, wcsftime, (wide_output(a), size + 1, wide_format(a), fields(a)));
        CHECK_CALL(w, as_is{}, wcsftime_l, (wide_output(a), size + 3, wide_format(a), fields(a), locale));
    }
    // A result that does not fit: only the return value is equal, because glibc leaves a part of the text.
    std::size_t in_block = 1;
    if (size != 0) {
        __transaction_atomic { in_block = ::strftime(output(w), size, format(w), fields(w)); }
        RC_ASSERT(in_block == 0);
    }
    std::strcpy(output(w), text);
    CHECK_CALL(w, without_hole{}, strptime, (output(a), format(a), fields(a)));
    CHECK_CALL(w, without_hole{}, strptime, (output(a), "%Y-%m-%d", fields(a)));
}

void cancelled_zone() {
    __transaction_atomic {
        ::setenv("TZ", "XYZ-3", 1);
        ::tzset();
        __transaction_cancel;
    }
}

/// A cancelled block leaves the zone as it was.
void zones() {
    ::setenv("TZ", "ABC5", 1);
    ::tzset();
    const time_t noon = 43'200;
    cancelled_zone();
    tm plain{};
    ::localtime_r(&noon, &plain);
    RC_ASSERT(plain.tm_hour == 7);
    int hour = 0;
    __transaction_atomic {
        ::setenv("TZ", "XYZ-3", 1);
        hour = ::localtime(&noon)->tm_hour;
    }
    RC_ASSERT(hour == 15);
}

}  // namespace

int main() {
    const bool holds = rc::check([] {
        static constexpr const char* zones_of_tests[] = {"UTC", "CET-1CEST,M3.5.0,M10.5.0/3",
                                                         "NST3:30NDT,M3.2.0,M11.1.0"};
        ::setenv("TZ", zones_of_tests[*rc::gen::inRange(0, 3)], 1);
        ::tzset();
        const arena w = memory();
        conversions(w);
        texts(w);
        zones();
    });
    return holds ? 0 : 1;
}
