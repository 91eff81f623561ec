#include "api/report/report.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/emergency_output.hpp"
#include "core/ports/policy.hpp"
#include "observe/transaction_counters.hpp"
#include "tutti/statistics.hpp"

extern "C" char** environ;

namespace tutti::api {
namespace {

struct report_request {
    /// The requested file, as an absolute path, because the program may change its working folder. Empty: no report.
    std::string file;
    bool shown = false;  ///< if true, the report is also shown as text at exit
    pid_t process = 0;   ///< the process that read the environment; any other process is a forked copy of it
    /// The descriptor of the file, or -1. The file is opened early, because a daemon may give up its rights or change
    /// its root later.
    int early = -1;
    dev_t device = 0;  ///< device and inode of the file that was opened early;
    ino_t inode = 0;   ///< they identify the file, in case the program has closed the descriptor and reused its number
};

int open_to_write(const std::string& file) noexcept {
    return ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
}

void open_early(report_request& w, const std::string& file) noexcept {
    struct stat about{};
    // A pipe is not opened early, because its reader would regard the first close as the end of the report.
    if (::stat(file.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) return;
    w.early = open_to_write(file);
    if (w.early < 0 || ::fstat(w.early, &about) != 0) return;  // the attempt at exit reports the reason
    w.device = about.st_dev;
    w.inode = about.st_ino;
}

/// Returns the descriptor of the file that was opened early. Returns -1 if there is none, if the program has closed the
/// descriptor, or if the file was deleted. A forked copy opens its own file.
int opened_early(const report_request& w) noexcept {
    struct stat about{};
    const bool is_it = w.early >= 0 && ::getpid() == w.process && ::fstat(w.early, &about) == 0 &&
                       about.st_dev == w.device && about.st_ino == w.inode && about.st_nlink != 0;
    return is_it ? w.early : -1;
}

bool write_all(int to, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(to, text.data(), text.size());
        if (written < 0 && errno != EINTR) return false;
        if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

/// Overwrites a file from its beginning. A pipe has no beginning, and just receives the text.
bool rewind_and_write(int to, std::string_view text) noexcept {
    if (::lseek(to, 0, SEEK_SET) == 0 && ::ftruncate(to, 0) != 0 && errno != EINVAL) return false;
    return write_all(to, text);
}

std::string absolute(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> here{::getcwd(nullptr, 0), std::free};
    return path.starts_with('/') || here == nullptr ? path : std::string{here.get()} + '/' + path;
}

/// Returns the value of a variable. Returns an empty string if the process has more rights than its user, because the
/// user could make such a process write files that the user must not write.
std::string_view variable_text(const char* variable) noexcept {
    const char* const given = ::secure_getenv(variable);
    return given != nullptr ? given : "";
}

report_request read_request() {
    const std::string_view text = variable_text("TUTTI_REPORT");
    if (text.empty() || text == "0" || text == "off") return {};
    const bool shown = text == "1" || text == "on";
    return {
        .file = absolute(shown ? "tutti-report.%p.json" : std::string{text}), .shown = shown, .process = ::getpid()};
}

// The object is made at its first use, because registered objects may run blocks before the objects of this file are
// made. It is never destroyed, because the report is written after the destruction of static objects.
report_request& requested_report() noexcept {
    static report_request& w = *new report_request{read_request()};
    return w;
}

std::string file_name(const report_request& w) {
    const std::string number = std::to_string(::getpid());
    std::string name = w.file;
    if (const std::size_t at = name.find("%p"); at != std::string::npos) return name.replace(at, 2, number);
    return ::getpid() != w.process ? name + '.' + number : name;
}

bool write(const report_request& w, const std::string& file, const std::string& text) {
    const int early = opened_early(w);
    const int to = early >= 0 ? early : open_to_write(file);
    bool written = to >= 0 && rewind_and_write(to, text);
    int why = errno;
    if (to >= 0 && early < 0 && ::close(to) != 0 && written) {
        why = errno;
        written = false;
    }
    if (!written)
        base::write_emergency_message("tutti: TUTTI_REPORT: " + file + " cannot be written: " + std::strerror(why) +
                                      '\n');
    return written;
}

/// Returns the environment without the variables that are meant for this program, so that the `tutti` command does not
/// write a report about itself.
std::vector<char*> quiet_environment() {
    std::vector<char*> all;
    for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
        const std::string_view entry = *e;
        if (!entry.starts_with("TUTTI_") && !entry.starts_with("LD_PRELOAD=")) all.push_back(*e);
    }
    all.push_back(nullptr);
    return all;
}

/// Shows the report. Returns false if the `tutti` command does not exist or has failed, or if standard error has no
/// reader.
bool show(const std::string& file) {
    if (!base::accepts_output(STDERR_FILENO)) return false;
    std::string command{variable_text("TUTTI_COMMAND")};
    if (command.empty()) command = "tutti";
    std::string verb = "report";
    std::string path = file;
    char* const arguments[] = {command.data(), verb.data(), path.data(), nullptr};
    posix_spawn_file_actions_t streams;
    if (::posix_spawn_file_actions_init(&streams) != 0) return false;
    ::posix_spawn_file_actions_adddup2(&streams, STDERR_FILENO, STDOUT_FILENO);
    pid_t child = 0;
    const int failed =
        ::posix_spawnp(&child, command.c_str(), &streams, nullptr, arguments, quiet_environment().data());
    ::posix_spawn_file_actions_destroy(&streams);
    if (failed != 0) return false;
    int status = 0;
    pid_t ended = 0;
    do {
        ended = ::waitpid(child, &status, 0);
    } while (ended < 0 && errno == EINTR);
    // If the program ignores SIGCHLD, waitpid finds no child, and the command counts as successful.
    return ended < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace

bool report_wanted() noexcept { return !requested_report().file.empty(); }

void begin_report() {
    if (!report_wanted()) return;
    report_request& w = requested_report();
    if (::getpid() == w.process) open_early(w, file_name(w));
    observe::counting_library.store(true, std::memory_order_relaxed);
    core::listen_to_library();
}

void reset_report() noexcept {
    if (report_wanted()) reset_statistics();
}

void write_report() {
    const report_request& w = requested_report();
    if (w.file.empty()) return;
    try {
        const std::string file = file_name(w);
        if (!write(w, file, report_text(false)) || !w.shown || show(file)) return;
        base::write_emergency_message("tutti: the report is in " + file + "; 'tutti report " + file + "' shows it\n");
    } catch (const std::bad_alloc&) {
        base::write_emergency_message("tutti: TUTTI_REPORT: out of memory for the report\n");
    }
}

}  // namespace tutti::api
