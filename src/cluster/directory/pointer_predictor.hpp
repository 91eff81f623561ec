// Predicts which of this node's own pointers are worth following, from the results of earlier reads.
//
// If many nodes write an object, a pointer to it is usually outdated, because the object has moved on from the node
// that the pointer names. The home learns of every move. A read that begins at the home finds the owner at the second
// node that it asks. A read that begins at a correct pointer finds the owner at the first node. If the pointer is
// wrong, the read finds the owner at the third node, by way of the home. The home's answer shows whether the pointer
// was correct, so every read updates the prediction.
//
// The counters have two bits, as in branch prediction (Smith, "A Study of Branch Prediction Strategies", ISCA 1981).
// Objects with the same hash share a counter.
//
// Thread safety: every member may be called from any thread. A count that is lost in a race only makes the prediction
// slightly worse.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "tutti/cluster/id.hpp"

namespace tutti::cluster {

class pointer_predictor {
public:
    pointer_predictor() noexcept {
        for (auto& c : counters_) c.store(weakly_wrong, std::memory_order_relaxed);
    }
    [[nodiscard]] bool predicts_valid(const object_id& id) const noexcept {
        return counters_[index_of(id)].load(std::memory_order_relaxed) >= weakly_right;
    }
    void record(const object_id& id, bool right) noexcept {
        std::atomic<std::uint8_t>& c = counters_[index_of(id)];
        const std::uint8_t now = c.load(std::memory_order_relaxed);
        if (right && now < surely_right) c.store(static_cast<std::uint8_t>(now + 1), std::memory_order_relaxed);
        if (!right && now > 0) c.store(static_cast<std::uint8_t>(now - 1), std::memory_order_relaxed);
    }

private:
    static constexpr std::uint8_t weakly_wrong = 1, weakly_right = 2, surely_right = 3;
    [[nodiscard]] static std::size_t index_of(const object_id& id) noexcept {
        return object_id_hash{}(id) % std::tuple_size_v<decltype(counters_)>;
    }
    std::array<std::atomic<std::uint8_t>, 1u << 14> counters_;
};

}  // namespace tutti::cluster
