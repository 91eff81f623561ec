#include "interpreter.hpp"

#include <deque>
#include <thread>

#include "actor.hpp"

namespace crossings {

std::vector<trace> interpret(const program& p, world& w, std::atomic<std::uint32_t>& clock) {
    std::deque<actor> actors;
    std::vector<std::thread> threads;
    const int many = static_cast<int>(p.threads.size()) * p.copies;
    rendezvous_point together{many};
    for (const auto& body : p.threads)
        for (int i = 0; i < p.copies; ++i) {
            actor& a = actors.emplace_back(w, together, clock);
            if (many == 1) {
                a.run_at_top(body);
                break;
            }
            threads.emplace_back([&together, &a, &body] {
                together.wait();
                a.run_at_top(body);
            });
        }
    for (auto& t : threads) t.join();
    actors.emplace_back(w, together, clock).read_all();
    std::vector<trace> traces;
    for (actor& a : actors) traces.push_back(a.take());
    return traces;
}

void collect_what_is_retired() {
    static tutti::var<std::string> spare{std::string{}};
    for (int i = 0; i < 520; ++i) spare.store({});
}

}  // namespace crossings
