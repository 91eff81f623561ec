#include "run.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "elf_file.hpp"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

// The exit statuses that shells use.
constexpr int not_found = 127;
constexpr int not_executable = 126;

fs::path own_path() {
    std::error_code failed;
    fs::path self = fs::read_symlink("/proc/self/exe", failed);
    if (failed) throw cannot_run{"cannot read /proc/self/exe: " + failed.message(), 1};
    return self;
}

/// Finds the folder of libitm.so.1, relative to this command: in the build folder, or in the installation.
fs::path runtime_folder(const fs::path& self) {
    for (const char* const from_here : {TUTTI_LANGUAGE_BUILT, TUTTI_LANGUAGE_INSTALLED}) {
        const fs::path folder = (self.parent_path() / from_here).lexically_normal();
        if (fs::exists(folder / "libitm.so.1")) return folder;
    }
    throw cannot_run{"libitm.so.1 of Tutti is not where this command was installed with it (" +
                         (self.parent_path() / TUTTI_LANGUAGE_INSTALLED).lexically_normal().string() +
                         "); it is built for x86-64 and shared libraries only",
                     1};
}

/// Searches for the program in the same way as execvp.
fs::path find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) {
        std::error_code unknown;
        if (fs::exists(name, unknown)) return name;
        throw cannot_run{unknown ? name + ": " + unknown.message() : name + ": No such file or directory", not_found};
    }
    const char* const path = std::getenv("PATH");
    std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
    while (true) {
        const std::string_view folder = rest.substr(0, rest.find(':'));
        const fs::path candidate = fs::path{folder.empty() ? "." : folder} / name;
        std::error_code unknown;
        if (::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, unknown)) return candidate;
        if (folder.size() == rest.size()) break;
        rest.remove_prefix(folder.size() + 1);
    }
    throw cannot_run{name + ": command not found in PATH", not_found};
}

/// REQUIRES: the file exists.
void require_executable(const fs::path& program) {
    struct stat status{};
    if (::stat(program.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || ::access(program.c_str(), X_OK) != 0)
        throw cannot_run{program.string() + " is not a file that may be executed", not_executable};
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0 ||
        ::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0)
        throw cannot_run{program.string() + " runs with elevated privileges, so tutti cannot choose its libraries",
                         not_executable};
}

void prepend_to_variable(const char* variable, const std::string& what, char separator) {
    const char* const there = std::getenv(variable);
    const std::string all = there != nullptr && *there != '\0' ? what + separator + there : what;
    ::setenv(variable, all.c_str(), 1);
}

}  // namespace

void run(const run_options& options) {
    const fs::path self = own_path();
    const fs::path runtime = runtime_folder(self);
    const fs::path program = find_program(options.program.front());
    require_executable(program);
    if (const auto elf = read_elf_file(program.string())) {
        if (!elf->dynamic)
            throw cannot_run{
                program.string() + " is linked statically, so tutti cannot replace its runtime: link it dynamically",
                not_executable};
        // The program's own list of folders would take precedence, so the library is preloaded by name. Other programs
        // need no preloading, which would load the library even into child processes that do not use it.
        if (elf->prefers_its_own_folders) prepend_to_variable("LD_PRELOAD", (runtime / "libitm.so.1").string(), ':');
    }
    prepend_to_variable("LD_LIBRARY_PATH", runtime.string(), ':');
    if (!options.report.empty()) {
        ::setenv("TUTTI_REPORT", options.report.c_str(), 1);
        ::setenv("TUTTI_COMMAND", self.c_str(), 1);
    }
    std::vector<char*> words;
    words.reserve(options.program.size() + 1);
    for (const std::string& w : options.program) words.push_back(const_cast<char*>(w.c_str()));
    words.push_back(nullptr);
    ::execv(program.c_str(), words.data());
    throw cannot_run{program.string() + " cannot be started: " + std::strerror(errno), not_executable};
}

}  // namespace tutti::tools
