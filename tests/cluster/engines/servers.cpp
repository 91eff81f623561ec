#include "cluster/engines/servers.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <tutti/cluster/member.hpp>
#include <tutti/cluster/node.hpp>

#include "cli/port.hpp"
#include "cluster/engines/system_call_interceptor.hpp"
#include "support/memory_folder.hpp"

namespace tutti::cluster::testing {
namespace {

const passwd* somebody() {
    if (const passwd* const p = ::getpwnam("postgres")) return p;
    return ::getpwnam("nobody");
}

std::string find_program(const std::vector<std::string>& candidates) {
    for (const std::string& c : candidates) {
        if (::access(c.c_str(), X_OK) == 0) return c;
    }
    return {};
}

std::string etcd_program() { return find_program({"/usr/bin/etcd", "/usr/local/bin/etcd"}); }
std::string redis_program() { return find_program({"/usr/bin/redis-server", "/usr/local/bin/redis-server"}); }
std::string postgres_folder() {
    for (const char* const version : {"17", "16", "15", "14"}) {
        const std::string folder = std::string{"/usr/lib/postgresql/"} + version + "/bin";
        if (::access((folder + "/initdb").c_str(), X_OK) == 0) return folder;
    }
    return {};
}

/// A temporary folder that is removed with its owner.
class folder {
public:
    /// Creates the folder in `in`, or in the fastest suitable place.
    explicit folder(std::filesystem::path in = {}) {
        const bool on_disk = std::getenv("TUTTI_ENGINE_ON_DISK") != nullptr;
        if (in.empty()) in = on_disk ? std::filesystem::temp_directory_path().string() : support::memory_folder();
        std::string name = (in / "tutti-engine-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no temporary folder can be made"};
        path_ = name;
    }
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

/// Returns true if the process has ended, even if its parent has not reaped it. The first process of a container may
/// not reap its children.
bool is_gone(pid_t p) {
    std::ifstream stat{"/proc/" + std::to_string(p) + "/stat"};
    std::string all;
    if (!std::getline(stat, all)) return true;
    const std::size_t state = all.rfind(')') + 2;
    return state < all.size() && all[state] == 'Z';
}

/// Waits until a node can connect to the engine.
void wait_for(const std::string& address, const process& p, const tls_options& tls = {}) {
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (true) {
        try {
            // This node has a prefix of its own, because the group may be one of several, and this node uses it alone.
            const node here{engine_options{.address = address,
                                           .prefix = "started",
                                           .request_timeout = std::chrono::milliseconds{1000},
                                           .tls = tls}};
            return;
        } catch (const connection_error& e) {
            if (p.has_ended() || std::chrono::steady_clock::now() > late)
                throw std::runtime_error{std::string{"it was started, and does not answer: "} + e.what()};
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
    }
}

/// Reaps ended processes. Returns true if any of them had ended by itself.
bool reap(std::span<process> all) {
    bool any = false;
    for (process& p : all) {
        if (!p.running() || !p.has_ended()) continue;
        p.end();
        any = true;
    }
    return any;
}

class etcd_server final : public server {
public:
    etcd_server(unsigned members, const whereabouts& at) : folder_{at.folder}, kernel_{at.kernel} {
        for (unsigned i = 0; i < members; ++i) {
            clients_.push_back(cli::free_port());
            peers_.push_back(cli::free_port());
        }
        members_.resize(members);
    }
    std::string address() const override {
        std::string all = "etcd://";
        for (const int port : clients_) all += (all.back() == '/' ? "" : ",") + here(port);
        return all;
    }
    std::string place() const override { return here(clients_.front()); }
    std::string address_by(const std::string& at) const override { return "etcd://" + at; }
    void start() override {
        start_unasked();
        wait_for(address(), members_.front());
    }
    void start_unasked() override {
        std::string cluster;
        for (std::size_t i = 0; i < members_.size(); ++i)
            cluster += (i == 0 ? "m" : ",m") + std::to_string(i) + "=http://" + here(peers_[i]);
        for (std::size_t i = 0; i < members_.size(); ++i) {
            if (members_[i].running()) continue;
            const std::string name = "m" + std::to_string(i);
            members_[i] = process{
                {etcd_program(), "--name", name, "--data-dir", folder_.path() + "/" + name, "--listen-client-urls",
                 "http://" + here(clients_[i]), "--advertise-client-urls", "http://" + here(clients_[i]),
                 "--listen-peer-urls", "http://" + here(peers_[i]), "--initial-advertise-peer-urls",
                 "http://" + here(peers_[i]), "--initial-cluster", cluster, "--logger", "zap", "--log-level", "warn"},
                folder_.path() + "/" + name + ".log",
                false,
                kernel_};
        }
    }
    std::size_t processes() const override { return members_.size(); }
    void kill() override { members_[victim_++ % members_.size()].end(); }
    void send(int signal) override {
        for (process& m : members_) m.send(signal);
    }
    void revive() override {
        if (reap(members_)) start();
    }

private:
    static std::string here(int port) { return "127.0.0.1:" + std::to_string(port); }
    folder folder_;
    system_call_interceptor* const kernel_;
    std::vector<int> clients_, peers_;
    std::vector<process> members_;
    std::size_t victim_ = 0;
};

class redis_server final : public server {
public:
    explicit redis_server(const whereabouts& at) : folder_{at.folder}, kernel_{at.kernel} {}
    std::string address() const override { return "redis:" + place(); }
    std::string place() const override { return folder_.path() + "/redis.sock"; }
    std::string address_by(const std::string& at) const override { return "redis://" + at; }
    void start() override {
        start_unasked();
        wait_for(address(), process_);
    }
    void start_unasked() override {
        process_ = process{{redis_program(), "--port", "0", "--unixsocket", place(), "--dir", folder_.path(),
                            "--appendonly", "yes", "--appendfsync", "always", "--save", ""},
                           folder_.path() + "/log",
                           false,
                           kernel_};
    }
    void kill() override { process_.end(); }
    void send(int signal) override { process_.send(signal); }
    void revive() override {
        if (reap({&process_, 1})) start();
    }

private:
    folder folder_;
    system_call_interceptor* const kernel_;
    process process_;
};

class postgres_server final : public server {
public:
    explicit postgres_server(const whereabouts& at) : folder_{at.folder}, kernel_{at.kernel} {}
    std::string address() const override { return address_by(folder_.path()); }
    std::string place() const override { return folder_.path() + "/.s.PGSQL.5432"; }
    std::string address_by(const std::string& at) const override {
        const std::size_t colon = at.rfind(':');
        return "postgres:///postgres?user=tutti&host=" + at.substr(0, colon) +
               (colon == std::string::npos ? "" : "&port=" + at.substr(colon + 1));
    }
    void start() override {
        const std::string data = folder_.path() + "/data";
        if (!std::filesystem::exists(data)) {
            if (::geteuid() == 0 && ::chown(folder_.path().c_str(), somebody()->pw_uid, somebody()->pw_gid) != 0)
                throw std::runtime_error{"the folder of PostgreSQL cannot be given away"};
            process make{{postgres_folder() + "/initdb", "-D", data, "-U", "tutti", "-A", "trust", "--no-sync",
                          "--locale=C", "-E", "UTF8"},
                         folder_.path() + "/initdb.log",
                         true};
            if (!make.wait()) throw std::runtime_error{"initdb failed"};
        }
        start_unasked();
        wait_for(address(), process_);
    }
    void start_unasked() override {
        const std::string data = folder_.path() + "/data";
        process_ =
            process{{postgres_folder() + "/postgres", "-D", data, "-k", folder_.path(), "-c", "listen_addresses=", "-c",
                     "max_connections=100", "-c", "shared_buffers=32MB", "-c", "dynamic_shared_memory_type=mmap"},
                    folder_.path() + "/log",
                    true,
                    kernel_};
    }
    void kill() override { process_.end(); }
    void send(int signal) override { process_.send(signal); }
    void revive() override {
        if (reap({&process_, 1})) start();
    }
    /// SIGKILL would leave PostgreSQL's shared memory behind.
    ~postgres_server() override { process_.ask_to_end(SIGINT, std::chrono::seconds{20}); }

private:
    folder folder_;
    system_call_interceptor* const kernel_;
    process process_;
};

}  // namespace

struct group_server::home {
    folder at;
    system_call_interceptor* kernel;
};

group_server::group_server(unsigned members, int fault, group_tls encrypted, const whereabouts& at)
    : home_{new home{folder{at.folder}, at.kernel}}, fault_{fault}, encrypted_{std::move(encrypted)} {
    for (unsigned i = 0; i < members; ++i) places_.push_back("127.0.0.1:" + std::to_string(cli::free_port()));
    members_.resize(members);
}

group_server::~group_server() = default;

std::string group_server::address() const {
    std::string all = "tutti://";
    for (const std::string& p : places_) all += (all.back() == '/' ? "" : ",") + p;
    return all;
}

std::string group_server::folder_of(std::size_t i) const { return home_->at.path() + "/" + std::to_string(i); }
std::string group_server::log_of(std::size_t i) const { return folder_of(i) + ".log"; }

tls_options group_server::tls() const {
    if (encrypted_.folder.empty()) return {};
    const std::string files = encrypted_.folder + "/program";
    return {.certificate = files + ".pem", .key = files + ".key", .authority = encrypted_.folder + "/ca.pem"};
}

std::string group_server::whom_to_join() const {
    std::size_t one = 0;
    while (retired_.contains(one)) ++one;
    return places_[one];
}

void group_server::start_one(std::size_t i) {
    start_one(i, encrypted_.folder.empty() ? "" : encrypted_.folder + "/member-" + std::to_string(i));
}

void group_server::start_one(std::size_t i, const std::string& files) {
    if (const char* const command = std::getenv("TUTTI_COMMAND")) {
        std::vector<std::string> words{command, "member", "run", "--data-dir", folder_of(i), "--listen", places_[i]};
        if (i == 0) words.push_back("--new-group");
        else words.insert(words.end(), {"--join", whom_to_join()});
        if (!files.empty()) {
            words.insert(words.end(), {"--certificate", files + ".pem", "--key", files + ".key", "--authority",
                                       encrypted_.folder + "/ca.pem"});
        }
        members_[i] = process{words, log_of(i)};
        return;
    }
    const char* const program = std::getenv("TUTTI_MEMBER_PROGRAM");
    if (program == nullptr) throw std::runtime_error{"TUTTI_MEMBER_PROGRAM names the program that is a member"};
    std::vector<std::string> words{program,
                                   folder_of(i),
                                   places_[i],
                                   i == 0 ? "new" : whom_to_join(),
                                   std::to_string(fault_),
                                   files,
                                   encrypted_.folder + "/ca.pem",
                                   std::to_string(encrypted_.fault)};
    if (const auto found = conditions_.find(i); found != conditions_.end()) {
        words.push_back(std::to_string(found->second.disk.count()));
        words.insert(words.end(), found->second.routes.begin(), found->second.routes.end());
    }
    members_[i] = process{words, log_of(i), false, home_->kernel};
}

void group_server::route(std::size_t from, std::size_t to, const std::string& by) {
    conditions_[from].routes.push_back(places_[to] + "=" + by);
}

void group_server::keep_log(std::size_t bytes) {
    for (std::size_t i = 0; i < members_.size(); ++i)
        conditions_[i].routes.push_back("snapshot-bytes=" + std::to_string(bytes));
}

void group_server::start() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (members_[i].running() || retired_.contains(i)) continue;
        const bool join = !std::filesystem::exists(folder_of(i));
        start_one(i);
        // the next member needs a running member to join
        if (i == 0 && join) wait_for(address_by(places_[0]), members_[0], tls());
        const auto is_voter = [&] {
            for (const member_status& m : query_group(places_, std::chrono::milliseconds{500}, tls()).members) {
                if (m.address == places_[i]) return m.votes;
            }
            return false;
        };
        while (join && !is_voter()) std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    wait_for(address(), *std::ranges::find_if(members_, &process::running), tls());
}

void group_server::start_unasked() {
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if (!members_[i].running() && !retired_.contains(i)) start_one(i);
    }
}

void group_server::retire(std::size_t i) {
    members_[i].end();
    retired_.insert(i);
}

std::size_t group_server::processes() const { return members_.size(); }

void group_server::kill() { members_[victim_++ % members_.size()].end(); }

void group_server::send(int signal) {
    for (process& m : members_) m.send(signal);
}

/// Does not wait for answers: during such a wait, another member may end.
void group_server::revive() {
    if (reap(members_)) start_unasked();
}

std::size_t group_server::leader() const {
    while (true) {
        const group_status all = query_group(places_, std::chrono::milliseconds{500}, tls());
        for (const member_status& m : all.members) {
            if (m.state != "leader" || m.term == 0) continue;
            const auto found = std::find(places_.begin(), places_.end(), m.address);
            if (found != places_.end()) return static_cast<std::size_t>(found - places_.begin());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
}

std::size_t group_server::add() {
    places_.push_back("127.0.0.1:" + std::to_string(cli::free_port()));
    members_.emplace_back();
    start();
    return members_.size() - 1;
}

groups_server::groups_server(unsigned members) {
    for (int i = 0; i < 2; ++i) all_.push_back(std::make_unique<group_server>(members));
}

std::string groups_server::address() const {
    std::string all;
    // the length of "tutti://"
    for (const auto& one : all_) all += all.empty() ? one->address() : ";" + one->address().substr(8);
    return all;
}

std::string groups_server::address_by(const std::string& at) const {
    return "tutti://" + at + ";" + all_[1]->address().substr(8);
}

std::vector<std::string> groups_server::places_to_reach() const { return {all_[0]->place(), all_[1]->place()}; }

std::string groups_server::address_by_all(const std::vector<std::string>& those) const {
    return "tutti://" + those[0] + ";" + those[1];
}

void groups_server::start() {
    for (const auto& one : all_) one->start();
}

void groups_server::kill() { all_[victim_++ % all_.size()]->kill(); }

void groups_server::send(int signal) {
    for (const auto& one : all_) one->send(signal);
}

void groups_server::start_unasked() {
    for (const auto& one : all_) one->start_unasked();
}

std::size_t groups_server::processes() const { return all_.size() * all_.front()->processes(); }

void groups_server::revive() {
    for (const auto& one : all_) one->revive();
}

process::process(const std::vector<std::string>& words, const std::string& log, bool unprivileged,
                 system_call_interceptor* between) {
    std::vector<char*> arguments;
    for (const std::string& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
    arguments.push_back(nullptr);
    std::vector<char*> environment;
    for (char** word = environ; *word != nullptr; ++word) {
        if (between == nullptr || !std::string_view{*word}.starts_with("LD_PRELOAD=")) environment.push_back(*word);
    }
    environment.push_back(nullptr);
    std::optional<system_call_interceptor::handover> introduction;
    if (between != nullptr) introduction.emplace();
    const passwd* const who = unprivileged && ::geteuid() == 0 ? somebody() : nullptr;
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    const pid_t parent = ::getpid();
    id_ = ::fork();
    if (id_ < 0) throw std::runtime_error{"no process can be made"};
    if (id_ != 0) {
        ::close(out);
        if (between != nullptr) between->adopt(*introduction, id_);
        return;
    }
    if (who != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(who->pw_gid) != 0 || ::setuid(who->pw_uid) != 0))
        ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after the change of the user, which clears this setting
    if (::getppid() != parent) ::_exit(126);
    ::dup2(out, 1);
    ::dup2(out, 2);
    if (::chdir("/") != 0) ::_exit(126);
    if (introduction) introduction->submit();
    ::execve(arguments.front(), arguments.data(), environment.data());
    ::_exit(127);
}

std::vector<pid_t> process::all() const {
    std::vector<pid_t> found;
    if (id_ == 0) return found;
    found.push_back(id_);
    std::ifstream children{"/proc/" + std::to_string(id_) + "/task/" + std::to_string(id_) + "/children"};
    for (pid_t child = 0; children >> child;) found.push_back(child);
    return found;
}

bool process::has_ended() const { return id_ == 0 || is_gone(id_); }

void process::send(int signal) const {
    for (const pid_t p : all()) ::kill(p, signal);
    int how = 0;
    while (signal == SIGSTOP && ::waitpid(id_, &how, WUNTRACED) == id_ && !WIFSTOPPED(how)) {}
}

void process::end() {
    const std::vector<pid_t> those = all();
    if (those.empty()) return;
    for (const pid_t p : those) ::kill(p, SIGKILL);
    ::waitpid(std::exchange(id_, 0), nullptr, 0);
    // This process cannot wait for grandchildren, and they keep their memory until they are gone.
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    for (const pid_t p : those) {
        while (!is_gone(p) && std::chrono::steady_clock::now() < late)
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

void process::ask_to_end(int signal, std::chrono::milliseconds timeout) {
    if (id_ == 0) return;
    ::kill(id_, signal);
    const auto late = std::chrono::steady_clock::now() + timeout;
    while (!has_ended() && std::chrono::steady_clock::now() < late)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    end();
}

bool process::wait() {
    int status = 0;
    ::waitpid(std::exchange(id_, 0), &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

server::~server() = default;

std::string missing_for(const std::string& engine) {
    if (engine.starts_with("etcd") && etcd_program().empty()) return "etcd-server";
    if (engine == "redis" && redis_program().empty()) return "redis-server";
    if (engine == "postgres" && postgres_folder().empty()) return "postgresql";
    return {};
}

namespace {

/// A group with certificates of its own.
class secured_group final : public server {
public:
    secured_group() : group_{3, 0, {make(folder_)}} {}
    std::string address() const override { return group_.address(); }
    std::string place() const override { return group_.place(); }
    std::string address_by(const std::string& at) const override { return group_.address_by(at); }
    void start() override { group_.start(); }
    void kill() override { group_.kill(); }
    void send(int signal) override { group_.send(signal); }
    void revive() override { group_.revive(); }
    void start_unasked() override { group_.start_unasked(); }
    std::size_t processes() const override { return group_.processes(); }
    tls_options tls() const override { return group_.tls(); }

private:
    static std::string make(const folder& in) {
        process script{{TUTTI_CERTIFICATES, in.path(), "3", "tutti", "member"}, in.path() + "/log"};
        if (!script.wait()) throw std::runtime_error{"no certificates can be made: is openssl installed?"};
        return in.path();
    }
    folder folder_;
    group_server group_;
};

}  // namespace

std::unique_ptr<server> make_server(const std::string& engine, const whereabouts& at) {
    std::unique_ptr<server> made;
    if (engine == "etcd") made = std::make_unique<etcd_server>(1, at);
    else if (engine == "etcd3") made = std::make_unique<etcd_server>(3, at);
    else if (engine == "tutti") made = std::make_unique<group_server>(1, 0, group_tls{}, at);
    else if (engine == "tutti3") made = std::make_unique<group_server>(3, 0, group_tls{}, at);
    else if (engine == "groups") made = std::make_unique<groups_server>(1);
    else if (engine == "groups3") made = std::make_unique<groups_server>(3);
    else if (engine == "tutti3tls") made = std::make_unique<secured_group>();
    else if (engine == "redis") made = std::make_unique<redis_server>(at);
    else if (engine == "postgres") made = std::make_unique<postgres_server>(at);
    if (made) made->start();
    return made;
}

}  // namespace tutti::cluster::testing
