#include "world.hpp"

#include <optional>

#include "core/modes/serial.hpp"
#include "core/state/descriptor.hpp"

namespace interleaving {
namespace {

std::optional<world> present;
std::array<world::spaced_word, world::words_per_kind> all_words;
object last_object = 0;

}  // namespace

std::array<world::spaced_word, world::words_per_kind>& plain_words() { return all_words; }
world& here() { return *present; }
world& next_world(journal& log) {
    present.reset();
    return present.emplace(log);
}

int world::place(spot s) noexcept {
    switch (s.is) {
        case spot::kind::variable: return s.index;
        case spot::kind::plain_word: return words_per_kind + s.index;
        case spot::kind::wide_variable: break;
    }
    return place_of_wide;
}

world::world(journal& j) : log{j}, words{all_words}, first_object{last_object + 1} {
    words = {};
    log.clear();
    for (const char* name : {"x", "y", "z", "p", "q", "r", "p2", "w", "slot"}) log.add_place(name);
}

world::~world() {
    if (remains != 0) delete known(remains).at;
}

world::item::~item() {
    // Its memory may be freed in a later execution than the one that dropped it.
    if (present && serial >= present->first_object) present->known(serial).destroyed = true;
}

// --- Actions of blocks.

value block::read(spot s) {
    world& in = here();
    const bool too_late = in.log.is_doomed(actor_.number_);
    value v = 0;
    switch (s.is) {
        case spot::kind::variable: v = in.variables[static_cast<std::size_t>(s.index)].get(tx_); break;
        case spot::kind::plain_word: v = tutti::load(tx_, &in.word(s)); break;
        case spot::kind::wide_variable: {
            const wide& found = in.behind.get(tx_);
            v = found.one;
            bool whole = found.whole();
            // The reference is valid until the block ends. Gives other threads the chance to invalidate it.
            tutti::detail::interleaving_point();
            whole = whole && found.whole() && found.one == v;
            if (!whole) in.log.report_error("a value was destroyed while a block reads it");
            break;
        }
    }
    in.log.read(actor_.number_, world::place(s), v);
    if (too_late) in.log.report_error("a block that was killed has continued to read");
    return v;
}

void block::write(spot s) {
    world& in = here();
    const value v = in.log.fresh(actor_.number_);
    // The write is recorded first: a faulty engine may show the write to other threads before its call returns,
    // although no engine should before the commit.
    in.log.write(actor_.number_, world::place(s), v);
    switch (s.is) {
        case spot::kind::variable: in.variables[static_cast<std::size_t>(s.index)].set(tx_, v); break;
        case spot::kind::plain_word: tutti::store(tx_, &in.word(s), v); break;
        case spot::kind::wide_variable: in.behind.set(tx_, wide{v}); break;
    }
}

int block::depth() const { return here().log.depth(actor_.number_); }
void block::opened(int depth) {
    const auto times = tutti::core::descriptor::of(tx_).run.partial_rollbacks;
    if (!here().log.record_partial_rollback(actor_.number_, depth, times))
        undone(depth);  // of an attempt that was rolled back
    here().log.open(actor_.number_);
}
void block::closed() { here().log.close(actor_.number_); }
void block::undone(int depth) { here().log.undo_to(actor_.number_, depth); }

void block::expect_open_nested(int number) { here().log.expect(number); }
void block::enter_open_nested(int number, tutti::tx& t) {
    here().log.enter(number);
    if (t.irrevocable()) here().log.irrevocable(number);
}
void block::ask_to_commit_open_nested(int number) { here().log.ask_to_commit(number); }
void block::end_open_nested(int number, bool committed) { here().log.ended(number, committed); }

void block::acquire(std::uint64_t name) {
    here().log.note(actor_.number_, "wants the lock");
    tutti::acquire(tx_, {&locks_of_all, name});
}
void block::retry() {
    here().log.note(actor_.number_, "retries");
    tutti::retry(tx_);
}
void block::retry_with_a_time_limit() {
    here().log.note(actor_.number_, "retries for a moment");
    tutti::retry_for(tx_, std::chrono::nanoseconds{1});
    here().log.note(actor_.number_, "has waited long enough");
}
void block::restart() {
    here().log.note(actor_.number_, "restarts");
    tutti::restart(tx_);
}
void block::cancel() {
    here().log.gave_up(actor_.number_, "cancels");
    tutti::cancel(tx_);
}
void block::fail() {
    here().log.gave_up(actor_.number_, "throws");
    throw refused{};
}
void block::become_visible() {
    tx_.become_visible();
    here().log.note(actor_.number_, "is visible");
}
void block::become_irrevocable() {
    tx_.become_irrevocable("a test wants it");
    here().log.irrevocable(actor_.number_);
}

void block::handle_after_commit() {
    tx_.at_commit([] { here().decided.fetch_add(1, std::memory_order_acq_rel); });
    tx_.on_commit([] {
        tutti::detail::interleaving_point();
        here().handled.fetch_add(1, std::memory_order_acq_rel);
    });
}
void block::become_serial() {
    become_irrevocable();
    tutti::core::become_serial(tutti::core::descriptor::of(tx_));
    here().log.note(actor_.number_, "is serial");
}
value block::read_directly(spot s) {
    tutti::detail::interleaving_point();
    const value v = here().word(s);
    here().log.read(actor_.number_, world::place(s), v);
    return v;
}
void block::write_directly(spot s) {
    tutti::detail::interleaving_point();
    const value v = here().log.fresh(actor_.number_);
    here().log.write(actor_.number_, world::place(s), v);
    here().word(s) = v;
}

// --- Objects.

void block::make() {
    world& in = here();
    const object o = ++last_object;
    in.objects.push_back({nullptr, in.log.add_place("object " + std::to_string(o - in.first_object + 1)), false});
    in.known(o).at = tutti::create<world::item>(tx_, o);
    in.log.write(actor_.number_, world::place_of_slot, 2 * o);
    in.slot.set(tx_, 2 * o);
}

object block::find() {
    const value v = here().slot.get(tx_);
    here().log.read(actor_.number_, world::place_of_slot, v);
    return v % 2 == 0 ? static_cast<object>(v / 2) : 0;
}

namespace {

/// Calls `use(item)` unless the object is destroyed. Reports an error if the object is destroyed before or after the
/// call.
template <class Use>
void use_object(object o, Use use) {
    world& in = here();
    // Gives other threads the chance to destroy it right before its use.
    tutti::detail::interleaving_point();
    // A copy: a thread that makes an object moves the vector.
    const world::knowledge it = in.known(o);
    if (!it.destroyed) use(*it.at);
    if (in.known(o).destroyed) in.log.report_error("an object was destroyed while a block uses it");
}

}  // namespace

value block::read(object o) {
    value v = 0;
    use_object(o, [&](world::item& it) { v = it.content.get(tx_); });
    here().log.read(actor_.number_, here().known(o).place, v);
    return v;
}

void block::write(object o) {
    const value v = here().log.fresh(actor_.number_);
    here().log.write(actor_.number_, here().known(o).place, v);
    use_object(o, [&](world::item& it) { it.content.set(tx_, v); });
}

void block::drop(object o) {
    world& in = here();
    const value empty = 2 * in.log.fresh(actor_.number_) + 1;
    in.log.write(actor_.number_, world::place_of_slot, empty);
    in.slot.set(tx_, empty);
    tutti::destroy(tx_, in.known(o).at);
}

}  // namespace interleaving
