// Containers: jobs wait in queues, are found by name, and their results are kept in order. Every step moves a job from
// one container to the next in one transaction, so a job is always in exactly one of them.
#include <cstdio>
#include <string>
#include <thread>

#include <tutti/containers/bounded_queue.hpp>
#include <tutti/containers/hash_map.hpp>
#include <tutti/containers/ordered_map.hpp>
#include <tutti/containers/queue.hpp>
#include <tutti/containers/vector.hpp>
#include <tutti/tutti.hpp>

namespace {

using tutti::tx;

class office {
public:
    /// Waits while too many urgent jobs are open.
    void submit(tx& t, const std::string& name, bool urgent) {
        if (!open_.insert(t, name, urgent ? "urgent" : "normal")) return;  // the job is already open
        if (urgent) urgent_.push(t, name);
        else normal_.push(t, name);
    }
    /// Does the next job, or waits for one. Urgent jobs come first.
    void work(tx& t) {
        const std::string name =
            tutti::or_else(t, [&](tx& u) { return urgent_.pop(u); }, [&](tx& u) { return normal_.pop(u); });
        if (const auto kind = open_.extract(t, name)) done_.insert(t, name, *kind);
        log_.push_back(t, name);
    }
    [[nodiscard]] std::size_t jobs(tx& t) const { return open_.size(t) + done_.size(t); }
    void report(tx& t) const {
        done_.for_each(t, "job 2", "job 3", [](const std::string& name, const std::string& kind) {
            std::printf("%s was %s\n", name.c_str(), kind.c_str());
        });
        if (const auto last = log_.back(t)) {
            std::printf("%zu jobs done, the last one was %s\n", log_.size(t), last->c_str());
        }
    }

private:
    tutti::bounded_queue<std::string> urgent_{2};
    tutti::queue<std::string> normal_;
    tutti::hash_map<std::string, std::string> open_;
    tutti::ordered_map<std::string, std::string> done_;
    tutti::vector<std::string> log_;
};

}  // namespace

int main() {
    constexpr int jobs = 24;
    office the_office;
    {
        const std::jthread clerk{[&] {
            for (int i = 0; i < jobs; ++i) tutti::atomically([&](tx& t) { the_office.work(t); });
        }};
        for (int i = 1; i <= jobs; ++i) {
            const std::string name = "job " + std::to_string(i);
            tutti::atomically([&](tx& t) { the_office.submit(t, name, i % 3 == 0); });
        }
    }
    tutti::atomically({.mode = tutti::mode::irrevocable}, [&](tx& t) { the_office.report(t); });
    const std::size_t all = tutti::atomically({.read_only = true}, [&](tx& t) { return the_office.jobs(t); });
    return all == jobs ? 0 : 1;
}
