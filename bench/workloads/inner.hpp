// A transaction of several steps, each an operation and some computing. The transaction runs in the ways of
// engines/tutti_inner.hpp. These are the experiments of Mishra, "HyflowCPP", 2013, 6.3 and 6.4, on one machine.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engines/tutti.hpp"
#include "harness/cases.hpp"
#include "harness/computing.hpp"
#include "harness/worker_group.hpp"
#include "structures/hash_set.hpp"
#include "structures/sized.hpp"
#include "structures/skip_list.hpp"
#include "structures/sorted_list.hpp"
#include "workloads/inner_subjects.hpp"

namespace bench {

template <class Subject>
class inner_step {
    using operation = typename Subject::operation;

public:
    inner_step(Subject& subject, const operation& o, std::uint64_t turns, thread_result& done)
        : subject_{&subject}, operation_{o}, turns_{turns}, done_{&done} {}

    template <class Context>
    auto operate(Context& c) {
        ++done_->steps;
        const auto result = subject_->apply(c, operation_);
        invariant_sum_ = Subject::invariant_sum(result);
        return result;
    }
    void compute() const noexcept { bench::compute(turns_); }
    template <class Context>
    void run(Context& c) {
        operate(c);
        compute();
    }
    template <class Context, class Result>
    void undo(Context& c, const Result& result) const {
        subject_->undo(c, operation_, result);
    }
    auto locks() const { return subject_->locks(operation_); }
    /// Returns the invariant sum of the last run, the one that committed.
    long invariant_sum() const { return invariant_sum_; }

private:
    Subject* subject_;
    operation operation_;
    std::uint64_t turns_;
    thread_result* done_;
    long invariant_sum_ = 0;
};

template <class Way, class Subject>
outcome run_inner(const plan& how, unsigned steps) {
    const std::uint64_t turns = turns_of(std::chrono::microseconds{10});
    const auto subject = std::make_unique<Subject>();
    outcome result = timed_round(how, [&](unsigned index, const stop_flag& stop) {
        random_numbers random{index + 2};
        thread_result done;
        std::vector<inner_step<Subject>> all;
        all.reserve(steps);
        done.operations = repeat<1>(stop, [&] {
            all.clear();
            for (unsigned i = 0; i < steps; ++i)
                all.emplace_back(*subject, Subject::draw(random(), i == steps / 2), turns, done);
            Way::update([&all, &done](auto& c) {
                ++done.bodies;
                Way::run(c, std::span{all});
            });
            for (const auto& step : all) done.invariant_sum += step.invariant_sum();
        });
        return done;
    });
    result.broken = subject->broken(result.invariant_sum);
    result.steps_due = result.operations * steps;
    return result;
}

template <class Way, class Subject>
void add_inner_of(const std::string& what) {
    for (const unsigned steps : {1U, 2U, 5U, 10U}) {
        add_case<Way>("nesting", what + "-" + std::to_string(steps),
                      [steps](const plan& how) { return run_inner<Way, Subject>(how, steps); });
    }
}

template <class Way>
void add_inner() {
    using E = tutti_default;
    add_inner_of<Way, inner_bank<E, 32>>("bank-few");
    add_inner_of<Way, inner_bank<E, 16 * 1024, true>>("bank-posts");
    add_inner_of<Way, inner_bank<E, 16 * 1024>>("bank-many");
    add_inner_of<Way, inner_set<E, sorted_list<E>, 64>>("list");
    add_inner_of<Way, inner_set<E, sorted_list<E>, 64, 99>>("list-reads");
    add_inner_of<Way, inner_set<E, skip_list<E>, 256>>("skip-few");
    add_inner_of<Way, inner_set<E, skip_list<E, 12>, 16 * 1024>>("skip-many");
    add_inner_of<Way, inner_set<E, sized<E, hash_set<E>>, 4096>>("hash-sized");
    add_inner_of<Way, inner_set<E, hash_set<E>, 32 * 1024>>("hash-many");
}

}  // namespace bench
