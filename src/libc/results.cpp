// Functions that are pure except that they store a result in the program's memory, or read a name from there: the
// clock, and parts of <math.h> and <wctype.h>.
#include <math.h>
#include <sys/time.h>
#include <time.h>
#include <wctype.h>

#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {

int clock_gettime(tx& t, clockid_t clock, timespec* to) {
    timespec now{};
    if (::clock_gettime(clock, &now) != 0) return -1;
    write(t, to, now);
    return 0;
}
int clock_getres(tx& t, clockid_t clock, timespec* to) {
    timespec step{};
    if (::clock_getres(clock, &step) != 0) return -1;
    if (to != nullptr) write(t, to, step);
    return 0;
}
int timespec_get(tx& t, timespec* to, int base) {
    timespec now{};
    const int status = ::timespec_get(&now, base);
    if (status != 0) write(t, to, now);
    return status;
}
int timespec_getres(tx& t, timespec* to, int base) {
    if (base != TIME_UTC) return 0;
    if (to != nullptr) libc::clock_getres(t, CLOCK_REALTIME, to);
    return base;
}
time_t time(tx& t, time_t* to) {
    const time_t now = ::time(nullptr);
    if (to != nullptr) write(t, to, now);
    return now;
}
int gettimeofday(tx& t, timeval* to, void* zone) {
    timeval now{};
    struct timezone here{};
    if (::gettimeofday(&now, zone != nullptr ? &here : nullptr) != 0) return -1;
    if (to != nullptr) write(t, to, now);
    if (zone != nullptr) write(t, static_cast<struct timezone*>(zone), here);
    return 0;
}

#define TUTTI_STORING(type, suffix)                                                           \
    type frexp##suffix(tx& t, type x, int* exponent) {                                        \
        int stored = 0;                                                                       \
        const type value = ::frexp##suffix(x, &stored);                                       \
        write(t, exponent, stored);                                                           \
        return value;                                                                         \
    }                                                                                         \
    type modf##suffix(tx& t, type x, type* whole) {                                           \
        type stored = 0;                                                                      \
        const type value = ::modf##suffix(x, &stored);                                        \
        write(t, whole, stored);                                                              \
        return value;                                                                         \
    }                                                                                         \
    type remquo##suffix(tx& t, type x, type y, int* quotient) {                               \
        int stored = 0;                                                                       \
        const type value = ::remquo##suffix(x, y, &stored);                                   \
        write(t, quotient, stored);                                                           \
        return value;                                                                         \
    }                                                                                         \
    void sincos##suffix(tx& t, type x, type* sine, type* cosine) {                            \
        type s = 0;                                                                           \
        type c = 0;                                                                           \
        ::sincos##suffix(x, &s, &c);                                                          \
        write(t, sine, s);                                                                    \
        write(t, cosine, c);                                                                  \
    }                                                                                         \
    type lgamma##suffix##_r(tx& t, type x, int* sign) {                                       \
        int stored = 0;                                                                       \
        const type value = ::lgamma##suffix##_r(x, &stored);                                  \
        write(t, sign, stored);                                                               \
        return value;                                                                         \
    }                                                                                         \
    type lgamma##suffix(tx& t, type x) { return libc::lgamma##suffix##_r(t, x, &::signgam); } \
    type nan##suffix(tx& t, const char* tag) {                                                \
        char room[128];                                                                       \
        std::size_t size = 0;                                                                 \
        const char* const text = private_string(t, tag, room, size);                          \
        return ::nan##suffix(text != nullptr ? text : "");                                    \
    }
TUTTI_STORING(double, )
TUTTI_STORING(float, f)
TUTTI_STORING(long double, l)
#undef TUTTI_STORING

wctype_t wctype(tx& t, const char* name) {
    char room[64];
    std::size_t size = 0;
    const char* const text = private_string(t, name, room, size);
    return text != nullptr ? ::wctype(text) : 0;
}
wctrans_t wctrans(tx& t, const char* name) {
    char room[64];
    std::size_t size = 0;
    const char* const text = private_string(t, name, room, size);
    return text != nullptr ? ::wctrans(text) : nullptr;
}

}  // namespace tutti::libc
