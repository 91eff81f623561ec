// Accesses the environment. glibc changes environ and its strings, which are plain memory, without barriers. So
// transactions exclude each other by an abstract lock: a transaction that changes the environment excludes its readers.
// A change takes effect immediately. A roll-back restores the previous string, which glibc never frees.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "libc/effects.hpp"
#include "libc/environment.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

constexpr char environment = 0;  // identifies the lock

[[nodiscard]] bool lock_environment(tx& t, bool shared) {
    return hold_until_end(t, {.of = &environment, .shared = shared});
}

/// Returns the entry "NAME=value" in environ, or null.
char* entry_of(const char* name, std::size_t size) noexcept {
    if (environ == nullptr) return nullptr;
    for (char** at = environ; *at != nullptr; ++at) {
        if (std::strncmp(*at, name, size) == 0 && (*at)[size] == '=') return *at;
    }
    return nullptr;
}

struct restore_variable {
    char* before;      ///< the previous string; null if the variable did not exist
    const char* name;  ///< memory of the transaction
    void operator()() const noexcept {
        if (before != nullptr) ::putenv(before);
        else ::unsetenv(name);
        if (std::strcmp(name, "TZ") == 0) ::tzset();  // makes glibc use the restored zone
    }
};

/// Runs `make`, which changes the variable `name`. `size` is the length of the name.
template <class Change>
int change(tx& t, const char* name, std::size_t size, Change make) {
    auto* const kept = static_cast<char*>(private_memory(t, size + 1));
    if (kept == nullptr || !lock_environment(t, false)) return -1;
    auto* const undo = prepare_undo<restore_variable>(t);
    if (undo == nullptr) return -1;
    std::memcpy(kept, name, size);
    kept[size] = 0;
    char* const before = entry_of(kept, size);
    const int result = make();
    if (result == 0 && size != 0) undo->arm({before, kept});
    return result;
}

}  // namespace

void lock_environment_shared(tx& t) {
    const errno_guard saved_errno;
    if (!lock_environment(t, true)) become_irrevocable(t, "a time zone, without memory for a lock");
}

char* getenv(tx& t, const char* name) {
    char room[128];
    std::size_t size = 0;
    const int error = errno;
    const char* const n = private_string(t, name, room, size);
    if (n == nullptr || !lock_environment(t, true)) {
        errno = error;
        become_irrevocable(t, "getenv, without memory for a lock");
        return n != nullptr ? ::getenv(n) : nullptr;
    }
    return ::getenv(n);
}

int setenv(tx& t, const char* name, const char* value, int overwrite) {
    if (name == nullptr) {
        errno = EINVAL;
        return -1;
    }
    char name_room[128], value_room[512];
    std::size_t name_size = 0;
    std::size_t value_size = 0;
    const char* const n = private_string(t, name, name_room, name_size);
    const char* const v = n != nullptr ? private_string(t, value, value_room, value_size) : nullptr;
    if (v == nullptr) return -1;
    return change(t, n, name_size, [=] { return ::setenv(n, v, overwrite); });
}

int unsetenv(tx& t, const char* name) {
    if (name == nullptr) {
        errno = EINVAL;
        return -1;
    }
    char room[128];
    std::size_t size = 0;
    const char* const n = private_string(t, name, room, size);
    if (n == nullptr) return -1;
    return change(t, n, size, [=] { return ::unsetenv(n); });
}

/// glibc puts the program's string into the environment, instead of a copy.
int putenv(tx& t, char* string) {
    char room[512];
    std::size_t size = 0;
    const char* const s = private_string(t, string, room, size);
    if (s == nullptr) return -1;
    const char* const equals = std::strchr(s, '=');
    if (equals == nullptr) return change(t, s, size, [=] { return ::unsetenv(s); });
    const auto name_size = static_cast<std::size_t>(equals - s);
    return change(t, s, name_size, [=] {
        if (std::memcmp(s, string, size + 1) == 0) return ::putenv(string);
        const std::string name{s, name_size};
        return ::setenv(name.c_str(), equals + 1, 1);
    });
}

}  // namespace tutti::libc
