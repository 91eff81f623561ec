/// @file
/// HyflowCPP's context, on which the macros of a block operate.
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

/// Sets the node of every thread of this process that has no node of its own. HyflowCPP has one node per process. The
/// node must outlive the blocks.
inline void use(node& here) noexcept { detail::node_of_process.store(&here, std::memory_order_release); }

/// Sets the node of this thread for the lifetime of the object. Use this class for several nodes in one process.
class thread_on {
public:
    explicit thread_on(node& here) noexcept : before_{detail::node_of_thread} { detail::node_of_thread = &here; }
    ~thread_on() { detail::node_of_thread = before_; }
    thread_on(const thread_on&) = delete;
    thread_on& operator=(const thread_on&) = delete;

private:
    node* before_;
};

/// The state of one block, for all attempts of the block. A program receives a pointer to this context, and passes the
/// pointer to functions that use the macros. The context belongs to the thread that runs the block. Blocks of
/// preemptable contexts share threads, so they must not use this class.
class HyflowContext {
public:
    HyflowContext(const HyflowContext&) = delete;
    HyflowContext& operator=(const HyflowContext&) = delete;

    /// Opens the object, which may take one round trip. If the object is open already, sends no message. If there is no
    /// such object, throws no_such_object if `abort_on_null` is true, and returns false otherwise.
    bool fetchObject(const std::string& id, bool is_read = true, bool abort_on_null = true) {
        (void)is_read;  // the protocol locks objects only at commit, so reads and writes fetch in the same way
        record_use(id);
        if (at(id).find(*tx_) != nullptr) return true;
        if (abort_on_null) (void)at(id).read(*tx_);
        return false;
    }
    /// Opens several objects in one round trip.
    void fetchObjects(const std::string ids[], int count, bool is_read = true) {
        std::vector<ref<detail::boxed>> all;
        for (int i = 0; i < count; ++i) all.push_back(at(ids[i]));
        prefetch(*tx_, all);
        for (int i = 0; i < count; ++i) fetchObject(ids[i], is_read);
    }
    /// Returns the object for reading. The pointer is valid until the block ends, or until a nested block that writes
    /// the object rolls back. Throws no_such_object.
    const HyflowObject* onReadAccess(const std::string& id) {
        record_use(id);
        return at(id).read(*tx_).get();
    }
    const HyflowObject* onReadAccess(const HyflowObject* object) { return onReadAccess(object->getId()); }
    /// Returns the object, which you can change in place. The pointer is valid as long as that of onReadAccess.
    HyflowObject* onWriteAccess(const std::string& id) {
        record_use(id);
        detail::boxed& b = at(id).write(*tx_);
        record_write(id);
        return b.get();
    }
    HyflowObject* onWriteAccess(const HyflowObject* object) { return onWriteAccess(object->getId()); }
    /// Publishes an object that was made by `new`, and takes ownership of it. The block may change the object until the
    /// block ends; the published object contains these changes. Throws no_such_object if the id is in use, and
    /// usage_error if the class is not registered.
    void addToPublish(HyflowObject* object) {
        detail::boxed b{std::unique_ptr<HyflowObject>{object}};
        const std::string id = object->getId();
        record_use(id);
        at(id).publish(*tx_, {});
        at(id).write(*tx_) = std::move(b);
        record_write(id);
    }
    /// Deletes the object. The pointer stays valid until the block ends. Throws no_such_object.
    void addToDelete(const HyflowObject* object) {
        const std::string id = object->getId();
        record_use(id);
        deleted_.push_back(at(id).write(*tx_).share());
        at(id).erase(*tx_);
        record_write(id);
    }

    /// Sets `*where` back to `value` when the block continues at a later checkpoint. Throws usage_error if `*where` is
    /// a local variable of the block itself, because the lifetime of such a variable ends at the checkpoint.
    template <class T, class V>
    void store(T* where, const V& value) {
        refuse_own(where);
        checkpoints_.variable([where, value] { *where = value; });
    }

    // The functions that the macros call.
    void checkpoint_init() {
        if (has_used_objects_) {
            throw usage_error{
                "tutti: HYFLOW_CHECKPOINT_INIT must precede the first use of an object; make it the first line of the "
                "block"};
        }
        checkpoints_.enable();
    }
    void checkpoint_here(int line) {
        if (!checkpoints_.enabled()) {
            throw usage_error{"tutti: HYFLOW_CHECKPOINT_HERE requires HYFLOW_CHECKPOINT_INIT at the block's begin"};
        }
        checkpoints_.set(*tx_, node_, line);
        goes_on_at_ = line;
        at_checkpoint_ = true;
    }
    /// Returns the line at which the block continues: that of a checkpoint, or 0 for the beginning of the block.
    [[nodiscard]] int goes_on_at() const noexcept { return goes_on_at_; }

private:
    friend class Atomic;
    template <class Body>
    friend void run(Body&& body);

    /// Begins a block inside `around`, and becomes the innermost block of this thread until the destructor runs. If
    /// `around` is null, this block is not part of any other block.
    HyflowContext(node& here, HyflowContext* around) : node_{here}, around_{around}, before_{open} {
        for (const HyflowContext* c = around; c != nullptr; c = c->around_)
            known_before_.push_back(c->checkpoints_.known());
        open = this;
    }
    ~HyflowContext() { open = before_; }

    /// Runs one attempt. The block's locals lie below the address `outside`, and the locals of its callers above.
    template <class Body>
    void attempt(tx& t, Body& body, const void* outside) {
        tx_ = &t;
        outside_ = reinterpret_cast<std::uintptr_t>(outside);
        deleted_.clear();
        has_used_objects_ = false;
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

    /// Throws usage_error for a local variable of the block. This function must not be inlined: its own frame then lies
    /// below every local of the block.
    TUTTI_NOINLINE void refuse_own(const void* variable) const {
        const auto place = reinterpret_cast<std::uintptr_t>(variable);
        if (place < reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) || place >= outside_) return;
        throw usage_error{
            "tutti: HYFLOW_STORE of a variable of the block, which does not survive a return to a checkpoint; "
            "declare it before HYFLOW_ATOMIC_START"};
    }

    [[nodiscard]] ref<detail::boxed> at(const std::string& id) const noexcept { return {node_, id}; }
    /// Records the use in this block and in all outer blocks, because their checkpoints may come later.
    void record_use(const std::string& id) {
        for (HyflowContext* c = this; c != nullptr; c = c->around_) {
            c->has_used_objects_ = true;
            c->checkpoints_.record_use(*tx_, node_, id);
        }
    }
    void record_write(const std::string& id) {
        for (HyflowContext* c = this; c != nullptr; c = c->around_) c->checkpoints_.record_write(id);
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
            "tutti: a block of HyflowCPP has no node; make a node and call tutti::cluster::hyflow::use(node)"};
    }

    static inline thread_local HyflowContext* open = nullptr;  // the innermost block of this thread

    node& node_;
    HyflowContext* around_;
    HyflowContext* before_;
    tx* tx_ = nullptr;
    std::uintptr_t outside_ = 0;
    int goes_on_at_ = 0;
    bool has_used_objects_ = false;
    bool at_checkpoint_ = false;  // the body has returned and is to continue at goes_on_at_
    detail::checkpoints checkpoints_;
    std::vector<std::size_t> known_before_;  // known() of each outer block at this block's begin, inside outwards
    std::vector<std::shared_ptr<HyflowObject>> deleted_;
};

/// Runs `body(HyflowContext*)` as a block, nested if another block of this thread runs. HYFLOW_ATOMIC_START and
/// HYFLOW_ATOMIC_END expand to this call.
template <class Body>
TUTTI_NOINLINE void run(Body&& body) {
    HyflowContext context{HyflowContext::here(), HyflowContext::open};
    const void* const outside = __builtin_frame_address(0);
    atomically([&](tx& t) { context.attempt(t, body, outside); });
}

}  // namespace tutti::cluster::hyflow
