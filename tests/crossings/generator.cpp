#include "generator.hpp"

#include <algorithm>

#include "places.hpp"
#include "support/random.hpp"

namespace crossings {
namespace {

using tutti::support::random;

/// A step, or a step with options, that must be combined with all others.
struct feature {
    step what;
    unsigned options = 0;
};

const std::vector<feature>& features() {
    static const std::vector<feature> all = [] {
        std::vector<feature> out;
        for (int i = 0; i < step_count; ++i)
            if (const auto s = static_cast<step>(i); s != step::rendezvous && s != step::repeat) out.push_back({s});
        for (const step s : {step::closed, step::flat})
            for (const unsigned o : {unsigned{read_only}, unsigned{as_visible}, unsigned{as_irrevocable}})
                out.push_back({s, o});
        for (const step s : {step::before_commit, step::at_commit, step::on_commit, step::on_abort})
            out.push_back({s, holds_block});
        for (const step s : {step::value_set, step::vector_put, step::tree_put, step::object_make})
            out.push_back({s, starved});
        for (const step s : {step::value_set, step::vector_put, step::tree_put, step::heap_take})
            out.push_back({s, fragile});
        out.push_back({step::on_commit, starved});
        out.push_back({step::closed, timed});
        out.push_back({step::closed, timed | refuses});
        out.push_back({step::closed, strictly_option});
        out.push_back({step::closed, swallows});
        return out;
    }();
    return all;
}

/// Returns the features with which many threads interfere with each other.
const std::vector<feature>& features_of_many_threads() {
    static const std::vector<feature> all = {{step::open},
                                             {step::closed},
                                             {step::either},
                                             {step::checkpoint},
                                             {step::visible},
                                             {step::irrevocable},
                                             {step::lock},
                                             {step::wait},
                                             {step::restart},
                                             {step::cancel},
                                             {step::on_commit},
                                             {step::closed, as_visible},
                                             {step::closed, as_irrevocable}};
    return all;
}

bool is_block(step s) { return group_of(s) == group::block; }

class maker {
public:
    explicit maker(std::uint64_t seed) : dice_{seed} {}

    random& dice() { return dice_; }

    node make(const feature& f) {
        node n{.what = f.what, .options = f.options, .first = number(), .second = number(), .body = {}, .other = {}};
        if (is_block(f.what) && f.what != step::listen && dice_.one_in(2)) n.options |= swallows;
        if (f.what == step::closed && dice_.one_in(4)) n.options |= strictly_option;
        if (f.what == step::object_brief && dice_.one_in(2)) n.second = kind_that_restarts;
        const group of = group_of(f.what);
        if ((of == group::data || of == group::hook) && dice_.one_in(8)) n.options |= starved;
        if (of == group::data && dice_.one_in(8)) n.options |= fragile;
        // At least half of the open nested blocks take no abstract lock, because a lock blocks other threads for long.
        if (f.what == step::open && dice_.one_in(2)) n.second = 0;
        return n;
    }

    /// Returns a body with all the wanted features, and `noise` further steps.
    std::vector<node> body(std::vector<feature> wanted, int depth, int noise) {
        std::vector<node> out;
        while (!wanted.empty() || noise > 0) {
            if (wanted.empty() || (noise > 0 && dice_.one_in(2))) {
                --noise;
                out.push_back(filled(any(), {}, depth, 0));
                continue;
            }
            const feature next = wanted.front();
            wanted.erase(wanted.begin());
            std::vector<feature> inside;
            if (takes_body(next.what) && !wanted.empty() && !dice_.one_in(4)) std::swap(inside, wanted);
            out.push_back(filled(next, std::move(inside), depth, noise));
            // The second of two equal steps may find leftovers of the first.
            if (dice_.one_in(in_time_ ? 2 : 4) && depth < 4) out.push_back(copy_of(out.back()));
        }
        return out;
    }

    /// Inserts steps of that kind at random places of the bodies.
    void sprinkle(std::vector<node>& body, step what, std::size_t times) {
        for (std::size_t i = 0; i < times; ++i) {
            std::vector<node>* in = &body;
            while (!in->empty() && !dice_.one_in(2)) {
                node& n = (*in)[dice_.below(in->size())];
                if (!is_block(n.what) || n.body.empty()) break;
                in = &n.body;
            }
            in->insert(in->begin() + static_cast<std::ptrdiff_t>(dice_.below(in->size() + 1)), make({what}));
        }
    }

    std::vector<node> thread(std::vector<feature> wanted, int noise) {
        std::vector<node> out;
        // Some features are options of an outermost block.
        node outer = make({step::closed});
        if (!dice_.one_in(4)) outer.options &= ~unsigned{strictly_option};
        std::erase_if(wanted, [&](const feature& f) {
            const bool is_option = f.what == step::closed && f.options != 0;
            if (is_option) outer.options |= f.options;
            return is_option && ((f.options & (timed | refuses)) != 0 || dice_.one_in(2));
        });
        if (dice_.one_in(12)) outer.options |= timed;
        in_time_ = (outer.options & timed) != 0;
        // The effect of a deadline shows if a part of the block is undone.
        if (in_time_ && dice_.one_in(2))
            wanted.insert(wanted.begin(), {dice_.one_in(2) ? step::closed : step::checkpoint});
        if (in_time_ && dice_.one_in(3)) wanted.push_back({step::open});
        for (const feature& f : wanted)
            if (f.what == step::interrupted) {
                node n = make(f);
                n.body = {make({step::closed})};
                n.body[0].body = body({}, 1, 2);
                // A destructor of an undone object runs a block, which the interruption must not end.
                if (dice_.one_in(2)) {
                    node made = make({step::object_make});
                    made.second = dice_.one_in(2) ? kind_that_restarts : made.second;
                    n.body[0].body.push_back(std::move(made));
                    n.body[0].body.push_back(make({ending()}));
                }
                out.push_back(std::move(n));
            }
        outer.body = body(std::move(wanted), 1, noise);
        if ((outer.options & timed) != 0) sprinkle(outer.body, step::spend_time, 1 + dice_.below(3));
        if (dice_.one_in(3)) outer.body.push_back(make({ending()}));
        if (dice_.one_in((outer.options & timed) != 0 ? 2 : 5)) {
            node around{.what = step::repeat, .first = number(), .second = 0, .body = {}, .other = {}};
            around.body.push_back(std::move(outer));
            out.push_back(std::move(around));
        } else {
            out.push_back(std::move(outer));
        }
        if (dice_.one_in(4)) out.push_back(make(any_of(group::data)));
        return out;
    }

private:
    static node copy_of(const node& n) { return n; }
    int number() { return static_cast<int>(dice_.below(20)) + 1; }

    static bool takes_body(step s) {
        return is_block(s) || s == step::before_commit || s == step::on_commit || s == step::on_abort;
    }
    feature any() {
        if (dice_.one_in(3)) return features()[dice_.below(features().size())];
        return any_of(group::data);
    }
    feature any_of(group g) {
        for (;;)
            if (const auto s = static_cast<step>(dice_.below(step_count)); group_of(s) == g) return {s};
    }
    step ending() {
        constexpr step all[] = {step::cancel, step::fail, step::restart};
        return all[dice_.below(3)];
    }

    node filled(const feature& f, std::vector<feature> inside, int depth, int noise) {
        node n = make(f);
        if (!takes_body(f.what) || depth > 5) return n;
        const int more = static_cast<int>(dice_.below(3)) + noise / 2;
        if (f.what == step::on_commit || f.what == step::on_abort) {
            // The hook runs blocks of its own.
            node own = make({step::closed});
            own.options &= ~unsigned{swallows};
            if (dice_.one_in(8)) own.options |= timed | refuses;
            own.body = body(std::move(inside), depth + 1, more);
            if (dice_.one_in(2)) own.body.push_back(make({ending()}));
            else if (dice_.one_in(6)) own.body.push_back(make({step::retry}));
            n.body.push_back(std::move(own));
            return n;
        }
        n.body = body(std::move(inside), depth + 1, more);
        if (f.what == step::open && !has(n.body, step::sum_add)) n.body.insert(n.body.begin(), make({step::sum_add}));
        if (f.what == step::either) {
            if (!dice_.one_in(4)) n.body.push_back(make({step::retry}));
            n.other = body({}, depth + 1, 1 + static_cast<int>(dice_.below(2)));
        } else if (dice_.one_in(in_time_ ? 2 : 3)) {
            n.body.push_back(make({ending()}));
        }
        return n;
    }
    static bool has(const std::vector<node>& body, step what) {
        return std::any_of(body.begin(), body.end(), [&](const node& n) { return n.what == what; });
    }

    random dice_;
    bool in_time_ = false;  // the outermost block has a deadline
};

}  // namespace

std::uint64_t seeds_of_all_pairs() { return features().size() * features().size(); }

program generate(std::uint64_t seed, bool many_threads) {
    maker make{seed ^ (many_threads ? 0x7468726561647300u : 0)};
    random& dice = make.dice();
    const auto& all = features();
    const auto wanted = [&] {
        std::vector<feature> out;
        if (seed < seeds_of_all_pairs()) out = {all[seed % all.size()], all[seed / all.size()]};
        else
            for (std::size_t i = 0; i < 2 + dice.below(2); ++i) out.push_back(all[dice.below(all.size())]);
        return out;
    };
    program p;
    std::vector<feature> first = wanted();
    if (!many_threads) {
        p.threads.push_back(make.thread(std::move(first), static_cast<int>(dice.below(4))));
        if (dice.one_in(3)) {
            const auto more = make.thread({all[dice.below(all.size())]}, 2);
            p.threads[0].insert(p.threads[0].end(), more.begin(), more.end());
        }
        prune(p);
        return p;
    }
    const auto with_rendezvous = [&](std::vector<node> body, bool at_each_step) {
        // Threads that synchronize inside their blocks conflict with each other.
        for (node& n : body) {
            // The destructor of its listener conflicts with a sender.
            if (n.what == step::interrupted) n.body.push_back(make.make({step::rendezvous}));
            if (n.what != step::closed && n.what != step::repeat) continue;
            std::vector<node>& in = n.what == step::repeat ? n.body[0].body : n.body;
            if (!at_each_step) {
                make.sprinkle(in, step::rendezvous, 1 + dice.below(2));
                if (dice.one_in(3)) make.sprinkle(in, step::spend_time, 1);
                continue;
            }
            for (std::size_t i = in.size() + (dice.one_in(2) ? 1 : 0); i-- > 0;)
                in.insert(in.begin() + static_cast<std::ptrdiff_t>(std::min(i, in.size())),
                          make.make({step::rendezvous}));
        }
        return body;
    };
    if (dice.one_in(8)) {
        // Many threads: more than there are slots for visible readers.
        const auto& crossed = features_of_many_threads();
        std::vector<feature> two_or_three;
        for (std::size_t i = 0; i < 2 + dice.below(2); ++i) two_or_three.push_back(crossed[dice.below(crossed.size())]);
        p.copies = 12;
        p.threads.push_back(
            with_rendezvous(make.thread(std::move(two_or_three), static_cast<int>(dice.below(2))), false));
    } else {
        const std::size_t threads = 2 + dice.below(2);
        const bool at_each_step = dice.one_in(2);
        for (std::size_t i = 0; i < threads; ++i) {
            std::vector<feature> of_this = i == 0 ? first : wanted();
            // Threads conflict over the sum or a lock.
            if (dice.one_in(3)) of_this.push_back({dice.one_in(2) ? step::sum_add : step::lock});
            p.threads.push_back(
                with_rendezvous(make.thread(std::move(of_this), static_cast<int>(dice.below(3))), at_each_step));
        }
    }
    prune(p);
    return p;
}

}  // namespace crossings
