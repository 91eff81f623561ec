// Calls about the process: its end, sleeping, its locale, its log.
#include <syslog.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <ctime>
#include <string>

#include "libc/effects.hpp"
#include "libc/formatting.hpp"
#include "libc/memory.hpp"
#include "tutti/libc/functions.hpp"

namespace tutti::libc {

void exit(tx& t, int status) {
    become_irrevocable(t, "exit");
    std::exit(status);
}
void _exit(tx& t, int status) {
    become_irrevocable(t, "_exit");
    ::_exit(status);
}
int atexit(tx& t, void (*f)()) {
    become_irrevocable(t, "atexit");
    return std::atexit(f);
}

unsigned sleep(tx& t, unsigned seconds) {
    become_irrevocable(t, "sleep");
    return ::sleep(seconds);
}
int usleep(tx& t, unsigned microseconds) {
    become_irrevocable(t, "usleep");
    return ::usleep(microseconds);
}
int nanosleep(tx& t, const timespec* duration, timespec* rest) {
    const timespec wanted = read(t, duration);
    become_irrevocable(t, "nanosleep");
    timespec left{};
    const int result = ::nanosleep(&wanted, &left);
    if (result != 0 && errno == EINTR && rest != nullptr) write(t, rest, left);
    return result;
}

lconv* localeconv(tx&) { return std::localeconv(); }
char* setlocale(tx& t, int category, const char* locale) {
    if (locale == nullptr) return std::setlocale(category, nullptr);
    char room[256];
    std::size_t size = 0;
    const char* const name = private_string(t, locale, room, size);
    if (name == nullptr) return nullptr;
    become_irrevocable(t, "setlocale");
    return std::setlocale(category, name);
}

void vsyslog(tx& t, int priority, const char* format, va_list arguments) {
    text_of_format text{t};
    if (!text.format(format, arguments)) return;
    auto* const kept = static_cast<char*>(private_memory(t, text.size() + 1));
    if (kept != nullptr) {
        std::memcpy(kept, text.begin(), text.size());
        kept[text.size()] = 0;
        // The deferred call may use the private memory of `kept`, which is freed only after the commit has been
        // published.
        if (defer(t, detail::handler_point::at_commit, [=] { ::syslog(priority, "%s", kept); })) return;
    }
    become_irrevocable(t, "syslog, without memory to defer it");
    ::syslog(priority, "%.*s", static_cast<int>(text.size()), text.begin());
}

}  // namespace tutti::libc
