#include "cluster/backend/rebalancer.hpp"

#include <algorithm>
#include <numeric>

#include "cluster/backend/group_client.hpp"
#include "cluster/backend/raft_group_engine.hpp"

namespace tutti::cluster::backend {
namespace {

constexpr std::size_t at_once = 16;  // maximum number of slots that are write-blocked at a time
constexpr unsigned max_futile_steps = 18;
constexpr std::string_view scheme{"tutti:"};

/// Returns the addresses of all members of the group, or the given ones if the group has not reported them.
std::vector<std::string> addresses_of(const group_engine& g, const std::vector<std::string>& named) {
    std::vector<std::string> all = g.members();
    return all.empty() ? named : all;
}

}  // namespace

rebalancer::rebalancer(const std::string& address, const settings& how) : how_{how} {
    how_.batch = false;
    if (!address.starts_with(scheme))
        throw engine_error{"'" + address + "' is not an address of groups: give tutti://…;…"};
    const auto named = group::parse_groups(std::string_view{address}.substr(scheme.size()), how.tls.files.are_set());
    for (const std::vector<std::string>& members : named) groups_.push_back(open_raft_group(members, how_));
    for (std::size_t i = 0; i < named.size(); ++i) given_addresses_[groups_[i]->number()] = named[i];
    if (std::ranges::none_of(groups_, [](const auto& g) { return read_layout(*g).groups.size() != 0; }))
        throw engine_error{"no program has used the prefix '" + how_.prefix +
                           "' in these groups: check the addresses and the prefix"};
    layout_ = agree_on_layout(groups_, how_.prefix, make_group_opener(how_));
    for (const layout::group_entry& e : layout_.groups) {
        if (e.left) left_before_.insert(e.number);
    }
    if (groups_.size() == 1) {
        throw engine_error{
            "the objects of '" + how_.prefix +
            "' are in one group and cannot move, because programs look for them only there. To move objects, begin "
            "another prefix with two groups"};
    }
}

void rebalancer::open() {
    engine_ = std::make_unique<sharded_engine>(std::move(groups_), layout_.initial_group_count(), how_,
                                               runtime_env::real(), make_group_opener(how_));
    if (!engine_->refresh_slots()) throw_unanswered();
}

std::set<std::uint64_t> rebalancer::numbers_of(const std::vector<std::string>& all) const {
    std::set<std::uint64_t> numbers;
    for (const std::string& addresses : all)
        numbers.insert(open_raft_group(group::parse_members(addresses, how_.tls.files.are_set()), how_)->number());
    return numbers;
}

void rebalancer::add_groups(const std::vector<std::string>& all) {
    bool changed = false;
    // Records the groups' addresses, so that a program that names only one group finds the others.
    for (const auto& g : groups_) {
        layout::group_entry* const e = layout_.find(g->number());
        if (e == nullptr || e->left || !e->addresses.empty()) continue;
        e->addresses = addresses_of(*g, given_addresses_[g->number()]);
        changed = true;
    }
    for (const std::string& addresses : all) {
        const std::vector<std::string> members = group::parse_members(addresses, how_.tls.files.are_set());
        std::unique_ptr<group_engine> g = open_raft_group(members, how_);
        layout::group_entry* const known = layout_.find(g->number());
        if (known != nullptr && !known->left) continue;
        // A group that has left cannot join again, because programs that have started since then never ask this group.
        if (known != nullptr)
            throw engine_error{g->abilities().name + " has left and cannot come back: begin a new group instead"};
        const layout its = read_layout(*g);
        const bool strange = std::ranges::any_of(its.groups, [&](const layout::group_entry& e) {
            return layout_.find(e.number) == nullptr && e.number != g->number();
        });
        if (strange || (!its.groups.empty() && its.change_count == 0)) {
            throw engine_error{g->abilities().name + " has objects of '" + how_.prefix +
                               "' already, together with other groups: add a group without such objects"};
        }
        changed = true;
        layout_.groups.push_back({g->number(), addresses_of(*g, members), true, false});
        groups_.push_back(std::move(g));
    }
    if (changed) ++layout_.change_count;
}

void rebalancer::send_layout() {
    if (layout_.change_count == 0) return;  // the layout has never changed
    std::vector<group_engine*> all;
    for (std::size_t i = 0; i < layout_.groups.size(); ++i) {
        group_engine* const g = engine_ ? engine_->groups()[i].group : groups_[i].get();
        if (!left_before_.contains(layout_.groups[i].number)) all.push_back(g);
    }
    if (!write_layout(all, layout_))
        throw engine_error{"a group does not answer, or another program changes the list of groups: try again"};
}

std::vector<std::vector<std::uint32_t>> rebalancer::slots_by_groups() {
    slot_map& owners = engine_->known_slots();
    std::vector<std::uint32_t> slots(owners.slots());
    std::iota(slots.begin(), slots.end(), 0u);
    if (owners.find_owners(slots, *owners.locations()) == slot_map::refresh_result::unreachable) throw_unanswered();
    std::vector<std::vector<std::uint32_t>> all(engine_->groups().size());
    const auto now = owners.locations();
    for (const std::uint32_t s : slots) all[(*now)[s].group].push_back(s);
    return all;
}

void rebalancer::throw_unanswered() const {
    throw engine_error{"one of " + engine_->abilities().name +
                       " does not answer in time. Slots that have moved stay moved, and programs "
                       "continue. Run this again when all groups answer"};
}

rebalancer::progress rebalancer::read_progress() {
    if (!engine_) open();
    const auto slots = slots_by_groups();
    progress now = progress_;
    now.slots = engine_->known_slots().slots();
    now.groups.clear();
    for (std::size_t i = 0; i < layout_.groups.size(); ++i) now.groups.push_back({layout_.groups[i], slots[i].size()});
    return now;
}

bool rebalancer::step(const std::set<std::uint64_t>& leaving) {
    const auto slots = slots_by_groups();
    std::size_t smallest = slots.size(), largest = slots.size(), leaving_group = slots.size();
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (leaving.contains(layout_.groups[i].number)) {
            if (!slots[i].empty()) leaving_group = i;
            continue;
        }
        if (layout_.groups[i].left) continue;
        if (smallest == slots.size() || slots[i].size() < slots[smallest].size()) smallest = i;
        if (largest == slots.size() || slots[i].size() > slots[largest].size()) largest = i;
    }
    if (smallest == slots.size()) throw engine_error{"all groups would leave: keep at least one group for the objects"};
    const bool drains = leaving_group != slots.size();
    const std::size_t from = drains ? leaving_group : largest;
    const std::size_t surplus = drains ? slots[from].size() : (slots[largest].size() - slots[smallest].size()) / 2;
    if (surplus == 0) return false;
    const auto count = static_cast<std::ptrdiff_t>(std::min(surplus, at_once));
    const std::vector<std::uint32_t> some{slots[from].begin(), slots[from].begin() + count};
    slot_migrator one = engine_->migrator();
    const slot_migrator::migration_result outcome = one.migrate(some, from, smallest);
    progress_.copied += one.statistics().copied + one.statistics().copied_again;
    progress_.bytes += one.statistics().bytes;
    if (outcome == slot_migrator::migration_result::moved) {
        progress_.moved += some.size();
        futile_steps_ = 0;
    } else if (outcome == slot_migrator::migration_result::unreachable) {
        // One or two steps without an answer are normal while another member becomes the leader.
        if ((futile_steps_ += max_futile_steps / 3) >= max_futile_steps) throw_unanswered();
    } else if (++futile_steps_ >= max_futile_steps) {
        throw engine_error{"another program moves objects of '" + how_.prefix + "', too: wait until it has ended"};
    }
    return true;
}

void rebalancer::finish_leaving(const std::set<std::uint64_t>& leaving) {
    if (leaving.empty()) return;
    bool changed = false;
    for (std::size_t i = 0; i < layout_.groups.size(); ++i) {
        if (layout_.groups[i].left || leaving.contains(layout_.groups[i].number)) continue;
        if (!engine_->migrator().resolve_prepared(i, leaving)) throw_unanswered();
    }
    // Programs may have changed the layout since it was read, because they record new addresses of members.
    if (const layout now = engine_->reload_layout(); now.change_count > layout_.change_count) layout_ = now;
    for (layout::group_entry& e : layout_.groups) {
        if (!leaving.contains(e.number) || e.left) continue;
        e.left = changed = true;
    }
    if (changed) ++layout_.change_count;
    send_layout();
}

rebalancer::progress rebalancer::rebalance(const std::vector<std::string>& added,
                                           const std::vector<std::string>& removed, const progress_callback& report) {
    add_groups(added);
    const std::set<std::uint64_t> leaving = numbers_of(removed);
    for (const std::uint64_t n : leaving) {
        if (layout_.find(n) == nullptr)
            throw engine_error{"a group to remove does not keep these objects: check its address and the prefix"};
    }
    send_layout();
    open();
    for (std::size_t i = 0; i < layout_.groups.size(); ++i) {
        if (!layout_.groups[i].left && !engine_->migrator().clear(i)) throw_unanswered();
    }
    while (step(leaving)) report(read_progress());
    finish_leaving(leaving);
    return read_progress();
}

}  // namespace tutti::cluster::backend
