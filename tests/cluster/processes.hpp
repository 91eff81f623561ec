// Nodes as processes (node_process.cpp), and runs of the command `tutti`.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/cluster/status.hpp>

#include "cluster/fresh_address.hpp"

namespace tutti::cluster::testing {

/// Returns `count` addresses of Unix sockets that no other test uses.
inline std::vector<std::string> some_addresses(unsigned count) {
    static std::atomic<unsigned> clusters{0};
    const std::string prefix = "status-" + std::to_string(clusters.fetch_add(1)) + "-";
    std::vector<std::string> all;
    for (unsigned i = 0; i < count; ++i) all.push_back(fresh_address(prefix + std::to_string(i)));
    return all;
}

class node_process {
public:
    /// Starts a process; `words` are the program and its arguments.
    explicit node_process(std::vector<std::string> words) {
        std::vector<char*> arguments;
        for (std::string& w : words) arguments.push_back(w.data());
        arguments.push_back(nullptr);
        int in[2], out[2];
        if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error{"no pipe is left"};
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[0], 0);
        posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        const int failed = ::posix_spawn(&process_, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
        posix_spawn_file_actions_destroy(&actions);
        ::close(in[0]);
        ::close(out[1]);
        to_ = in[1];
        from_ = out[0];
        if (failed != 0) throw std::runtime_error{words[0] + " cannot be started"};
    }
    ~node_process() {
        ::close(to_);
        end(SIGKILL);
        ::close(from_);
    }
    node_process(const node_process&) = delete;
    node_process& operator=(const node_process&) = delete;

    void send(const std::string& line) {
        const std::string whole = line + "\n";
        if (::write(to_, whole.data(), whole.size()) < 0) ADD_FAILURE() << "the node has ended: " << line;
    }
    /// Returns one line of output, or an empty string when the process has ended.
    std::string receive() {
        std::string line;
        for (char c = 0; ::read(from_, &c, 1) == 1 && c != '\n';) line.push_back(c);
        return line;
    }
    std::string ask(const std::string& line) {
        send(line);
        return receive();
    }
    /// Returns the descriptor of the output, for callers that do not use receive().
    [[nodiscard]] int output() const noexcept { return from_; }
    /// Stops the process, and returns when all of its threads have stopped, which is some time after the signal.
    void stop() const {
        ::kill(process_, SIGSTOP);
        int how = 0;
        while (::waitpid(process_, &how, WUNTRACED) == process_ && !WIFSTOPPED(how)) {}
    }
    void go_on() const { ::kill(process_, SIGCONT); }
    void end(int number) {
        if (process_ == 0) return;
        ::kill(process_, SIGCONT);
        ::kill(process_, number);
        ::waitpid(process_, nullptr, 0);
        process_ = 0;
    }

private:
    pid_t process_ = 0;
    int to_ = -1, from_ = -1;
};

#if defined(TUTTI_NODE_PROCESS)

/// A cluster of processes that are all connected.
struct process_cluster {
    explicit process_cluster(unsigned count, long failure_timeout_ms = 30'000, const std::string& metrics = "-")
        : addresses{some_addresses(count)} {
        for (unsigned i = 0; i < count; ++i) {
            std::vector<std::string> words{TUTTI_NODE_PROCESS, std::to_string(i), std::to_string(failure_timeout_ms),
                                           metrics};
            words.insert(words.end(), addresses.begin(), addresses.end());
            nodes.push_back(std::make_unique<node_process>(std::move(words)));
        }
        for (const auto& n : nodes) {
            ready.push_back(n->receive());
            EXPECT_TRUE(ready.back().starts_with("ready ")) << ready.back();
        }
    }
    ~process_cluster() {
        nodes.clear();
        for (const std::string& a : addresses) ::unlink(a.c_str() + 5);
    }
    process_cluster(const process_cluster&) = delete;
    process_cluster& operator=(const process_cluster&) = delete;

    [[nodiscard]] std::vector<node_reply> ask(std::chrono::milliseconds within = std::chrono::seconds{20}) const {
        return query_nodes({.addresses = addresses, .timeout = within});
    }

    const std::vector<std::string> addresses;
    std::vector<std::unique_ptr<node_process>> nodes;
    std::vector<std::string> ready;  ///< the lines that they printed when ready
};

#endif

struct command_result {
    int status = -1;
    std::string output;
};

/// Runs a shell command line. Returns its standard output and standard error together.
inline command_result run_command(const std::string& line) {
    command_result r;
    std::FILE* const from = ::popen((line + " 2>&1").c_str(), "r");
    char some[4096];
    for (std::size_t n = 0; (n = std::fread(some, 1, sizeof some, from)) > 0;) r.output.append(some, n);
    const int ended = ::pclose(from);
    if (WIFEXITED(ended)) r.status = WEXITSTATUS(ended);
    return r;
}

}  // namespace tutti::cluster::testing
