/// @file
/// HyflowCPP's `Atomic`: functions as transactions, and what follows when the block around them commits or aborts.
#pragma once

#include <memory>

#include "tutti/cluster/hyflow/context.hpp"
#include "tutti/open_nesting.hpp"

namespace tutti::cluster::hyflow {

/// What a function of an `Atomic` is given. One that has an `onAbort` or an `onCommit` is run after its caller's
/// frame may have gone, on a copy: then `getClone` must make one.
class TUTTI_EXPORT BenchMarkArgs {
public:
    virtual ~BenchMarkArgs() = default;
    virtual void getClone(BenchMarkArgs** copy) { *copy = nullptr; }
};

/// What it gives back; the same.
class TUTTI_EXPORT BenchMarkReturn {
public:
    virtual ~BenchMarkReturn() = default;
    virtual void getClone(BenchMarkReturn** copy) { *copy = nullptr; }
};

/// Runs a function as a transaction (section 3.2): nested if a block of this thread runs, closed by default.
///
/// - With `onAbort` it is open nested (5.4): it commits at once, and if the block around it is rolled back after that,
///   `onAbort` runs as a transaction and has to take its effects back. An exception out of it ends the program; so does
///   a node that is lost meanwhile.
/// - With `onCommit`, that runs as a transaction of its own once the outermost block has committed.
///
/// `onAbort` and `onCommit` get `self` as it was passed, so it must live until the outermost block has ended, and
/// copies of `args` and of `result` as the function left it.
class Atomic {
public:
    using function = void (*)(HyflowObject* self, BenchMarkArgs* args, HyflowContext* context, BenchMarkReturn* result);

    function atomically = nullptr;
    function onCommit = nullptr;
    function onAbort = nullptr;

    /// Throws usage_error without a function, where a copy is needed and there is none, and for an `onAbort` or
    /// `onCommit` inside a block with checkpoints: what goes on at one does not run again what came before it.
    void execute(HyflowObject* self, BenchMarkArgs* args, BenchMarkReturn* result) const {
        if (atomically == nullptr) throw usage_error{"tutti: Atomic::execute without a function in Atomic::atomically"};
        const function f = atomically;
        const auto body = [f, self, args, result](HyflowContext* c) { f(self, args, c, result); };
        if (onAbort == nullptr && onCommit == nullptr) return run(body);
        if (HyflowContext::open != nullptr && HyflowContext::open->has_checkpoints()) {
            throw usage_error{
                "tutti: onAbort or onCommit in a block with checkpoints, which would go on without what they belong "
                "to: "
                "leave HYFLOW_CHECKPOINT_INIT out of the block"};
        }
        const std::shared_ptr<BenchMarkArgs> arguments = copy_of(args);
        node& here = HyflowContext::here();
        if (HyflowContext::open == nullptr) {
            run(body);
            if (onCommit != nullptr) follow(here, onCommit, self, arguments, copy_of(result));
            return;
        }
        tx& t = *HyflowContext::open->tx_;
        std::shared_ptr<BenchMarkReturn> left;
        if (onAbort == nullptr) {
            run(body);
            left = copy_of(result);
        } else {
            left = open_nested(
                t,
                [&](tx& inner) {
                    alone(here, inner, body);
                    return copy_of(result);
                },
                [&here, undo = onAbort, self, arguments](tx& u, const std::shared_ptr<BenchMarkReturn>& was) {
                    alone(here, u, [&](HyflowContext* c) { undo(self, arguments.get(), c, was.get()); });
                });
        }
        if (onCommit == nullptr) return;
        t.on_commit([&here, then = onCommit, self, arguments, left] { follow(here, then, self, arguments, left); });
    }

private:
    /// A body that is part of no block around it.
    template <class Body>
    static void alone(node& here, tx& t, Body&& body) {
        HyflowContext context{here, nullptr};
        context.attempt(t, body, __builtin_frame_address(0));
    }
    static void follow(node& here, function f, HyflowObject* self, const std::shared_ptr<BenchMarkArgs>& args,
                       const std::shared_ptr<BenchMarkReturn>& result) {
        tutti::atomically(
            [&](tx& t) { alone(here, t, [&](HyflowContext* c) { f(self, args.get(), c, result.get()); }); });
    }
    template <class What>
    static std::shared_ptr<What> copy_of(What* what) {
        if (what == nullptr) return nullptr;
        What* copy = nullptr;
        what->getClone(&copy);
        if (copy != nullptr) return std::shared_ptr<What>{copy};
        throw usage_error{
            "tutti: onAbort and onCommit run after the arguments and the result may have gone: give their classes "
            "getClone, which makes a copy by new"};
    }
};

}  // namespace tutti::cluster::hyflow
