// Real servers for the tests. Each runs in a temporary folder, on a port of its own or a Unix socket, and ends with the
// test, however the test ends.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tutti/cluster/tls.hpp>

namespace tutti::cluster::testing {

class system_call_interceptor;

/// A process that is killed, with its descendants, when its owner is destroyed.
class process {
public:
    process() = default;
    /// Starts the process; `log` gets its output. With `unprivileged`, a root process becomes the user postgres, or
    /// nobody. `between` is an optional interceptor of system calls, which must outlive the process; a process with an
    /// interceptor does not get LD_PRELOAD.
    process(const std::vector<std::string>& words, const std::string& log, bool unprivileged = false,
            system_call_interceptor* between = nullptr);
    ~process() { end(); }
    process(process&& other) noexcept : id_{std::exchange(other.id_, 0)} {}
    process& operator=(process&& other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }
    /// Sends a signal. After SIGSTOP, returns when all threads have stopped, which is some time after the signal.
    void send(int signal) const;
    /// Kills the process with SIGKILL and waits for its end.
    void end();
    /// Sends a signal that ends the process cleanly. Sends SIGKILL if the process has not ended within the timeout.
    void ask_to_end(int signal, std::chrono::milliseconds timeout);
    /// Waits until the process has ended by itself. Returns true for status 0.
    bool wait();
    /// Returns true if the process has ended, by itself or by `end`.
    [[nodiscard]] bool has_ended() const;
    [[nodiscard]] pid_t id() const noexcept { return id_; }
    [[nodiscard]] bool running() const noexcept { return id_ != 0; }

private:
    /// Returns the process and its descendants.
    [[nodiscard]] std::vector<pid_t> all() const;
    pid_t id_ = 0;
};

class server {
public:
    virtual ~server();
    /// Returns the address in the form of engine_options.
    [[nodiscard]] virtual std::string address() const = 0;
    /// Returns the listening address: host:port, or a path.
    [[nodiscard]] virtual std::string place() const = 0;
    /// Returns the address of the same server at another place, such as a proxy's.
    [[nodiscard]] virtual std::string address_by(const std::string& host_and_port) const = 0;
    /// Return the places that a program has to reach, and the address in which `those` replace them.
    [[nodiscard]] virtual std::vector<std::string> places_to_reach() const { return {place()}; }
    [[nodiscard]] virtual std::string address_by_all(const std::vector<std::string>& those) const {
        return address_by(those.front());
    }
    /// Starts the server on its existing data, and returns when it answers. Throws std::runtime_error.
    virtual void start() = 0;
    /// Sends SIGKILL. If there are several members, each call kills the next one in turn.
    virtual void kill() = 0;
    virtual void send(int signal) = 0;
    /// Restarts processes that have ended by themselves.
    virtual void revive() = 0;
    /// Starts stopped processes on their existing data. Neither waits nor connects, so the only connections of this
    /// process are those of a program that waits for the server.
    virtual void start_unasked() = 0;
    /// Returns the number of processes.
    [[nodiscard]] virtual std::size_t processes() const { return 1; }
    /// Returns the TLS options in the form of engine_options.
    [[nodiscard]] virtual tls_options tls() const { return {}; }
};

/// The folder for the servers' data (a temporary one if empty), and an optional interceptor of their system calls.
struct whereabouts {
    std::string folder{};
    system_call_interceptor* kernel = nullptr;
};

/// The certificates of group members under TLS: member-<n> in a folder that apps/cluster/certificates.sh has made.
/// `fault` is one of wire::fault.
struct group_tls {
    std::string folder;
    int fault = 0;
};

/// A group of members, each a process: "tutti" has one, "tutti3" has three, and "tutti3tls" has three under TLS.
class group_server final : public server {
public:
    /// `fault` is one of replica::fault, and applies to every member.
    explicit group_server(unsigned members, int fault = 0, group_tls encrypted = {}, const whereabouts& at = {});
    ~group_server() override;
    [[nodiscard]] std::string address() const override;
    [[nodiscard]] std::string place() const override { return places_.front(); }
    [[nodiscard]] std::string address_by(const std::string& at) const override { return "tutti://" + at; }
    void start() override;
    void kill() override;
    void send(int signal) override;
    void revive() override;
    void start_unasked() override;
    [[nodiscard]] std::size_t processes() const override;
    [[nodiscard]] tls_options tls() const override;

    [[nodiscard]] const std::vector<std::string>& places() const noexcept { return places_; }
    [[nodiscard]] process& at(std::size_t i) { return members_[i]; }
    [[nodiscard]] std::string folder_of(std::size_t i) const;
    /// Waits until a member that answers reports a leader. Returns the leader's index.
    [[nodiscard]] std::size_t leader() const;
    /// Starts another member and lets it join. Returns when that member is a voter. Its index is the result.
    std::size_t add();
    /// Gives a member another address for its next start.
    void move_to(std::size_t i, const std::string& place) { places_[i] = place; }
    /// Ends a member for good; the group continues without it.
    void retire(std::size_t i);
    /// Starts a member on its existing data, and does not wait.
    void start_one(std::size_t i);
    /// Lets member `from` reach member `to` through another place. REQUIRES: `from` has not been started.
    void route(std::size_t from, std::size_t to, const std::string& by);
    /// Delays the disk of a member that is started from now on.
    void delay_disk(std::size_t i, std::chrono::milliseconds by) { conditions_[i].disk = by; }
    /// Sets the minimum of log bytes that members keep; applies to members that start later.
    void keep_log(std::size_t bytes);
    /// Starts a member with other TLS files than its own; `files` is their path without .pem and .key.
    void start_one(std::size_t i, const std::string& files);
    [[nodiscard]] std::string log_of(std::size_t i) const;

private:
    [[nodiscard]] std::string whom_to_join() const;
    struct home;
    std::unique_ptr<home> home_;
    std::vector<std::string> places_;
    std::vector<process> members_;
    std::set<std::size_t> retired_;
    struct injected_conditions {
        std::vector<std::string> routes;  // address=place
        std::chrono::milliseconds disk{0};
    };
    std::map<std::size_t, injected_conditions> conditions_;  // only for some members
    std::size_t victim_ = 0;
    const int fault_;
    const group_tls encrypted_;
};

/// Two groups that share the objects: "groups" has one member each, "groups3" has three each.
class groups_server final : public server {
public:
    explicit groups_server(unsigned members);
    [[nodiscard]] std::string address() const override;
    [[nodiscard]] std::string place() const override { return all_.front()->place(); }
    [[nodiscard]] std::string address_by(const std::string& at) const override;
    [[nodiscard]] std::vector<std::string> places_to_reach() const override;
    [[nodiscard]] std::string address_by_all(const std::vector<std::string>& those) const override;
    void start() override;
    void kill() override;
    void send(int signal) override;
    void revive() override;
    void start_unasked() override;
    [[nodiscard]] std::size_t processes() const override;

    [[nodiscard]] group_server& at(std::size_t i) { return *all_[i]; }

private:
    std::vector<std::unique_ptr<group_server>> all_;
    std::size_t victim_ = 0;
};

/// Returns a server, or null for "memory". Throws std::runtime_error if the server is not installed.
[[nodiscard]] std::unique_ptr<server> make_server(const std::string& engine, const whereabouts& at = {});
/// Returns the missing software for the engine, or an empty string.
[[nodiscard]] std::string missing_for(const std::string& engine);

}  // namespace tutti::cluster::testing
