// A scheduler of jobs that depend on each other, as a user's program without a race. ThreadSanitizer must not report
// anything. Commits create and destroy objects, plain members are written before their object is reachable, plain
// memory becomes private, and threads wait for each other in every way.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tutti/containers/bounded_queue.hpp>
#include <tutti/containers/hash_map.hpp>
#include <tutti/containers/ordered_map.hpp>
#include <tutti/containers/queue.hpp>
#include <tutti/containers/vector.hpp>
#include <tutti/counter.hpp>
#include <tutti/tutti.hpp>

namespace {

using tutti::tx;

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "scheduler: %s\n", what);
    std::exit(1);
}

/// Memory that a worker writes without a transaction, once the scratch is its own.
struct scratch {
    std::array<long, 64> words{};
    scratch* next = nullptr;
};

struct job {
    job(std::string n, std::vector<std::string> after, int p)
        : name{std::move(n)}, waits_for{std::move(after)}, priority{p} {}
    const std::string name;
    const std::vector<std::string> waits_for;
    const int priority;
    tutti::var<std::size_t> left{0};  // number of jobs that it still waits for
    tutti::var<std::string> state{"new"};
};

class scheduler {
public:
    explicit scheduler(std::size_t scratches) {
        for (std::size_t i = 0; i < scratches; ++i) {
            auto* const one = new scratch;
            one->next = free_;
            free_ = one;
        }
    }
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;
    ~scheduler() {
        tutti::atomically([&](tx& t) { jobs_.for_each(t, [&](const std::string&, job* j) { tutti::destroy(t, j); }); });
        while (free_ != nullptr) delete std::exchange(free_, free_->next);
    }

    /// Submits a job. Returns false if a job of that name exists.
    bool submit(tx& t, const std::string& name, const std::vector<std::string>& after, int priority) {
        if (jobs_.contains(t, name)) return false;
        job* const made = tutti::create<job>(t, name, after, priority);
        std::size_t left = 0;
        for (const std::string& first : after) {
            if (done_.contains(t, first)) continue;
            auto waiting = followers_.find(t, first).value_or(std::vector<std::string>{});
            waiting.push_back(name);
            followers_.insert_or_assign(t, first, waiting);
            ++left;
        }
        made->left.set(t, left);
        jobs_.insert(t, name, made);
        if (left == 0) make_ready(t, *made);
        submitted_.add(t, 1);
        return true;
    }

    /// Returns the most urgent ready job; waits for one; returns null at the end.
    job* take(tx& t) {
        return tutti::or_else(
            t,
            [&](tx& u) {
                const auto name = urgent_.pop(u);
                return start(u, name);
            },
            [&](tx& u) -> job* {
                if (const auto name = ordinary_.try_pop(u)) return start(u, *name);
                if (!closed_.get(u) || jobs_.size(u) != done_.size(u)) tutti::retry(u);
                return nullptr;
            });
    }

    void finish(tx& t, job& j, long result) {
        j.state.set(t, "done");
        done_.insert(t, j.name, result);
        log_.push_back(t, j.name + " is done");
        if (const auto waiting = followers_.extract(t, j.name)) {
            for (const std::string& name : *waiting) {
                job& next = *jobs_.at(t, name);
                const std::size_t left = next.left.get(t) - 1;
                next.left.set(t, left);
                if (left == 0) make_ready(t, next);
            }
        }
        t.on_commit([this] { finished_.fetch_add(1, std::memory_order_relaxed); });
    }

    void close() {
        tutti::atomically([&](tx& t) { closed_.set(t, true); });
    }

    // ---- memory that is private from one commit to the next

    scratch* take_scratch() {
        return tutti::atomically([&](tx& t) {
            scratch* const first = tutti::load(t, &free_);
            if (first == nullptr) tutti::retry(t);
            tutti::store(t, &free_, tutti::load(t, &first->next));
            return first;
        });
    }
    void give_back(scratch* one) {
        tutti::atomically([&](tx& t) {
            tutti::store(t, &one->next, tutti::load(t, &free_));
            tutti::store(t, &free_, one);
        });
    }

    /// Returns the newest lines of the log, read in a read-only block.
    std::string report() const {
        return tutti::atomically({.name = "report", .read_only = true}, [&](tx& t) {
            std::string text = std::to_string(done_.size(t)) + " of " + std::to_string(jobs_.size(t));
            const std::size_t lines = log_.size(t);
            for (std::size_t i = lines > 3 ? lines - 3 : 0; i < lines; ++i) text += ", " + log_.get(t, i);
            return text;
        });
    }
    std::string state_of(const std::string& name) const {
        return tutti::atomically([&](tx& t) { return jobs_.at(t, name)->state.get(t); });
    }
    long sum() const {
        return tutti::atomically([&](tx& t) {
            long total = 0;
            done_.for_each(t, [&](const std::string&, long result) { total += result; });
            return total;
        });
    }
    std::size_t finished() const { return finished_.load(std::memory_order_relaxed); }
    long submitted() const { return submitted_.load(); }

private:
    void make_ready(tx& t, job& j) {
        j.state.set(t, "ready");
        if (j.priority > 0 && urgent_.try_push(t, j.name)) return;
        ordinary_.push(t, j.name);
    }
    job* start(tx& t, const std::string& name) {
        job* const j = jobs_.at(t, name);
        j->state.set(t, "running");
        return j;
    }

    tutti::hash_map<std::string, job*> jobs_;
    tutti::hash_map<std::string, std::vector<std::string>> followers_;
    tutti::ordered_map<std::string, long> done_;
    tutti::bounded_queue<std::string> urgent_{16};
    tutti::queue<std::string> ordinary_;
    tutti::vector<std::string> log_;
    tutti::var<bool> closed_{false};
    tutti::counter submitted_;
    scratch* free_ = nullptr;
    std::atomic<std::size_t> finished_{0};
};

void work(scheduler& s, std::size_t me) {
    for (;;) {
        job* const j = tutti::atomically([&](tx& t) { return s.take(t); });
        if (j == nullptr) return;
        scratch* const mine = s.take_scratch();
        mine->words.fill(static_cast<long>(j->name.size()));
        const long result = std::accumulate(mine->words.begin(), mine->words.end(), 0L);
        mine->words[me] = result;  // directly: no other thread can reach it
        s.give_back(mine);
        tutti::atomically([&](tx& t) { s.finish(t, *j, result); });
    }
}

std::string name_of(int family, int member) { return "job " + std::to_string(family) + "." + std::to_string(member); }

}  // namespace

int main() {
    constexpr int families = 24, members = 12, workers = 3;
    scheduler s{2};
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < workers; ++i) threads.emplace_back([&s, i] { work(s, i); });
        std::atomic<bool> over{false};
        threads.emplace_back([&] {
            while (!over.load()) {
                require(!s.report().empty(), "an empty report");
                std::this_thread::yield();
            }
        });
        std::vector<std::jthread> clients;
        for (int c = 0; c < 2; ++c) {
            clients.emplace_back([&s, c] {
                for (int f = c; f < families; f += 2) {
                    for (int m = 0; m < members; ++m) {
                        std::vector<std::string> after;
                        if (m > 0) after.push_back(name_of(f, m - 1));
                        if (m > 3) after.push_back(name_of(f, m / 2));
                        // Half of them are cancelled first: the objects that they made must be gone.
                        static_cast<void>(tutti::try_atomically([&](tx& t) {
                            s.submit(t, name_of(f, m), after, m % 3);
                            if (m % 2 == 0) tutti::cancel(t);
                        }));
                        tutti::atomically([&](tx& t) { s.submit(t, name_of(f, m), after, m % 3); });
                    }
                }
            });
        }
        clients.clear();
        s.close();
        for (int i = 0; i < workers; ++i) threads[static_cast<std::size_t>(i)].join();
        over = true;
    }
    long expected = 0;
    for (int f = 0; f < families; ++f) {
        for (int m = 0; m < members; ++m) {
            expected += 64 * static_cast<long>(name_of(f, m).size());
            require(s.state_of(name_of(f, m)) == "done", "a job is not done");
        }
    }
    require(s.finished() == families * members, "handlers of commits are missing");
    require(s.submitted() == families * members, "a submission is missing, or is counted twice");
    require(s.sum() == expected, "a result is wrong");
    std::printf("%s\n", s.report().c_str());
}
