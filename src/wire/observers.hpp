// The observers of a node, on any transport. An observer belongs to no cluster, and asks a node what it does: `status`,
// `timeline` and `doubts`. This class limits the number of observers and the questions of each, and makes the answers.
// Each observer asks one question at a time.
//
// An observer cannot change what nodes agree on, except by `settle`: with it, an operator decides a transaction whose
// outcome no node knows. Only the fields of a header that identify a question are used; its clock is ignored. The
// transport disconnects an observer that sends anything else, or that is silent for as long as nodes wait for each
// other.
//
// Thread safety: any thread may call `describe`. Only the reading thread may call the other members.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "observe/counter.hpp"
#include "wire/observed.hpp"

namespace tutti::wire {

class observers {
public:
    observers(node_number self, observed& whom) noexcept : self_{self}, whom_{whom} {}
    observers(const observers&) = delete;
    observers& operator=(const observers&) = delete;

    /// An observer that has said hello, for as long as it is connected.
    class visit {
    public:
        explicit visit(observers& at) noexcept : host_{at} { host_.here_.fetch_add(1, std::memory_order_relaxed); }
        ~visit();
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;

    private:
        observers& host_;
    };

    /// Returns true if no more observers are answered. Then send the frame of turn_away() to the next one.
    [[nodiscard]] bool are_enough() const noexcept { return here_.load(std::memory_order_relaxed) >= most_observers; }
    [[nodiscard]] std::string turn_away();
    /// Returns how many bytes follow that header, or nothing if it is not a question.
    [[nodiscard]] static std::optional<std::size_t> rest_of(std::string_view question);
    /// Returns the frame that answers a question, or nothing if the question is invalid.
    /// REQUIRES: `body` has the length that rest_of() has returned.
    [[nodiscard]] std::optional<std::string> answer(const visit& to, std::string_view question, std::string_view body);
    /// Counts an observer that has sent something else than a question.
    void cut_off() noexcept { cut_off_.add_one(); }
    void describe(cluster::node_facts& to) const noexcept;

private:
    [[nodiscard]] timeline_told carry_out(const visit& v, timeline_order what);
    template <class Told>
    [[nodiscard]] std::string frame(std::uint64_t call, kind what, const Told& told) const;

    const node_number self_;
    observed& whom_;
    const visit* records_ = nullptr;  // the observer that the node records for
    std::atomic<std::uint32_t> here_{0};
    observe::counter refused_, cut_off_;
};

}  // namespace tutti::wire
