// A node in a process of its own. Each of its threads writes two objects at a time. The thread reports each transaction
// on standard output before the transaction begins, and again when its outcome is known:
//
//   try <thread> <number> <object> <object>
//   did | lost | unknown <thread> <number>
//
// Standard input has the commands. The node answers "done" at the end of each:
//
//   fill        publishes the objects
//   mend        publishes the objects that do not exist
//   work        starts the threads; "work again" starts those of a node that has rejoined
//   rest        stops the threads
//   read        reports each object: "has <object> <the last transaction of each thread>", "mended" instead of "has"
//               for an object that was published again, "gone <object>" if a node is lost, "none <object>" if the
//               object does not exist
//   resolve     waits until every transaction of a lost node is decided here
//
// Arguments: the node's number, its failure timeout in milliseconds, "stay" or "move", the addresses of all nodes.
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <tutti/cluster/ref.hpp>
#include <tutti/tutti.hpp>

#include "cluster/ledger.hpp"

namespace {

using namespace tutti;
using namespace tutti::cluster::testing;
using cluster::node;
using cluster::ref;

/// Writes the line with one system call, so that lines of several threads do not mix.
void report(const std::string& text) {
    const std::string line = text + "\n";
    if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}

ref<ledger_page> page(node& here, std::uint64_t number) { return {here, cluster::object_id{79, number}}; }

void fill(node& here) {
    atomically([&](tx& t) {
        for (unsigned i = 0; i < ledger_objects; ++i) page(here, i).publish(t, {});
    });
}

void mend(node& here) {
    for (unsigned i = 0; i < ledger_objects; ++i) {
        try {
            atomically([&](tx& t) {
                if (page(here, i).find(t) == nullptr) page(here, i).publish(t, {.again = true});
            });
        } catch (const cluster::node_lost&) {}  // the outcome is in doubt
    }
}

void work(node& here, unsigned thread, const std::stop_token& over) {
    std::uint64_t dice = 88172645463325252u + thread;
    const auto below = [&dice](std::uint64_t n) {  // xorshift (Marsaglia)
        dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
        return dice % n;
    };
    for (std::uint32_t number = 1; !over.stop_requested(); ++number) {
        const std::uint64_t one = below(ledger_objects), other = (one + 1 + below(ledger_objects - 1)) % ledger_objects;
        const std::string name = std::to_string(thread) + " " + std::to_string(number);
        report("try " + name + " " + std::to_string(one) + " " + std::to_string(other));
        const char* fate = "did ";
        try {
            atomically([&](tx& t) {
                page(here, one).write(t).last[thread] = number;
                page(here, other).write(t).last[thread] = number;
            });
        } catch (const cluster::outcome_unknown&) {
            fate = "unknown ";
        } catch (const cluster::node_lost&) {
            fate = "lost ";
        } catch (const cluster::no_such_object&) {
            fate = "lost ";
        }
        report(fate + name);
    }
}

void read_all(node& here) {
    for (unsigned i = 0; i < ledger_objects; ++i) {
        std::string text = "gone " + std::to_string(i);
        try {
            const ledger_page found = atomically([&](tx& t) { return page(here, i).read(t); });
            text = (found.again ? "mended " : "has ") + std::to_string(i);
            for (const std::uint32_t last : found.last) text += " " + std::to_string(last);
        } catch (const cluster::node_lost&) {
        } catch (const cluster::no_such_object&) {
            text = "none " + std::to_string(i);
        }
        report(text);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the process does not outlive an aborted test
    try {
        cluster::node_options how;
        how.node_number = static_cast<unsigned>(std::stoul(argv[1]));
        how.failure_timeout = std::chrono::milliseconds{std::stol(argv[2])};
        if (std::string_view{argv[3]} == "move") how.placement = cluster::placement::writer;
        how.addresses.assign(argv + 4, argv + argc);
        node here{how};
        report("ready");
        std::vector<std::jthread> threads;
        for (std::string line; std::getline(std::cin, line);) {
            if (line == "fill") fill(here);
            if (line == "mend") mend(here);
            const unsigned of = line == "work again" ? 3 : how.node_number;
            for (unsigned i = 0; line.starts_with("work") && i < ledger_threads_of_node; ++i) {
                threads.emplace_back([&here, thread = of * ledger_threads_of_node + i](const std::stop_token& over) {
                    work(here, thread, over);
                });
            }
            if (line == "rest") threads.clear();
            while (line == "resolve" && here.status().transactions_in_doubt != 0) std::this_thread::yield();
            if (line == "read") read_all(here);
            report("done");
        }
        return 0;
    } catch (const std::exception& e) {
        std::cerr << e.what() << std::endl;
        return 1;
    }
}
