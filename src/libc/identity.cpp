// Queries about a process and its threads, which store their answers in the program's memory. Also calls for semaphores
// and thread-specific data, whose effects a roll-back undoes.
#include <pthread.h>
#include <semaphore.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "libc/descriptor_table.hpp"
#include "libc/effects.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {
namespace {

/// Calls `ask(private answer)`. Unless the result is an error, copies the answer to the program's memory.
template <class Answer, class Ask>
auto copy_result(tx& t, Answer* to, Ask ask) {
    Answer answer{};
    const auto result = ask(&answer);
    const int error = errno;
    if (result != static_cast<decltype(result)>(-1) && to != nullptr) write(t, to, answer);
    errno = error;
    return result;
}

/// Calls `ask(private bytes, size)`, where size is at most `most`. `made(result)` returns how many of the bytes are the
/// answer.
template <class Ask, class Made>
auto copy_text_result(tx& t, void* to, std::size_t size, std::size_t most, Ask ask, Made made)
    -> decltype(ask(static_cast<char*>(nullptr), size)) {
    const std::size_t room = std::min(size, most);
    const private_array<char> bytes{t, room};
    if (bytes.at == nullptr) return static_cast<decltype(ask(bytes.at, room))>(-1);
    const auto result = ask(bytes.at, room);
    const int error = errno;
    copy_out(t, to, bytes.at, std::min<std::size_t>(made(result, bytes.at), room));
    errno = error;
    return result;
}

constexpr std::size_t max_name = 4096;

struct restore_value {
    pthread_key_t key;
    const void* value;
    void operator()() const noexcept { ::pthread_setspecific(key, value); }
};
struct delete_key {
    pthread_key_t key;
    void operator()() const noexcept { ::pthread_key_delete(key); }
};
struct post_again {
    sem_t* semaphore;
    void operator()() const noexcept { ::sem_post(semaphore); }
};

}  // namespace

int uname(tx& t, struct utsname* to) { return copy_result(t, to, ::uname); }
clock_t times(tx& t, struct tms* to) { return copy_result(t, to, ::times); }
int getrusage(tx& t, int who, struct rusage* to) {
    return copy_result(t, to,
                       [who](struct rusage* usage) { return ::getrusage(static_cast<__rusage_who>(who), usage); });
}
int getrlimit(tx& t, int resource, struct rlimit* to) {
    return copy_result(t, to, [resource](struct rlimit* limit) {
        return ::getrlimit(static_cast<__rlimit_resource>(resource), limit);
    });
}
int getresuid(tx& t, uid_t* real, uid_t* effective, uid_t* saved) {
    uid_t r = 0, e = 0, s = 0;
    if (::getresuid(&r, &e, &s) != 0) return -1;
    write(t, real, r);
    write(t, effective, e);
    write(t, saved, s);
    return 0;
}
int getresgid(tx& t, gid_t* real, gid_t* effective, gid_t* saved) {
    gid_t r = 0, e = 0, s = 0;
    if (::getresgid(&r, &e, &s) != 0) return -1;
    write(t, real, r);
    write(t, effective, e);
    write(t, saved, s);
    return 0;
}
int getgroups(tx& t, int count, gid_t* to) {
    if (count <= 0) return ::getgroups(count, nullptr);
    const private_array<gid_t> groups{t, static_cast<std::size_t>(count)};
    if (groups.at == nullptr) return -1;
    const int n = ::getgroups(count, groups.at);
    if (n > 0) copy_out(t, to, groups.at, static_cast<std::size_t>(n) * sizeof *to);
    return n;
}
int getloadavg(tx& t, double* to, int count) {
    double loads[3]{};
    const int n = ::getloadavg(loads, std::min(count, 3));
    if (n > 0) copy_out(t, to, loads, static_cast<std::size_t>(n) * sizeof *to);
    return n;
}

int gethostname(tx& t, char* to, std::size_t size) {
    return copy_text_result(t, to, size, max_name, ::gethostname,
                            [](int result, const char* text) { return result == 0 ? std::strlen(text) + 1 : 0; });
}
int getdomainname(tx& t, char* to, std::size_t size) {
    return copy_text_result(t, to, size, max_name, ::getdomainname,
                            [](int result, const char* text) { return result == 0 ? std::strlen(text) + 1 : 0; });
}
int ttyname_r(tx& t, int fd, char* to, std::size_t size) {
    if (!is_usable(t, fd)) return EBADF;
    return copy_text_result(
        t, to, size, max_name, [fd](char* text, std::size_t room) { return ::ttyname_r(fd, text, room); },
        [](int result, const char* text) { return result == 0 ? std::strlen(text) + 1 : 0; });
}
std::size_t confstr(tx& t, int name, char* to, std::size_t size) {
    if (to == nullptr || size == 0) return ::confstr(name, nullptr, 0);
    return copy_text_result(
        t, to, size, max_name, [name](char* text, std::size_t room) { return ::confstr(name, text, room); },
        [](std::size_t result, const char*) { return result; });
}
int getentropy(tx& t, void* to, std::size_t size) {
    if (size > 256) return ::getentropy(to, size);  // fails
    return copy_text_result(t, to, size, 256, ::getentropy,
                            [size](int result, const char*) { return result == 0 ? size : 0; });
}
ssize_t getrandom(tx& t, void* to, std::size_t size, unsigned flags) {
    return copy_text_result(
        t, to, size, std::size_t{1} << 25, [flags](char* bytes, std::size_t n) { return ::getrandom(bytes, n, flags); },
        [](ssize_t result, const char*) { return static_cast<std::size_t>(std::max<ssize_t>(result, 0)); });
}

int pthread_setspecific(tx& t, pthread_key_t key, const void* value) {
    auto* const undo = prepare_undo<restore_value>(t);
    if (undo == nullptr) return ENOMEM;
    const void* const before = ::pthread_getspecific(key);
    const int result = ::pthread_setspecific(key, value);
    if (result == 0) undo->arm({key, before});
    return result;
}
int pthread_key_create(tx& t, pthread_key_t* key, void (*destroy)(void*)) {
    auto* const undo = prepare_undo<delete_key>(t);
    if (undo == nullptr) return ENOMEM;
    pthread_key_t made = 0;
    const int result = ::pthread_key_create(&made, destroy);
    if (result != 0) return result;
    undo->arm({made});
    write(t, key, made);
    return 0;
}
int pthread_key_delete(tx& t, pthread_key_t key) {
    // glibc rejects an unknown key.
    const int result = ::pthread_setspecific(key, ::pthread_getspecific(key));
    if (result != 0) return result;
    return defer(t, detail::handler_point::at_commit, delete_key{key}) ? 0 : ENOMEM;
}

int sem_getvalue(tx& t, sem_t* s, int* to) {
    return copy_result(t, to, [s](int* value) { return ::sem_getvalue(s, value); });
}
int sem_trywait(tx& t, sem_t* s) {
    auto* const undo = prepare_undo<post_again>(t);
    if (undo == nullptr || ::sem_trywait(s) != 0) return -1;
    undo->arm({s});
    return 0;
}

}  // namespace tutti::libc
