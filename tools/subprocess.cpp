#include "subprocess.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace tutti::tools {

std::optional<std::string> output_of(std::vector<std::string> arguments) {
    std::vector<char*> words;
    words.reserve(arguments.size() + 1);
    for (std::string& a : arguments) words.push_back(a.data());
    words.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
    posix_spawn_file_actions_t streams;
    ::posix_spawn_file_actions_init(&streams);
    ::posix_spawn_file_actions_adddup2(&streams, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&streams, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t child = 0;
    const int failed = ::posix_spawnp(&child, words[0], &streams, nullptr, words.data(), environ);
    ::posix_spawn_file_actions_destroy(&streams);
    ::close(ends[1]);
    std::string output;
    char part[4096];
    ssize_t size = 0;
    while (failed == 0 && ((size = ::read(ends[0], part, sizeof part)) > 0 || (size < 0 && errno == EINTR))) {
        if (size > 0) output.append(part, static_cast<std::size_t>(size));
    }
    ::close(ends[0]);
    if (failed != 0) return std::nullopt;
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
    return output;
}

}  // namespace tutti::tools
