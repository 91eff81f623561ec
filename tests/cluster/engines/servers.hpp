// Real servers for the tests: each in a temporary folder, on a port of its own or a Unix socket, and ended
// with the test, however that ends.
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

class meddler;

/// A process that is killed with its owner, and with those that it has started.
class process {
public:
    process() = default;
    /// `log` gets what it prints. As root, `unprivileged` becomes the user postgres, or nobody. `between` it and the
    /// kernel there may be somebody, who outlives it; then it gets no library of LD_PRELOAD.
    process(const std::vector<std::string>& words, const std::string& log, bool unprivileged = false,
            meddler* between = nullptr);
    ~process() { end(); }
    process(process&& other) noexcept : id_{std::exchange(other.id_, 0)} {}
    process& operator=(process&& other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }
    /// SIGSTOP: returns when no thread of it runs any more, which is some time after the signal.
    void send(int signal) const;
    /// kill -9, and waits for it.
    void end();
    /// A signal that it ends on, cleanly; kill -9 if it has not within the patience.
    void ask_to_end(int signal, std::chrono::milliseconds patience);
    /// Waits until it has ended by itself: whether with status 0.
    bool wait();
    /// By itself, or by `end`.
    [[nodiscard]] bool has_ended() const;
    [[nodiscard]] pid_t id() const noexcept { return id_; }
    [[nodiscard]] bool running() const noexcept { return id_ != 0; }

private:
    /// It, and those that it has started.
    [[nodiscard]] std::vector<pid_t> all() const;
    pid_t id_ = 0;
};

class server {
public:
    virtual ~server();
    /// As engine_options take it.
    [[nodiscard]] virtual std::string address() const = 0;
    /// Where it listens: host:port, or a path.
    [[nodiscard]] virtual std::string place() const = 0;
    /// The same by another place, such as a proxy's.
    [[nodiscard]] virtual std::string address_by(const std::string& host_and_port) const = 0;
    /// The places of all that a program has to reach, and the address by others that stand for them.
    [[nodiscard]] virtual std::vector<std::string> places_to_reach() const { return {place()}; }
    [[nodiscard]] virtual std::string address_by_all(const std::vector<std::string>& those) const {
        return address_by(those.front());
    }
    /// Starts it, on the data that it has, and returns when it answers. Throws std::runtime_error.
    virtual void start() = 0;
    /// kill -9; of one member, and another each time, where there are several.
    virtual void kill() = 0;
    virtual void send(int signal) = 0;
    /// Starts again what has ended by itself.
    virtual void revive() = 0;
    /// Starts what does not run, on the data that it has. Neither waits nor connects: the connections of a program that
    /// waits for the server are all that this process has.
    virtual void start_unasked() = 0;
    /// The number of processes.
    [[nodiscard]] virtual std::size_t processes() const { return 1; }
    /// As engine_options take it.
    [[nodiscard]] virtual tls_options tls() const { return {}; }
};

/// Where servers keep their data, a temporary folder if it is empty; and who is between their processes and the kernel.
struct whereabouts {
    std::string folder{};
    meddler* kernel = nullptr;
};

/// What members of a group under TLS show: member-<n> of a folder that apps/cluster/certificates.sh has made; and one
/// of wire::fault.
struct group_tls {
    std::string folder;
    int fault = 0;
};

/// A group of members, each a process: "tutti" is of one, "tutti3" of three, "tutti3tls" of three under TLS.
class group_server final : public server {
public:
    /// `fault` is one of replica::fault, which every member has.
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
    /// Which of them leads, once one of those that answer does; waits for it.
    [[nodiscard]] std::size_t leader() const;
    /// Lets another one join; it is started, and a voter when this returns.
    std::size_t add();
    /// One that is started from now on has another address.
    void move_to(std::size_t i, const std::string& place) { places_[i] = place; }
    /// Ends one for good: the group does without it from now on.
    void retire(std::size_t i);
    /// Starts one on its data, and does not wait.
    void start_one(std::size_t i);
    /// Has member `from` reach member `to` by another place; REQUIRES: it has not been started.
    void route(std::size_t from, std::size_t to, const std::string& by);
    /// The disk of a member that is started from now on says so much later that it has written.
    void delay_disk(std::size_t i, std::chrono::milliseconds by) { hardships_[i].disk = by; }
    /// Members that are started from now on keep so many bytes of log at least.
    void keep_log(std::size_t bytes);
    /// The same as `start_one(i)`, with other files than its own: their names without .pem and .key.
    void start_one(std::size_t i, const std::string& files);
    [[nodiscard]] std::string log_of(std::size_t i) const;

private:
    [[nodiscard]] std::string whom_to_join() const;
    struct home;
    std::unique_ptr<home> home_;
    std::vector<std::string> places_;
    std::vector<process> members_;
    std::set<std::size_t> retired_;
    struct hardship {
        std::vector<std::string> routes;  // address=place
        std::chrono::milliseconds disk{0};
    };
    std::map<std::size_t, hardship> hardships_;  // of some members
    std::size_t victim_ = 0;
    const int fault_;
    const group_tls encrypted_;
};

/// Two groups that objects are spread over: "groups" of one member each, "groups3" of three.
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

/// "memory" has none: null. Throws std::runtime_error where the server is not installed.
[[nodiscard]] std::unique_ptr<server> make_server(const std::string& engine, const whereabouts& at = {});
/// What has to be installed for it; empty where it is.
[[nodiscard]] std::string missing_for(const std::string& engine);

}  // namespace tutti::cluster::testing
