#include "stamp/builds/lengths.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace stamp {
namespace {

using samples = std::map<std::string, std::vector<float>>;

std::mutex handing_in;
samples handed_in;
std::uint64_t blocks_handed_in = 0;

}  // namespace

/// The samples of one thread.
struct own_samples {
    ~own_samples() {
        const std::lock_guard guard{handing_in};
        blocks_handed_in += stopwatch::blocks_;
        for (const auto& [site, some] : by_site) {
            std::vector<float>& all = handed_in[site];
            all.insert(all.end(), some.begin(), some.end());
        }
    }
    std::vector<std::pair<const char*, std::vector<float>>> by_site;  // only a few sites
};

namespace {

thread_local own_samples own;

constexpr std::size_t max_samples = 1 << 20;  // samples of a thread for each site

double clock_cost() {
    auto least = std::chrono::nanoseconds::max();
    for (int i = 0; i < 1000; ++i) {
        const auto before = std::chrono::steady_clock::now();
        least = std::min<std::chrono::nanoseconds>(least, std::chrono::steady_clock::now() - before);
    }
    return static_cast<double>(least.count());
}

}  // namespace

void stopwatch::record_duration(const char* site, std::chrono::nanoseconds took) {
    auto found = std::ranges::find_if(own.by_site, [&](const auto& s) { return s.first == site; });
    if (found == own.by_site.end()) found = own.by_site.emplace(own.by_site.end(), site, std::vector<float>{});
    if (found->second.size() < max_samples) found->second.push_back(static_cast<float>(took.count()));
}

void stopwatch::start() {
    handed_in.clear();
    blocks_handed_in = 0;
    on_ = true;
}

std::uint64_t stopwatch::blocks() noexcept { return blocks_handed_in; }

std::vector<site_lengths> stopwatch::stop() {
    on_ = false;
    const double clock = clock_cost();
    std::vector<site_lengths> all;
    for (auto& [site, took] : handed_in) {
        std::ranges::sort(took);
        const auto percentile = [&](std::size_t p) { return std::max(0.0, took[(took.size() - 1) * p / 100] - clock); };
        all.push_back({site, took.size(), percentile(50), percentile(90), percentile(99)});
    }
    return all;
}

}  // namespace stamp
