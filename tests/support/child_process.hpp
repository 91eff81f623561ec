// A program in a process of its own, which is killed with its owner.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tutti::support {

class child_process {
public:
    child_process() = default;
    /// Starts `words`. The file `output` gets the program's output; if it is empty, the program uses the output of this
    /// process.
    ///
    /// The child gets no other descriptor. The starting thread must live as long as the child, because the kernel kills
    /// the child when that thread ends.
    explicit child_process(std::vector<std::string> words, const std::string& output = {}) {
        std::vector<char*> argv;
        for (std::string& w : words) argv.push_back(w.data());
        argv.push_back(nullptr);
        const pid_t parent = ::getpid();
        id_ = ::fork();
        if (id_ < 0) throw std::runtime_error{"cannot start a process"};
        if (id_ != 0) return;
        // Only functions that are safe between fork and exec: other threads of the parent may have held locks.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(127);
        if (!output.empty()) {
            const int to = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
            ::dup2(to, STDOUT_FILENO);
            ::dup2(to, STDERR_FILENO);
        }
        ::close_range(STDERR_FILENO + 1, ~0u, 0);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    ~child_process() { static_cast<void>(end(SIGKILL)); }
    child_process(child_process&& other) noexcept
        : id_{std::exchange(other.id_, 0)}, status_{std::exchange(other.status_, 0)} {}
    child_process& operator=(child_process&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(status_, other.status_);
        return *this;
    }

    /// Sends the signal, waits for the end, and returns the status of waitpid(2).
    int end(int signal) {
        if (id_ == 0) return status_;
        ::kill(id_, signal);
        return wait();
    }
    /// Sends the signal without waiting.
    void send(int signal) const {
        if (id_ != 0) ::kill(id_, signal);
    }
    int wait() {
        if (id_ == 0) return status_;
        ::waitpid(id_, &status_, 0);
        id_ = 0;
        return status_;
    }
    [[nodiscard]] bool has_ended() {
        if (id_ == 0) return true;
        if (::waitpid(id_, &status_, WNOHANG) != id_) return false;
        id_ = 0;
        return true;
    }
    [[nodiscard]] bool runs() const noexcept { return id_ != 0; }

private:
    pid_t id_ = 0;
    int status_ = 0;
};

}  // namespace tutti::support
