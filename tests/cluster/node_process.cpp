// One node in a process of its own. The node runs the commands of its standard input and answers each line with "done",
// or with "lost" if a node that the command needs is lost.
//
//   commit <n>    runs n blocks, each of which writes the node's own object
//   bind <n>      does the same with n irrevocable blocks
//   sweep <n>     runs n irrevocable blocks, each of which adds one to the objects of all nodes, its own first; answers
//                 "twice" if a block ran more than once
//   value         reports the value of the node's own object
//   cancel <n>    runs n blocks that use that object and are cancelled
//   storm         starts a thread that writes the shared objects one after another until the process ends
//   endure <p>    runs a block of policy p that reads all shared objects for a while and writes one; reports how many
//                 attempts it took
//   look <n>      runs n blocks, each of which looks up another object, so that all nodes are asked
//   hold          opens the objects of all nodes in an irrevocable block, reports "held", and never ends
//   doze          starts one more thread that sleeps in retry until the end
//
// Arguments: the node's number, its failure timeout in milliseconds, the address of its metrics or -, the addresses of
// all nodes. The node prints "ready <port of the metrics>" when all nodes are connected.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

namespace {

using namespace tutti;
using cluster::ref;

using tutti::cluster::node;

std::string name_of_counter(unsigned node) { return "counter of node " + std::to_string(node); }

long value(node& here) {
    const ref<long> counter{here, name_of_counter(here.number())};
    return atomically([&](tx& t) { return counter.read(t); });
}

/// Returns false if a node that the blocks need is lost.
bool run(node& here, const std::string& verb, long times) {
    const ref<long> counter{here, name_of_counter(here.number())};
    try {
        for (long i = 0; i < times; ++i) {
            if (verb == "commit" || verb == "bind") {
                atomically({.mode = verb == "bind" ? mode::irrevocable : mode::optimistic}, [&](tx& t) {
                    if (counter.find(t) == nullptr) counter.publish(t, 1);
                    else counter.write(t) += 1;
                });
            } else if (verb == "cancel") {
                (void)try_atomically([&](tx& t) {
                    (void)counter.find(t);
                    cancel(t);
                });
            } else {
                const ref<long> one{here, {77, static_cast<std::uint64_t>(i)}};
                atomically([&](tx& t) { (void)one.find(t); });
            }
        }
        return true;
    } catch (const cluster::node_lost&) {
        return false;
    }
}

/// Returns true if each block ran once.
bool sweep(node& here, long times) {
    long runs = 0;
    for (long i = 0; i < times; ++i) {
        atomically({.mode = mode::irrevocable}, [&](tx& t) {
            ++runs;
            for (unsigned n = 0; n < here.nodes(); ++n) {
                const unsigned which = (here.number() + n) % here.nodes();
                ref<long>{here, name_of_counter(which)}.write(t) += 1;
            }
        });
    }
    return runs == times;
}

constexpr unsigned shared_objects = 16;

ref<long> shared_object(node& here, unsigned i) { return {here, {78, i % shared_objects}}; }

void storm(node& here, const std::stop_token& over) {
    try {
        for (unsigned i = here.number(); !over.stop_requested(); ++i) {
            const ref<long> one = shared_object(here, i * 7);
            atomically([&](tx& t) {
                if (one.find(t) == nullptr) one.publish(t, 1);
                else one.write(t) += 1;
            });
        }
    } catch (const cluster::node_lost&) {
        return;  // the other nodes have ended first
    }
}

/// Returns the number of attempts of a block that reads every shared object and writes the first.
long endure(node& here, const std::string& by) {
    use_policy(by);
    long attempts = 0, sum = 0;
    atomically([&](tx& t) {
        ++attempts;
        sum = 0;
        for (unsigned i = 0; i < shared_objects; ++i) {
            const long* const one = shared_object(here, i).find(t);
            sum += one != nullptr ? *one : 0;
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
        }
        if (shared_object(here, 0).find(t) != nullptr) shared_object(here, 0).write(t) += 1;
        else shared_object(here, 0).publish(t, 1);
    });
    return attempts;
}

[[noreturn]] void hold(node& here) {
    atomically({.mode = mode::irrevocable}, [&](tx& t) {
        for (unsigned i = 0; i < here.nodes(); ++i) (void)ref<long>{here, name_of_counter(i)}.find(t);
        std::cout << "held" << std::endl;
        while (true) ::pause();
    });
    std::abort();
}

/// Threads that sleep in retry until the process ends.
class dozers {
public:
    explicit dozers(const node& here) : here_{here} {}
    ~dozers() {
        atomically([&](tx& t) { wake_.set(t, true); });
        for (std::thread& s : threads_) s.join();
    }
    dozers(const dozers&) = delete;
    dozers& operator=(const dozers&) = delete;
    void one_more() {
        threads_.emplace_back([this] {
            atomically([&](tx& t) {
                if (!wake_.get(t)) retry(t);
            });
        });
        while (here_.status().retry_waiters != threads_.size()) std::this_thread::yield();
    }

private:
    const node& here_;
    var<bool> wake_{false};
    std::vector<std::thread> threads_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the process does not outlive an aborted test
    try {
        cluster::node_options how;
        how.node_number = static_cast<unsigned>(std::stoul(argv[1]));
        how.failure_timeout = std::chrono::milliseconds{std::stol(argv[2])};
        if (std::string_view{argv[3]} != "-") how.metrics = argv[3];
        for (int i = 4; i < argc; ++i) how.addresses.emplace_back(argv[i]);
        node here{how};
        std::cout << "ready " << here.metrics_port() << std::endl;
        dozers asleep{here};
        std::jthread weather;
        for (std::string line; std::getline(std::cin, line);) {
            std::istringstream words{line};
            std::string verb;
            long times = 0;
            std::string argument;
            words >> verb >> argument;
            if (argument.find_first_not_of("0123456789") == std::string::npos && !argument.empty())
                times = std::stol(argument);
            std::string said = "done";
            if (verb == "hold") hold(here);
            else if (verb == "doze") asleep.one_more();
            else if (verb == "sweep") said = sweep(here, times) ? "done" : "twice";
            else if (verb == "storm")
                weather = std::jthread{[&here](const std::stop_token& over) { storm(here, over); }};
            else if (verb == "endure") said = std::to_string(endure(here, argument));
            else if (verb == "value") said = std::to_string(value(here));
            else if (!run(here, verb, times)) said = "lost";
            std::cout << said << std::endl;
        }
        return 0;
    } catch (const std::exception& e) {
        std::cerr << e.what() << std::endl;
        return 1;
    }
}
