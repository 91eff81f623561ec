#include "libc/wide_formatting.hpp"

#include <printf.h>
#include <wchar.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "libc/memory.hpp"

namespace tutti::libc {
namespace {

int number(const char*& at) noexcept {
    int n = 0;
    for (; *at >= '0' && *at <= '9'; ++at) n = n < INT_MAX / 10 ? 10 * n + (*at - '0') : INT_MAX;
    return n;
}
/// Parses "12$" and moves `at` after it. Returns the number of that argument, from 0. If there is no "12$", returns the
/// number of the next argument.
int position(const char*& at, int& next, bool takes) noexcept {
    const char* behind = at;
    const int n = number(behind);
    if (n != 0 && *behind == '$') {
        at = behind + 1;
        return n - 1;
    }
    return takes ? next++ : -1;
}

bool is_string(int type) noexcept {
    return (type & PA_FLAG_PTR) == 0 && ((type & ~PA_FLAG_MASK) == PA_STRING || (type & ~PA_FLAG_MASK) == PA_WSTRING);
}

/// Returns the type of the variable in which %n stores. The type is parsed here, because glibc reports int for all
/// types.
int type_of_count(unsigned shorts, bool is_long) noexcept {
    if (is_long) return PA_INT | PA_FLAG_PTR | PA_FLAG_LONG;
    if (shorts == 1) return PA_INT | PA_FLAG_PTR | PA_FLAG_SHORT;
    return (shorts == 0 ? PA_INT : PA_CHAR) | PA_FLAG_PTR;
}

/// Calls `found(argument, is wide, precision)` for each conversion of a string, and `counted(argument, type)` for each
/// %n. A missing precision is passed as SIZE_MAX. If an argument contains the precision, the precision is
/// `value(argument)`.
template <class Value, class Found, class Counted>
void each_pointer(const char* format, std::size_t count, Value value, Found found, Counted counted) {
    int next = 0;
    for (const char* at = std::strchr(format, '%'); at != nullptr; at = std::strchr(at, '%')) {
        ++at;
        const int fixed = position(at, next, false);
        while (*at != 0 && std::strchr("-+ #0'I", *at) != nullptr) ++at;
        const auto star = [&]() -> long {
            if (*at != '*') return number(at);
            ++at;
            const int from = position(at, next, true);
            return static_cast<std::size_t>(from) < count ? value(from) : -1;
        };
        star();
        long precision = -1;
        if (*at == '.') {
            ++at;
            if (*at == '-') {
                ++at;
                number(at);
            } else {
                precision = star();
            }
        }
        bool is_long = false, is_wide = false;
        unsigned shorts = 0;
        for (; *at != 0 && std::strchr("hlLqjzZtw", *at) != nullptr; ++at) {
            is_wide |= *at == 'l';
            if (*at == 'h') ++shorts;
            else is_long = true;
        }
        if (*at == 0) return;
        const char letter = *at++;
        if (letter == '%' || letter == 'm') continue;
        const int from = fixed >= 0 ? fixed : next++;
        if ((letter == 's' || letter == 'S') && static_cast<std::size_t>(from) < count) {
            found(from, letter == 'S' || is_wide, precision < 0 ? SIZE_MAX : static_cast<std::size_t>(precision));
        }
        if (letter == 'n' && static_cast<std::size_t>(from) < count) counted(from, type_of_count(shorts, is_long));
    }
}

}  // namespace

const void* wide_format::string(const void* from, bool wide, std::size_t limit) {
    if (from == nullptr) return nullptr;
    std::size_t size = 0;
    if (wide) {
        size = length(t_, static_cast<const wchar_t*>(from), limit) * sizeof(wchar_t);
    } else {
        // Copies the bytes of at most `limit` characters, because there may be no terminating 0 after these bytes.
        mbstate_t state{};
        cursor at{t_, static_cast<const char*>(from)};
        for (std::size_t characters = 0; characters < limit; ++size) {
            const char byte = at.next();
            if (byte == 0) break;
            const std::size_t n = ::mbrlen(&byte, 1, &state);
            if (n == static_cast<std::size_t>(-1)) {
                ++size;
                break;
            }
            if (n != static_cast<std::size_t>(-2)) ++characters;
        }
    }
    auto* const copy = static_cast<char*>(private_memory(t_, size + sizeof(wchar_t)));
    if (copy == nullptr) return nullptr;
    copy_in(t_, copy, from, size);
    std::memset(copy + size, 0, sizeof(wchar_t));
    return copy;
}

bool wide_format::copy(const wchar_t* format, va_list arguments) {
    std::size_t size = 0;
    format_ = private_string(t_, format, room_, size);
    if (format_ == nullptr) return false;
    // A copy of the format with narrow characters. All characters of a conversion specification are narrow.
    const private_array<char> narrow{t_, size + 1};
    if (narrow.at == nullptr) return false;
    std::transform(format_, format_ + size + 1, narrow.at,
                   [](wchar_t c) { return c >= 0 && c < 128 ? static_cast<char>(c) : '?'; });
    count_ = ::parse_printf_format(narrow.at, 0, nullptr);
    const std::size_t each = sizeof *types_ + sizeof *given_ + sizeof *counted_ + 2 * sizeof *slots_;
    auto* const memory = static_cast<char*>(private_memory(t_, count_ * each + 16));
    const private_array<std::size_t> limits{t_, count_};
    if (memory == nullptr || limits.at == nullptr) return false;
    slots_ = reinterpret_cast<std::uint64_t*>(memory);  // aligned like malloc's memory, as a long double requires
    given_ = slots_ + 2 * count_;
    counted_ = reinterpret_cast<long*>(given_ + count_);
    types_ = reinterpret_cast<int*>(counted_ + count_);
    ::parse_printf_format(narrow.at, count_, types_);
    std::size_t slot = 0;
    for (std::size_t i = 0; i != count_; ++i) {
        limits.at[i] = 0;
        if ((types_[i] & ~PA_FLAG_MASK) == PA_DOUBLE && (types_[i] & PA_FLAG_PTR) == 0) {
            if ((types_[i] & PA_FLAG_LONG_DOUBLE) != 0) {
                slot += slot % 2;
                const long double value = va_arg(arguments, long double);
                std::memcpy(&slots_[slot], &value, sizeof value);
                slot += 2;
            } else {
                const double value = va_arg(arguments, double);
                std::memcpy(&slots_[slot++], &value, sizeof value);
            }
            given_[i] = 0;
            continue;
        }
        given_[i] = va_arg(arguments, std::uint64_t);
        slots_[slot++] = given_[i];
    }
    each_pointer(
        narrow.at, count_, [this](int from) { return static_cast<long>(static_cast<int>(given_[from])); },
        [&](int from, bool wide, std::size_t limit) {
            if (wide) types_[from] = PA_WSTRING;  // set here, because glibc reports %ls as a narrow string
            limits.at[from] = std::max(limits.at[from], limit);
        },
        [this](int from, int type) { types_[from] = type; });
    slot = 0;
    for (std::size_t i = 0; i != count_; ++i) {
        const bool is_real = (types_[i] & ~PA_FLAG_MASK) == PA_DOUBLE && (types_[i] & PA_FLAG_PTR) == 0;
        if (is_real && (types_[i] & PA_FLAG_LONG_DOUBLE) != 0) {
            slot += slot % 2 + 2;
            continue;
        }
        if (is_string(types_[i]) && given_[i] != 0) {
            const bool wide = (types_[i] & ~PA_FLAG_MASK) == PA_WSTRING;
            const void* const text = string(reinterpret_cast<const void*>(given_[i]), wide, limits.at[i]);
            if (text == nullptr) return false;
            slots_[slot] = reinterpret_cast<std::uint64_t>(text);
        }
        counted_[i] = -1;
        if ((types_[i] & PA_FLAG_PTR) != 0) slots_[slot] = reinterpret_cast<std::uint64_t>(&counted_[i]);
        ++slot;
    }
    return true;
}

wide_format::list* wide_format::arguments() noexcept {
    tag_ = {48, 176, slots_, nullptr};
    return reinterpret_cast<list*>(&tag_);
}

void wide_format::store_counts() {
    for (std::size_t i = 0; i != count_; ++i) {
        if ((types_[i] & PA_FLAG_PTR) == 0 || given_[i] == 0) continue;
        auto* const to = reinterpret_cast<char*>(given_[i]);
        const std::size_t size = (types_[i] & (PA_FLAG_LONG | PA_FLAG_LONG_LONG)) != 0 ? sizeof(long)
                                 : (types_[i] & PA_FLAG_SHORT) != 0                    ? sizeof(short)
                                 : (types_[i] & ~PA_FLAG_MASK) == PA_CHAR              ? sizeof(char)
                                                                                       : sizeof(int);
        copy_out(t_, to, &counted_[i], size);
    }
}

}  // namespace tutti::libc
