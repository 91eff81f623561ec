// Those who ask a node what it does, and belong to no cluster: how many at a time, what each may ask, `status`,
// `timeline` and `doubts`, and what it is told, whatever carries it. One question after the other.
//
// An observer cannot touch what nodes agree on, but for `settle`, by which an operator says what is to become of a
// transaction that no node knows the outcome of. Of its headers nothing is looked at but what makes them a question,
// not its clock either. One that says something else, or nothing for as long as nodes wait for each other, is cut off
// by who carries its questions.
//
// Thread safety: `describe` on any thread; the rest on the one that reads.
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

    /// One that has said hello, for as long as it is there.
    class visit {
    public:
        explicit visit(observers& at) noexcept : host_{at} { host_.here_.fetch_add(1, std::memory_order_relaxed); }
        ~visit();
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;

    private:
        observers& host_;
    };

    /// Whether there are as many as are answered. Then the next one is told so, by this frame.
    [[nodiscard]] bool are_enough() const noexcept { return here_.load(std::memory_order_relaxed) >= most_observers; }
    [[nodiscard]] std::string turn_away();
    /// How many bytes follow that header; nothing: it is no question.
    [[nodiscard]] static std::optional<std::size_t> rest_of(std::string_view question);
    /// The frame that answers it; nothing: it makes no sense. REQUIRES: rest_of() has said how long `body` is.
    [[nodiscard]] std::optional<std::string> answer(const visit& to, std::string_view question, std::string_view body);
    /// One has said something that is no question.
    void cut_off() noexcept { cut_off_.add_one(); }
    void describe(cluster::node_facts& to) const noexcept;

private:
    [[nodiscard]] timeline_told carry_out(const visit& v, timeline_order what);
    template <class Told>
    [[nodiscard]] std::string frame(std::uint64_t call, kind what, const Told& told) const;

    const node_number self_;
    observed& whom_;
    const visit* records_ = nullptr;  // for whom the node records
    std::atomic<std::uint32_t> here_{0};
    observe::counter refused_, cut_off_;
};

}  // namespace tutti::wire
