#include "cluster/backend/evening.hpp"

#include <algorithm>
#include <numeric>

#include "cluster/backend/group_caller.hpp"
#include "cluster/backend/replicated.hpp"

namespace tutti::cluster::backend {
namespace {

constexpr std::size_t at_once = 16;  // slots that are closed at a time
constexpr unsigned most_in_vain = 18;
constexpr std::string_view scheme{"tutti:"};

/// Returns the addresses of all members of the group, or the given ones if the group has not told them.
std::vector<std::string> addresses_of(const group_engine& g, const std::vector<std::string>& named) {
    std::vector<std::string> all = g.members();
    return all.empty() ? named : all;
}

}  // namespace

evening::evening(const std::string& address, const settings& how) : how_{how} {
    how_.batch = false;
    if (!address.starts_with(scheme)) throw refusal{"'" + address + "' is no address of groups: tutti://…;…"};
    const auto named = group::parse_groups(std::string_view{address}.substr(scheme.size()), how.tls.files.are_set());
    for (const std::vector<std::string>& members : named) groups_.push_back(open_group(members, how_));
    for (std::size_t i = 0; i < named.size(); ++i) named_[groups_[i]->number()] = named[i];
    if (std::ranges::none_of(groups_, [](const auto& g) { return look_up_layout(*g).all.size() != 0; }))
        throw refusal{"no program has used the prefix '" + how_.prefix + "' in these groups"};
    layout_ = settle_layout(groups_, how_.prefix, opener_of(how_));
    for (const layout::entry& e : layout_.all) {
        if (e.left) gone_.insert(e.number);
    }
    if (groups_.size() == 1) {
        throw refusal{"the objects of '" + how_.prefix + "' are in one group alone, and stay there: its programs ask " +
                      "no other. For objects that move, begin another prefix with two groups"};
    }
}

void evening::open() {
    all_ = std::make_unique<spread>(std::move(groups_), layout_.first(), how_, surroundings::real(), opener_of(how_));
    if (!all_->look_around()) refuse_silent();
}

std::set<std::uint64_t> evening::numbers_of(const std::vector<std::string>& all) const {
    std::set<std::uint64_t> numbers;
    for (const std::string& addresses : all)
        numbers.insert(open_group(group::parse_members(addresses, how_.tls.files.are_set()), how_)->number());
    return numbers;
}

void evening::join(const std::vector<std::string>& all) {
    bool changed = false;
    // Records the addresses, so that programs may name only one of the groups.
    for (const auto& g : groups_) {
        layout::entry* const e = layout_.find(g->number());
        if (e == nullptr || e->left || !e->addresses.empty()) continue;
        e->addresses = addresses_of(*g, named_[g->number()]);
        changed = true;
    }
    for (const std::string& addresses : all) {
        const std::vector<std::string> members = group::parse_members(addresses, how_.tls.files.are_set());
        std::unique_ptr<group_engine> g = open_group(members, how_);
        layout::entry* const known = layout_.find(g->number());
        if (known != nullptr && !known->left) continue;
        // Programs that have started since do not ask it any more.
        if (known != nullptr) throw refusal{g->can().name + " has left: begin a new group in its place"};
        const layout its = look_up_layout(*g);
        const bool strange = std::ranges::any_of(its.all, [&](const layout::entry& e) {
            return layout_.find(e.number) == nullptr && e.number != g->number();
        });
        if (strange || (!its.all.empty() && its.change == 0)) {
            throw refusal{g->can().name + " has objects of '" + how_.prefix + "' already, with other groups: let in " +
                          "one that has none"};
        }
        changed = true;
        layout_.all.push_back({g->number(), addresses_of(*g, members), true, false});
        groups_.push_back(std::move(g));
    }
    if (changed) ++layout_.change;
}

void evening::say_layout() {
    if (layout_.change == 0) return;  // the layout has never changed
    std::vector<group_engine*> all;
    for (std::size_t i = 0; i < layout_.all.size(); ++i) {
        group_engine* const g = all_ ? all_->all()[i].group : groups_[i].get();
        if (!gone_.contains(layout_.all[i].number)) all.push_back(g);
    }
    if (!change_layout(all, layout_))
        throw refusal{"a group does not answer, or another program changes which there are: try again"};
}

std::vector<std::vector<std::uint32_t>> evening::slots_by_parts() {
    placing& places = all_->places();
    std::vector<std::uint32_t> slots(places.slots());
    std::iota(slots.begin(), slots.end(), 0u);
    if (places.learn(slots, *places.now()) == placing::news::unreachable) refuse_silent();
    std::vector<std::vector<std::uint32_t>> all(all_->all().size());
    const auto now = places.now();
    for (const std::uint32_t s : slots) all[(*now)[s].part].push_back(s);
    return all;
}

void evening::refuse_silent() const {
    throw refusal{"one of " + all_->can().name +
                  " does not answer, or only slowly. What has moved has moved, the rest "
                  "is where it was, and programs go on: do the same again when all answer"};
}

evening::facts evening::look() {
    if (!all_) open();
    const auto slots = slots_by_parts();
    facts now = done_;
    now.slots = all_->places().slots();
    now.groups.clear();
    for (std::size_t i = 0; i < layout_.all.size(); ++i) now.groups.push_back({layout_.all[i], slots[i].size()});
    return now;
}

bool evening::step(const std::set<std::uint64_t>& leaving) {
    const auto slots = slots_by_parts();
    std::size_t least = slots.size(), most = slots.size(), goes = slots.size();
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (leaving.contains(layout_.all[i].number)) {
            if (!slots[i].empty()) goes = i;
            continue;
        }
        if (layout_.all[i].left) continue;
        if (least == slots.size() || slots[i].size() < slots[least].size()) least = i;
        if (most == slots.size() || slots[i].size() > slots[most].size()) most = i;
    }
    if (least == slots.size()) throw refusal{"if all groups leave, nobody has the objects: leave one"};
    const bool drains = goes != slots.size();
    const std::size_t from = drains ? goes : most;
    const std::size_t surplus = drains ? slots[from].size() : (slots[most].size() - slots[least].size()) / 2;
    if (surplus == 0) return false;
    const auto count = static_cast<std::ptrdiff_t>(std::min(surplus, at_once));
    const std::vector<std::uint32_t> some{slots[from].begin(), slots[from].begin() + count};
    moving one = all_->moves();
    const moving::end came = one.move(some, from, least);
    done_.copied += one.done().copied + one.done().again;
    done_.bytes += one.done().bytes;
    if (came == moving::end::moved) {
        done_.moved += some.size();
        in_vain_ = 0;
    } else if (came == moving::end::unreachable) {
        // One or two silent steps are normal, because another member becomes the leader.
        if ((in_vain_ += most_in_vain / 3) >= most_in_vain) refuse_silent();
    } else if (++in_vain_ >= most_in_vain) {
        throw refusal{"another program moves objects of '" + how_.prefix + "', too: let it end first"};
    }
    return true;
}

void evening::finish_leaving(const std::set<std::uint64_t>& leaving) {
    if (leaving.empty()) return;
    bool changed = false;
    for (std::size_t i = 0; i < layout_.all.size(); ++i) {
        if (layout_.all[i].left || leaving.contains(layout_.all[i].number)) continue;
        if (!all_->moves().settle(i, leaving)) refuse_silent();
    }
    // Programs report addresses that have changed meanwhile.
    if (const layout now = all_->know_more(); now.change > layout_.change) layout_ = now;
    for (layout::entry& e : layout_.all) {
        if (!leaving.contains(e.number) || e.left) continue;
        e.left = changed = true;
    }
    if (changed) ++layout_.change;
    say_layout();
}

evening::facts evening::even_out(const std::vector<std::string>& joins, const std::vector<std::string>& leaves,
                                 const tell& told) {
    join(joins);
    const std::set<std::uint64_t> leaving = numbers_of(leaves);
    for (const std::uint64_t n : leaving) {
        if (layout_.find(n) == nullptr) throw refusal{"a group that is to leave has none of the objects"};
    }
    say_layout();
    open();
    for (std::size_t i = 0; i < layout_.all.size(); ++i) {
        if (!layout_.all[i].left && !all_->moves().clear(i)) refuse_silent();
    }
    while (step(leaving)) told(look());
    finish_leaving(leaving);
    return look();
}

}  // namespace tutti::cluster::backend
