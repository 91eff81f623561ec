/// @file
/// HyflowCPP's context: what the macros of a block act on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tutti/atomically.hpp"
#include "tutti/cluster/hyflow/checkpoints.hpp"

namespace tutti::cluster::hyflow {

namespace detail {

inline constinit std::atomic<node*> node_of_process{nullptr};
inline thread_local node* node_of_thread = nullptr;

}  // namespace detail

/// The node of every thread of this process that does not say otherwise; HyflowCPP has one node a process. It must
/// outlive the blocks.
inline void use(node& here) noexcept { detail::node_of_process.store(&here, std::memory_order_release); }

/// The node of this thread, as long as it lives: for several nodes in one process.
class thread_on {
public:
    explicit thread_on(node& here) noexcept : before_{detail::node_of_thread} { detail::node_of_thread = &here; }
    ~thread_on() { detail::node_of_thread = before_; }
    thread_on(const thread_on&) = delete;
    thread_on& operator=(const thread_on&) = delete;

private:
    node* before_;
};

/// One block, whatever its attempts. Programs get a pointer to it, which they pass on to functions that use the macros.
/// It belongs to the thread that runs the block; blocks of preemptable contexts, which share threads, are not for it.
class HyflowContext {
public:
    HyflowContext(const HyflowContext&) = delete;
    HyflowContext& operator=(const HyflowContext&) = delete;

    /// Opens the object, which may take a round trip; an object that is open is found at once. False if there is none
    /// and `abort_on_null` is not set; otherwise throws no_such_object.
    bool fetchObject(const std::string& id, bool is_read = true, bool abort_on_null = true) {
        (void)is_read;  // the protocol takes its locks when it commits, so both are fetched in one way
        note_touch(id);
        if (at(id).find(*tx_) != nullptr) return true;
        if (abort_on_null) (void)at(id).read(*tx_);
        return false;
    }
    /// Several in one round trip.
    void fetchObjects(const std::string ids[], int count, bool is_read = true) {
        std::vector<ref<detail::boxed>> all;
        for (int i = 0; i < count; ++i) all.push_back(at(ids[i]));
        prefetch(*tx_, all);
        for (int i = 0; i < count; ++i) fetchObject(ids[i], is_read);
    }
    /// To look at, until the block ends or a nested block that writes it is rolled back. Throws no_such_object.
    const HyflowObject* onReadAccess(const std::string& id) {
        note_touch(id);
        return at(id).read(*tx_).get();
    }
    const HyflowObject* onReadAccess(const HyflowObject* object) { return onReadAccess(object->getId()); }
    /// To change in place, for as long.
    HyflowObject* onWriteAccess(const std::string& id) {
        note_touch(id);
        detail::boxed& b = at(id).write(*tx_);
        note_write(id);
        return b.get();
    }
    HyflowObject* onWriteAccess(const HyflowObject* object) { return onWriteAccess(object->getId()); }
    /// Takes the object, which was made by `new`. Changes of it count until the block ends. Throws no_such_object if
    /// there is one of its id, and usage_error if its class was not registered.
    void addToPublish(HyflowObject* object) {
        detail::boxed b{std::unique_ptr<HyflowObject>{object}};
        const std::string id = object->getId();
        note_touch(id);
        at(id).publish(*tx_, {});
        at(id).write(*tx_) = std::move(b);
        note_write(id);
    }
    /// Ends it; the pointer stays good until the block ends. Throws no_such_object.
    void addToDelete(const HyflowObject* object) {
        const std::string id = object->getId();
        note_touch(id);
        deleted_.push_back(at(id).write(*tx_).share());
        at(id).erase(*tx_);
        note_write(id);
    }

    /// Puts `*where` back to `value` when the block goes on at a later checkpoint. Throws usage_error if it is a local
    /// variable of the block itself, which the way back there ends.
    template <class T, class V>
    void store(T* where, const V& value) {
        refuse_own(where);
        checkpoints_.variable([where, value] { *where = value; });
    }

    // For the macros.
    void checkpoint_init() {
        if (has_touched_) {
            throw usage_error{
                "tutti: HYFLOW_CHECKPOINT_INIT after the block's first object, which no checkpoint would know of: "
                "make it the first line of the block"};
        }
        checkpoints_.enable();
    }
    void checkpoint_here(int line) {
        if (!checkpoints_.enabled()) {
            throw usage_error{"tutti: HYFLOW_CHECKPOINT_HERE without HYFLOW_CHECKPOINT_INIT at the block's beginning"};
        }
        checkpoints_.set(*tx_, node_, line);
        goes_on_at_ = line;
        at_checkpoint_ = true;
    }
    /// Where the block begins: 0, or the line of a checkpoint.
    [[nodiscard]] int goes_on_at() const noexcept { return goes_on_at_; }

private:
    friend class Atomic;
    template <class Body>
    friend void run(Body&& body);

    /// Of the block around this one, for as long as it lives, unless `around` is null: then nothing that is done here
    /// is part of another block.
    HyflowContext(node& here, HyflowContext* around) : node_{here}, around_{around}, before_{open} {
        for (const HyflowContext* c = around; c != nullptr; c = c->around_)
            known_before_.push_back(c->checkpoints_.known());
        open = this;
    }
    ~HyflowContext() { open = before_; }

    /// `outside`: an address that the locals of the block lie below, and those of its callers above.
    template <class Body>
    void attempt(tx& t, Body& body, const void* outside) {
        tx_ = &t;
        outside_ = reinterpret_cast<std::uintptr_t>(outside);
        deleted_.clear();
        has_touched_ = false;
        std::size_t level = 0;
        for (HyflowContext* c = around_; c != nullptr; c = c->around_)
            c->checkpoints_.forget_since(known_before_[level++]);
        goes_on_at_ = checkpoints_.resume(t, node_);
        for (HyflowContext* c = around_; c != nullptr; c = c->around_) c->checkpoints_.adopt(checkpoints_);
        do {
            at_checkpoint_ = false;
            body(this);
        } while (at_checkpoint_);
    }

    /// In a frame of its own, which is younger than every local of the block.
    TUTTI_NOINLINE void refuse_own(const void* variable) const {
        const auto place = reinterpret_cast<std::uintptr_t>(variable);
        if (place < reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) || place >= outside_) return;
        throw usage_error{
            "tutti: HYFLOW_STORE of a variable of the block, which ends where the block goes back to a checkpoint: "
            "declare it before HYFLOW_ATOMIC_START"};
    }

    [[nodiscard]] ref<detail::boxed> at(const std::string& id) const noexcept { return {node_, id}; }
    /// A nested block's objects are those of the blocks around it, too: their checkpoints may come after it.
    void note_touch(const std::string& id) {
        for (HyflowContext* c = this; c != nullptr; c = c->around_) {
            c->has_touched_ = true;
            c->checkpoints_.touched(*tx_, node_, id);
        }
    }
    void note_write(const std::string& id) {
        for (HyflowContext* c = this; c != nullptr; c = c->around_) c->checkpoints_.written(id);
    }
    [[nodiscard]] bool has_checkpoints() const noexcept {
        return checkpoints_.enabled() || (around_ != nullptr && around_->has_checkpoints());
    }

    static node& here() {
        if (open != nullptr) return open->node_;
        node* const n = detail::node_of_thread != nullptr ? detail::node_of_thread
                                                          : detail::node_of_process.load(std::memory_order_acquire);
        if (n != nullptr) return *n;
        throw usage_error{
            "tutti: no node for a block of HyflowCPP: make one and call tutti::cluster::hyflow::use(node)"};
    }

    static inline thread_local HyflowContext* open = nullptr;  // the innermost of this thread

    node& node_;
    HyflowContext* around_;
    HyflowContext* before_;
    tx* tx_ = nullptr;
    std::uintptr_t outside_ = 0;
    int goes_on_at_ = 0;
    bool has_touched_ = false;
    bool at_checkpoint_ = false;  // the body has left to come back at goes_on_at_
    detail::checkpoints checkpoints_;
    std::vector<std::size_t> known_before_;  // by the checkpoints of the blocks around it, outwards, when it began
    std::vector<std::shared_ptr<HyflowObject>> deleted_;
};

/// What HYFLOW_ATOMIC_START and _END put around a block: `body(HyflowContext*)`, nested if a block of this thread runs.
template <class Body>
TUTTI_NOINLINE void run(Body&& body) {
    HyflowContext context{HyflowContext::here(), HyflowContext::open};
    const void* const outside = __builtin_frame_address(0);
    atomically([&](tx& t) { context.attempt(t, body, outside); });
}

}  // namespace tutti::cluster::hyflow
