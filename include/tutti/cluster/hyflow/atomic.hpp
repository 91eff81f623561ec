/// @file
/// HyflowCPP's `Atomic`: functions as transactions, with actions that follow when the outer block commits or aborts.
#pragma once

#include <memory>

#include "tutti/cluster/hyflow/context.hpp"
#include "tutti/open_nesting.hpp"

namespace tutti::cluster::hyflow {

/// The arguments of a function of an `Atomic`. An `onAbort` or `onCommit` receives a copy of the arguments, because the
/// caller's frame may have ended. So an `Atomic` with such a function requires a `getClone` that makes a copy.
class TUTTI_EXPORT BenchMarkArgs {
public:
    virtual ~BenchMarkArgs() = default;
    virtual void getClone(BenchMarkArgs** copy) { *copy = nullptr; }
};

/// The result of a function of an `Atomic`. `getClone` must make a copy in the same cases as that of BenchMarkArgs.
class TUTTI_EXPORT BenchMarkReturn {
public:
    virtual ~BenchMarkReturn() = default;
    virtual void getClone(BenchMarkReturn** copy) { *copy = nullptr; }
};

/// Runs a function as a transaction (section 3.2). Inside another block of this thread, the transaction is nested, and
/// by default it is a closed nested one.
///
/// - With `onAbort`, the transaction is open nested (5.4) and commits at once. If the outer block rolls back later,
///   `onAbort` runs as a transaction and has to undo the effects. An exception that leaves `onAbort`, or a node that is
///   lost meanwhile, terminates the program.
/// - With `onCommit`, this function runs as a transaction of its own after the outermost block has committed.
///
/// `onAbort` and `onCommit` receive `self` as the caller passed it, so `self` must live until the outermost block has
/// ended. Both functions receive copies of `args`, and of `result` as the function left it.
class Atomic {
public:
    using function = void (*)(HyflowObject* self, BenchMarkArgs* args, HyflowContext* context, BenchMarkReturn* result);

    function atomically = nullptr;
    function onCommit = nullptr;
    function onAbort = nullptr;

    /// Throws usage_error if `atomically` is null, or if a needed copy cannot be made. Also throws usage_error for an
    /// `onAbort` or `onCommit` inside a block with checkpoints. A block that continues at a checkpoint does not run the
    /// code before the checkpoint again.
    void execute(HyflowObject* self, BenchMarkArgs* args, BenchMarkReturn* result) const {
        if (atomically == nullptr) throw usage_error{"tutti: Atomic::execute without a function in Atomic::atomically"};
        const function f = atomically;
        const auto body = [f, self, args, result](HyflowContext* c) { f(self, args, c, result); };
        if (onAbort == nullptr && onCommit == nullptr) return run(body);
        if (HyflowContext::open != nullptr && HyflowContext::open->has_checkpoints()) {
            throw usage_error{
                "tutti: onAbort and onCommit cannot be used in a block with checkpoints; remove "
                "HYFLOW_CHECKPOINT_INIT from the block"};
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
    /// Runs a body that is not part of any outer block.
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
            "tutti: onAbort and onCommit may run after the arguments and the result are destroyed; give their classes "
            "a getClone that makes a copy by new"};
    }
};

}  // namespace tutti::cluster::hyflow
