// Snapshots that are written while calls run. Catches a server
//   - whose calls wait for a dump, or whose dump sees effects of later calls (calls_continue_during_a_snapshot)
//   - that stores half a snapshot, or uses its remains for a part of the next one (survives_an_interrupted_dump)
//   - that ends, loses calls, or takes no more snapshots when the dumping process fails (reports_a_failed_dump)
//   - that waits at its end for a dump (ends_the_server_during_a_dump)
//   - that takes a snapshot in the middle of a call (waits_for_running_calls)
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "server/client.hpp"
#include "server/durability/log_folder.hpp"
#include "server/journal/log_store.hpp"
#include "tutti/server/service.hpp"
#include "tutti/tutti.hpp"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TUTTI_FORK_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TUTTI_FORK_IS_SANITIZED 1
#endif
#endif

#if !defined(TUTTI_FORK_IS_SANITIZED)
namespace {
std::atomic<bool> no_forks{false};
}
/// Replaces the C library's fork in this process.
extern "C" ::pid_t fork() {
    if (no_forks) {
        errno = ENOMEM;
        return -1;
    }
    static auto* const usual = reinterpret_cast<::pid_t (*)()>(::dlsym(RTLD_NEXT, "fork"));
    return usual();
}
#endif

namespace tutti::server {
namespace {

class a_pipe {
public:
    a_pipe() { EXPECT_EQ(::pipe(ends_), 0); }
    ~a_pipe() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    a_pipe(const a_pipe&) = delete;
    a_pipe& operator=(const a_pipe&) = delete;
    void send() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
    void receive() const {
        char one = 0;
        EXPECT_EQ(::read(ends_[0], &one, 1), 1);
    }

private:
    int ends_[2];
};

/// The fault of a dump after half of its pieces, in either process.
enum class fault : std::uint8_t { none, waits, is_killed, crashes, throws };

/// Two sums that are equal after each call.
struct sums {
    explicit sums(settings how) : serves{std::move(how)} {
        registry& to = serves.procedures();
        to.add("add", {}, [this](long more) {
            return atomically([&](tx& t) {
                left.set(t, left.get(t) + more);
                right.set(t, right.get(t) + more);
                return left.get(t);
            });
        });
        to.add("read", {.read_only = true}, [this] { return left.load(); });
        to.add("elsewhere", {}, [this] { other.store(other.load() + 1); });
        to.add("stay", {}, [this] {
            atomically({.mode = mode::irrevocable}, [this](tx& t) {
                left.set(t, left.get(t) + 1);
                is_staying = true;
                is_staying.notify_all();
                may_leave.wait(false);
                right.set(t, right.get(t) + 1);
            });
        });
        to.at_snapshot(
            "sums", [this](snapshot_writer& out) { dump(out); },
            [this](snapshot_reader& from) {
                left.store(std::stol(std::string{*from.next()}));
                while (const auto piece = from.next())
                    right.store(piece->size() < 30 ? std::stol(std::string{*piece}) : 0);
            });
        serves.start();
    }
    ~sums() { may_leave = true; }
    sums(const sums&) = delete;
    sums& operator=(const sums&) = delete;

    long add(long more) { return serves.call<long>("add", {}, more).get(); }
    long read() { return serves.call<long>("read", {}).get(); }
    std::size_t figure(const std::string& name) { return number_of(serves.info(), name); }
    bool says(const std::string& text) { return serves.info().find(text) != std::string::npos; }

    var<long> left{0}, right{0}, other{0};
    std::atomic<fault> how{fault::none};
    std::atomic<bool> is_staying{false}, may_leave{false};
    a_pipe has_begun, may_go_on;
    service serves;

private:
    void dump(snapshot_writer& out) {
        const fault now = ::getpid() == parent_ && how != fault::waits ? fault::none : how.load();
        atomically([&](tx& t) {
            out.put(std::to_string(left.get(t)));
            for (int i = 0; i < 5; ++i) out.put(std::string(100'000, '.'));  // more than one batch
            if (now == fault::waits) {
                has_begun.send();
                may_go_on.receive();
            }
            if (now == fault::is_killed) ::raise(SIGKILL);
            if (now == fault::crashes) ::raise(SIGSEGV);
            if (now == fault::throws) throw std::runtime_error{"the dump is at a loss"};
            out.put(std::to_string(right.get(t)));
        });
    }

    const ::pid_t parent_ = ::getpid();
};

class snapshot_test : public log_folder {
protected:
    settings eager() {
        settings how = logging_to("log", log_sync::always);
        how.workers = 2;
        how.log.snapshot_after = 1;
        if (std::getenv("TUTTI_TEST_THREADS") != nullptr) how.executor = execution::threads;
        return how;
    }
    settings eager(const std::string& name) {
        settings how = eager();
        how.log.file = file(name);
        return how;
    }
    void copy_as_if_killed(const std::string& name) const {
        for (const char* const suffix : {"", "-wal"}) {
            if (std::filesystem::exists(file() + suffix))
                std::filesystem::copy_file(file() + suffix, file(name) + suffix);
        }
    }
    static void until(const auto& holds) {
        while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    void until_notice(const std::string& text) {
        until([&] { return notices().find(text) != std::string::npos; });
    }
};

std::vector<std::string> short_parts(const std::string& file) {
    std::vector<std::string> all;
    journal::log_store log{file};
    log.read_snapshot([&](std::string_view part) {
        if (part.size() < 100) all.emplace_back(part.substr(4 + std::string_view{"sums"}.size()));
    });
    return all;
}

TEST_F(snapshot_test, calls_continue_during_a_snapshot) {
    sums s{eager()};
    s.how = fault::waits;
    EXPECT_EQ(s.add(5), 5);
    s.has_begun.receive();
    s.how = fault::none;
    EXPECT_EQ(s.add(1), 6);
    EXPECT_EQ(s.read(), 6);
    until([&] { return s.figure("log_snapshot_in_progress") == 1; });
    s.may_go_on.send();
    until([&] { return s.figure("log_snapshots") != 0; });
    copy_as_if_killed("copy");
    EXPECT_EQ(short_parts(file("copy")), (std::vector<std::string>{"5", "5"})) << "the dump met a later call";
    EXPECT_GE(s.figure("log_snapshot_bytes"), 500'000U);
    sums again{eager("copy")};
    EXPECT_EQ(again.left.load(), 6);
    EXPECT_EQ(again.right.load(), 6);
    EXPECT_NE(notices().find("1 calls were run again, on a snapshot"), std::string::npos) << notices();
}

TEST_F(snapshot_test, survives_an_interrupted_dump) {
    sums s{eager()};
    s.how = fault::waits;
    EXPECT_EQ(s.add(5), 5);
    s.has_begun.receive();
    s.how = fault::none;
    EXPECT_EQ(s.add(1), 6);
    copy_as_if_killed("copy");
    s.may_go_on.send();
    {
        sums again{eager("copy")};
        EXPECT_EQ(again.read(), 6) << "what was begun is no snapshot";
        EXPECT_NE(notices().find("2 calls were run again, on no snapshot"), std::string::npos) << notices();
        until([&] { return again.figure("log_snapshots") != 0; });
    }
    EXPECT_EQ(short_parts(file("copy")), (std::vector<std::string>{"6", "6"}));
}

TEST_F(snapshot_test, reports_a_failed_dump) {
    sums s{eager()};
    struct {
        fault how;
        const char* told;
    } const all[] = {{fault::is_killed, "the snapshot failed: the process that writes it was killed by signal 9"},
                     {fault::crashes, "the snapshot failed: the process that writes it was killed by signal 11"},
                     {fault::throws, "the snapshot failed: the dump is at a loss"}};
    long sum = 0;
    for (const auto& one : all) {
        s.how = one.how;
        EXPECT_EQ(s.add(1), ++sum);
        until_notice(one.told);
        EXPECT_FALSE(s.says("log_snapshot_failure:\r\n"));
    }
    EXPECT_EQ(s.add(1), ++sum);
    s.how = fault::none;
    EXPECT_GE(s.figure("log_snapshots_failed"), std::size(all));
    copy_as_if_killed("copy");
    sums again{eager("copy")};
    EXPECT_EQ(again.read(), sum) << "the log is whole";
    until([&] { return again.figure("log_snapshots") != 0; });
}

#if !defined(TUTTI_FORK_IS_SANITIZED)
// The test needs a fork that fails, and a sanitizer replaces fork itself.
TEST_F(snapshot_test, reports_a_failed_fork) {
    sums s{eager()};
    no_forks = true;
    EXPECT_EQ(s.add(1), 1);
    until_notice("the snapshot failed: cannot fork: Cannot allocate memory");
    EXPECT_EQ(s.add(1), 2);
    no_forks = false;
    until([&] { return s.figure("log_snapshots") != 0; });
}
#endif

TEST_F(snapshot_test, ends_the_server_during_a_dump) {
    {
        sums s{eager()};
        s.how = fault::waits;
        EXPECT_EQ(s.add(5), 5);
        s.has_begun.receive();
        s.how = fault::none;
        EXPECT_EQ(s.add(1), 6);
        s.serves.drain();
    }
    sums again{eager()};
    EXPECT_EQ(again.read(), 6);
    EXPECT_NE(notices().find("0 calls were run again, on a snapshot"), std::string::npos) << notices();
}

TEST_F(snapshot_test, waits_for_running_calls) {
    sums s{eager()};
    s.how = fault::waits;
    EXPECT_EQ(s.add(5), 5);
    s.has_begun.receive();
    s.how = fault::none;
    s.may_go_on.send();
    until([&] { return s.figure("log_snapshots") == 1; });
    auto stays = s.serves.call<void>("stay", {});
    s.is_staying.wait(false);
    s.serves.call<void>("elsewhere", {}).get();  // a snapshot must contain this call
    // the snapshot was tried, and waited in vain
    until([&] { return s.figure("log_snapshot_longest_pause_us") >= 10'000; });
    EXPECT_EQ(s.figure("log_snapshots"), 1U);
    s.may_leave = true;
    s.may_leave.notify_all();
    stays.get();
    until([&] { return s.figure("log_snapshots") == 2; });
    copy_as_if_killed("copy");
    EXPECT_EQ(short_parts(file("copy")), (std::vector<std::string>{"6", "6"}));
}

}  // namespace
}  // namespace tutti::server
