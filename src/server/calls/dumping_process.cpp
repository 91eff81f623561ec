#include "server/calls/dumping_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tutti::server {
namespace {

constexpr std::size_t bytes_of_buffer = std::size_t{64} << 10;
constexpr int bytes_of_pipe = 1 << 20;
constexpr std::chrono::minutes max_silence{5};

/// The header of each message in the pipe. A piece or a failure follows with `number` bytes.
struct frame {
    enum class kind : std::uint64_t { piece, truncate, done, failed };
    kind what;
    /// for truncate, the number of pieces that stay; for done, the bytes of memory; otherwise the length in bytes
    std::uint64_t number;
};

std::string words_of(int error) { return std::generic_category().message(error); }

/// The child's end of the pipe.
class pipe_writer final : public snapshot_sink {
public:
    explicit pipe_writer(int to) : to_{to} { buffer_.reserve(bytes_of_buffer); }
    void put(std::string piece) override {
        add({frame::kind::piece, piece.size()});
        add(piece.data(), piece.size());
    }
    void truncate(std::uint64_t count) override { add({frame::kind::truncate, count}); }
    void end(std::uint64_t bytes_of_memory) {
        add({frame::kind::done, bytes_of_memory});
        flush();
    }
    void fail(std::string_view why) {
        add({frame::kind::failed, why.size()});
        add(why.data(), why.size());
        flush();
    }

private:
    void add(const frame& f) { add(&f, sizeof f); }
    void add(const void* bytes, std::size_t size) {
        if (buffer_.size() + size > bytes_of_buffer) flush();
        if (size > bytes_of_buffer) return write(static_cast<const char*>(bytes), size);
        buffer_.append(static_cast<const char*>(bytes), size);
    }
    void flush() {
        write(buffer_.data(), buffer_.size());
        buffer_.clear();
    }
    void write(const char* bytes, std::size_t size) {
        while (size != 0) {
            const ::ssize_t some = ::write(to_, bytes, size);
            if (some < 0 && errno == EINTR) continue;
            if (some < 0) ::_exit(EXIT_FAILURE);  // the parent no longer reads
            bytes += some;
            size -= static_cast<std::size_t>(some);
        }
    }

    const int to_;
    std::string buffer_;
};

/// The parent's end of the pipe.
class pipe_reader {
public:
    explicit pipe_reader(int from) : from_{from}, buffer_(bytes_of_buffer) {}
    /// Reads exactly `size` bytes. Returns false if the stream has ended.
    [[nodiscard]] bool read(void* into, std::size_t size) {
        auto* at = static_cast<char*>(into);
        while (size != 0) {
            if (begin_ == end_ && !fill()) return false;
            const std::size_t some = std::min(size, end_ - begin_);
            std::memcpy(at, buffer_.data() + begin_, some);
            begin_ += some;
            at += some;
            size -= some;
        }
        return true;
    }
    [[nodiscard]] bool read(std::string& into, std::uint64_t size) {
        into.resize(size);
        return read(into.data(), size);
    }

private:
    bool fill() {
        ::pollfd one{.fd = from_, .events = POLLIN, .revents = 0};
        const auto timeout = std::chrono::milliseconds{max_silence};
        const int ready = ::poll(&one, 1, static_cast<int>(timeout.count()));
        if (ready == 0) {
            throw std::runtime_error{"the process that writes it has written nothing for " +
                                     std::to_string(max_silence.count()) +
                                     " minutes, and was killed. Does a dump wait for a lock that another thread held?"};
        }
        const ::ssize_t some = ::read(from_, buffer_.data(), buffer_.size());
        if (some < 0 && errno == EINTR) return fill();
        begin_ = 0;
        end_ = some < 0 ? 0 : static_cast<std::size_t>(some);
        return some > 0;
    }

    const int from_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0, end_ = 0;
};

// ---- in the child

void close_sockets() noexcept {
    ::DIR* const all = ::opendir("/proc/self/fd");
    if (all == nullptr) return;
    while (const ::dirent* const one = ::readdir(all)) {
        const int number = std::atoi(one->d_name);
        struct ::stat what{};
        if (one->d_name[0] != '.' && ::fstat(number, &what) == 0 && S_ISSOCK(what.st_mode)) ::close(number);
    }
    ::closedir(all);
}

/// If memory runs out, makes the system kill this process first, instead of a process that serves clients.
void be_the_first_to_go() noexcept {
    std::FILE* const score = std::fopen("/proc/self/oom_score_adj", "we");
    if (score == nullptr) return;
    std::fputs("1000", score);
    std::fclose(score);
}

/// Returns how many bytes of memory only this process uses, or 0 if the system does not report this.
std::uint64_t bytes_of_its_own() noexcept {
    std::FILE* const figures = std::fopen("/proc/self/smaps_rollup", "re");
    if (figures == nullptr) return 0;
    unsigned long kilobytes = 0;
    char line[256];
    while (std::fgets(line, sizeof line, figures) != nullptr) {
        if (std::sscanf(line, "Private_Dirty: %lu kB", &kilobytes) == 1) break;
    }
    std::fclose(figures);
    return std::uint64_t{kilobytes} << 10;
}

void be_a_child_of(::pid_t parent) noexcept {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(EXIT_FAILURE);
    ::prctl(PR_SET_NAME, "tutti-dump");
    // The child resets the signal handlers, because the parent's handlers report the parent's calls. Signals that end a
    // server stay blocked, because the parent ends this process.
    sigset_t crashes;
    ::sigemptyset(&crashes);
    for (const int crash : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP}) {
        ::signal(crash, SIG_DFL);
        ::sigaddset(&crashes, crash);
    }
    ::pthread_sigmask(SIG_UNBLOCK, &crashes, nullptr);
    close_sockets();
    be_the_first_to_go();
}

[[noreturn]] void dump_and_exit(const catalog& procedures, int to, ::pid_t parent) noexcept {
    be_a_child_of(parent);
    try {
        pipe_writer out{to};
        try {
            dump(procedures, out);
            out.end(bytes_of_its_own());
            ::_exit(EXIT_SUCCESS);
        } catch (const std::exception& e) {
            out.fail(e.what());
        } catch (...) {
            out.fail("a dump threw something that is not a std::exception");
        }
    } catch (...) {
        // The child ends without a message, because memory has run out.
    }
    ::_exit(EXIT_FAILURE);
}

}  // namespace

dumping_process::~dumping_process() {
    kill();
    int unused = 0;
    reap(unused);
    if (pipe_ >= 0) ::close(pipe_);
}

bool dumping_process::start(base::deadline until, api::quiescent_action& first) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error{"cannot create a pipe: " + words_of(errno)};
    static_cast<void>(::fcntl(ends[1], F_SETPIPE_SZ, bytes_of_pipe));
    const ::pid_t parent = ::getpid();
    std::optional<::pid_t> child;
    try {
        child = api::fork_alone(until, first);
    } catch (...) {
        ::close(ends[0]);
        ::close(ends[1]);
        throw;
    }
    const int error = errno;
    if (child == 0) {
        ::close(ends[0]);
        dump_and_exit(procedures_, ends[1], parent);
    }
    ::close(ends[1]);
    if (!child || *child < 0) {
        ::close(ends[0]);
        if (!child) return false;
        throw std::runtime_error{"cannot fork: " + words_of(error) +
                                 (error == ENOMEM ? ". Allow memory overcommit: vm.overcommit_memory=1" : "")};
    }
    pipe_ = ends[0];
    const std::scoped_lock lock{mutex_};
    child_ = *child;
    if (killed_) ::kill(child_, SIGKILL);
    return true;
}

void dumping_process::kill() noexcept {
    const std::scoped_lock lock{mutex_};
    killed_ = true;
    if (child_ > 0) ::kill(child_, SIGKILL);
}

/// Waits for the child. The process ID stays in use until waitpid, which runs under the lock, so kill() cannot hit
/// another process.
void dumping_process::reap(int& status) noexcept {
    if (child_ <= 0) return;
    ::siginfo_t ended{};
    while (::waitid(P_PID, static_cast<::id_t>(child_), &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) continue;
    const std::scoped_lock lock{mutex_};
    if (::waitpid(child_, &status, 0) != child_) status = -1;  // the program waited for the child, or ignores SIGCHLD
    child_ = -1;
}

void dumping_process::throw_exit_status() {
    int status = -1;
    reap(status);
    std::string how = "ended without a status";
    if (status != -1 && WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        how = "was killed by signal " + std::to_string(signal) + " (" + ::sigdescr_np(signal) + ")" +
              (signal == SIGKILL ? ", probably because the system ran out of memory" : "");
    } else if (status != -1 && WIFEXITED(status)) {
        how = "exited with status " + std::to_string(WEXITSTATUS(status));
    }
    throw std::runtime_error{"the process that writes it " + how};
}

std::uint64_t dumping_process::read_into(snapshot_sink& to) {
    pipe_reader from{pipe_};
    std::string bytes;
    for (frame f{}; from.read(&f, sizeof f);) {
        switch (f.what) {
            case frame::kind::piece:
                if (!from.read(bytes, f.number)) throw_exit_status();
                to.put(std::move(bytes));
                bytes = {};
                break;
            case frame::kind::truncate: to.truncate(f.number); break;
            case frame::kind::failed:
                if (from.read(bytes, f.number)) throw std::runtime_error{bytes};
                throw_exit_status();
            case frame::kind::done: {
                int unused = 0;
                reap(unused);
                return f.number;
            }
        }
    }
    throw_exit_status();
}

}  // namespace tutti::server
