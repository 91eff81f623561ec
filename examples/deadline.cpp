// A frame must be drawn in time while other threads keep changing the scene. As the deadline comes closer, it makes the
// drawing block stricter. Afterwards the program knows whether the deadline was met.
#include <atomic>
#include <cstdio>
#include <thread>
#include <tutti/tutti.hpp>
#include <vector>

using namespace std::chrono_literals;

int main() {
    std::vector<tutti::var<long>> positions(2000);
    std::atomic<bool> closing{false};

    // Physics: moves two things at a time, so that the sum of all positions is always zero.
    std::vector<std::jthread> physics;
    physics.reserve(2);
    for (std::size_t me = 0; me < 2; ++me) {
        physics.emplace_back([&, me] {
            for (std::size_t i = me; !closing; ++i) {
                auto &a = positions[i % 2000], &b = positions[(i * 7 + 1) % 2000];
                tutti::atomically([&](tutti::tx& t) {
                    a.set(t, a.get(t) + 1);
                    b.set(t, b.get(t) - 1);
                });
            }
        });
    }

    // Rendering: a frame every 2 ms. Nine in ten frames should be ready 1 ms after their tick.
    int in_time = 0, late = 0, dropped = 0;
    bool consistent = true;
    tutti::deadline_outcome outcome;
    auto tick = std::chrono::steady_clock::now();
    for (int frame = 0; frame < 50; ++frame) {
        tick += 2ms;
        std::this_thread::sleep_until(tick);
        try {
            const long sum = tutti::atomically(
                {
                    .name = "render",
                    .deadline = tick + 1ms,
                    .qos = 0.9,
                    .when_missed = tutti::missed_deadline::refuse,
                    .outcome = &outcome,
                },
                [&](tutti::tx& t) {
                    long total = 0;
                    for (const auto& p : positions) total += p.get(t);
                    return total;
                });
            consistent &= sum == 0;
            ++(outcome.met ? in_time : late);
        } catch (const tutti::deadline_missed&) {
            ++dropped;  // drawing it would only delay the next one
        }
    }
    closing = true;
    physics.clear();
    std::printf("%d frames in time, %d late, %d dropped\n", in_time, late, dropped);
    return consistent && in_time + late + dropped == 50 ? 0 : 1;
}
