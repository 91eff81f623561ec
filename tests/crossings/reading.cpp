// Parses a trace: the open blocks, their effective steps, and the hooks that had to run.
#include <algorithm>

#include "history.hpp"

namespace crossings {
namespace {

struct hook {
    int number;
    point at;
    bool sure = true;  // false until the call that registers it has returned
};

/// A running body.
struct frame {
    int call = 0;
    enclosure as{};
    unsigned options = 0;
    std::vector<action> actions{};
    std::vector<hook> hooks{};
    std::optional<wish> asked{};
};

/// An outermost block, an open nested block, or an undo.
struct root {
    std::vector<frame> frames;
    std::uint32_t begin = 0;
    std::vector<std::string> ending{};  // the hooks that ran at its end
    std::optional<std::uint32_t> published{};
    bool strict = false;
};

bool runs_at_roll_back(point at) { return at == point::on_abort || at == point::participant || at == point::undo; }

class reader {
public:
    reader(int thread, const strictness& how, std::vector<transaction>& found)
        : thread_{thread}, how_{how}, found_{found} {}

    std::optional<std::string> read(const trace& of) {
        for (const event& e : of.events()) {
            read(e);
            if (wrong_) return *wrong_ + "; at " + print(e);
        }
        if (!roots_.empty()) return "a block has not ended";
        return std::nullopt;
    }

private:
    void fail(std::string why) {
        if (!wrong_) wrong_ = std::move(why);
    }
    /// Reports an error and returns false if no block is open.
    bool has_block() {
        if (roots_.empty() || roots_.back().frames.empty()) fail("something happened outside of any block");
        return !wrong_;
    }

    void read(const event& e) {
        switch (e.what) {
            case happening::enters: return enters(e);
            case happening::leaves: return leaves(e);
            case happening::asks:
                // After the body has ended, only a before_commit hook makes requests. Such a request does not replace
                // `to_end`.
                if (has_block() && roots_.back().frames.back().asked != wish::to_end)
                    roots_.back().frames.back().asked = static_cast<wish>(e.b);
                return;
            case happening::caught:
                if (has_block() && roots_.back().frames.back().asked != wish::to_end)
                    roots_.back().frames.back().asked.reset();
                return;
            case happening::did: return did(e);
            case happening::is_strict:
                if (e.c == 0) fail("a block that asked to be irrevocable is not");
                return;
            case happening::strict:
                if (has_block()) roots_.back().strict = true;
                return;
            case happening::hooked:
                if (!has_block()) return;
                if (e.c == 0) roots_.back().frames.back().hooks.push_back({e.a, static_cast<point>(e.b), false});
                else roots_.back().frames.back().hooks.back().sure = true;
                if (roots_.back().frames.back().asked != wish::to_end) roots_.back().frames.back().asked.reset();
                return;
            case happening::runs: return runs(e);
            case happening::has_run: return;
            case happening::told: return told(e);
        }
    }

    static std::optional<std::size_t> position(const root& r, int call) {
        for (std::size_t i = r.frames.size(); i-- > 0;)
            if (r.frames[i].call == call) return i;
        return std::nullopt;
    }

    /// Gives up the open nested blocks inside the block of `e`. They did not commit, so that block starts over or ends.
    void abandon_inner_roots(const event& e) {
        std::size_t k = roots_.size();
        while (k > 0 && !position(roots_[k - 1], e.a)) --k;
        if (k == 0) return;
        while (roots_.size() > k) {
            if (roots_.back().frames[0].as != enclosure::apart) return fail("a block ended inside another one");
            give_up(roots_.back(), e.when);
            roots_.pop_back();
        }
    }

    void enters(const event& e) {
        const auto as = static_cast<enclosure>(e.b);
        const frame fresh{.call = e.a, .as = as, .options = e.options};
        abandon_inner_roots(e);
        if (!roots_.empty()) {
            if (const auto p = position(roots_.back(), e.a)) return enters_again(*p, e);
        }
        if (as == enclosure::undo && !take_hook({-e.a, point::undo})) return;
        if (as == enclosure::outermost || as == enclosure::apart || as == enclosure::undo) {
            roots_.push_back({.frames = {fresh}, .begin = e.when});
            return;
        }
        if (!has_block()) return;
        root& r = roots_.back();
        if (as == enclosure::last_alternative && r.frames.back().as != enclosure::first_alternative) {
            // The blocks that are still open inside the first alternative have left by a retry.
            while (r.frames.size() > 1 && r.frames.back().call != e.a - 1) merge_top(r);
        }
        if (as == enclosure::last_alternative && r.frames.back().call == e.a - 1) {
            if (how_.alone && r.frames.back().asked != wish::to_retry)
                return fail("a first alternative that did not retry was left");
            roll_back_from(r, r.frames.size() - 1, true);
        }
        if (r.frames.back().asked != wish::to_end) r.frames.back().asked.reset();
        r.frames.push_back(fresh);
    }

    void enters_again(std::size_t p, const event& e) {
        root& r = roots_.back();
        if (r.published) return fail("a block ran again after its commit");
        if (how_.alone) check_repetition(r, p);
        if (r.strict) fail("an irrevocable block ran again");
        if (wrong_) return;
        const frame again{.call = r.frames[p].call, .as = r.frames[p].as, .options = e.options};
        if (p == 0) {
            give_up(r, e.when);
            r = {.frames = {again}, .begin = e.when};
        } else {
            roll_back_from(r, p, how_.alone);
            r.frames.push_back(again);
        }
    }

    void check_repetition(const root& r, std::size_t p) {
        const frame& top = r.frames.back();
        std::size_t innermost = r.frames.size() - 1;
        while (innermost > 0 && r.frames[innermost].as == enclosure::flat) --innermost;
        // When a deadline is near, any request of a block may start it over.
        if (!top.asked || how_.in_hardware || (r.frames[0].options & timed) != 0) return;
        switch (*top.asked) {
            case wish::to_restart:
                if (p != innermost) fail("a restart repeated another block than the innermost");
                return;
            case wish::to_cancel: return fail("a cancelled block ran again");
            case wish::to_throw: return fail("a block that an exception left ran again");
            case wish::to_end:
                if (p != 0 || r.frames.size() != 1) fail("a block ran again although its body had ended");
                return;
            case wish::to_retry: return;
        }
    }

    void did(const event& e) {
        if (!has_block()) return;
        root& r = roots_.back();
        for (const frame& f : r.frames)
            if ((f.options & read_only) != 0 && writes(e.of)) return fail("a block that only reads has written");
        if (r.published) return fail("a block went on after its commit");
        r.frames.back().actions.push_back({action::kind::does, e.of, e.first, e.second, e.c});
        if (r.frames.back().asked != wish::to_end) r.frames.back().asked.reset();
    }

    /// Takes the newest hook of a roll-back, which must be this one.
    bool take_hook(const hook& h) {
        // An open nested block that did not commit has left without an event.
        for (std::size_t k = roots_.size(); k-- > 0;) {
            for (std::size_t i = roots_[k].frames.size(); i-- > 0;) {
                auto& hooks = roots_[k].frames[i].hooks;
                const auto last =
                    std::find_if(hooks.rbegin(), hooks.rend(), [](const hook& x) { return runs_at_roll_back(x.at); });
                if (last == hooks.rend()) continue;
                if (last->number != h.number && !last->sure) {
                    hooks.erase(std::next(last).base());
                    ++i;
                    continue;
                }
                if (last->number == h.number && last->at == h.at) {
                    hooks.erase(std::next(last).base());
                    return true;
                }
                fail("a hook of a roll-back ran that was not the newest");
                return false;
            }
            if (roots_[k].frames[0].as != enclosure::apart) break;
        }
        fail("a hook of a roll-back ran that nobody had registered");
        return false;
    }

    void runs(const event& e) {
        const auto at = static_cast<point>(e.b);
        if (at == point::on_abort) {
            take_hook({e.a, at});
            return;
        }
        if (!has_block()) return;
        root& r = roots_.back();
        if (r.frames.size() != 1 || r.frames[0].asked != wish::to_end)
            return fail("a hook ran before its block had ended");
        if (at == point::on_commit && !r.published) r.published = e.when;
        note_ending(r, at, e.a);
    }
    void told(const event& e) {
        const auto what = static_cast<telling>(e.b);
        if (what == telling::rolled_back) {
            take_hook({e.a, point::participant});
            return;
        }
        if (!has_block()) return;
        root& r = roots_.back();
        if (what == telling::abort) {
            r.strict = false;  // a participant may refuse an irrevocable block as well
            return;
        }
        r.ending.push_back((what == telling::prepare ? "prepare " : "commit ") + std::to_string(e.a));
    }
    static void note_ending(root& r, point at, int number) {
        constexpr const char* names[] = {"before_commit ", "at_commit ", "on_commit "};
        r.ending.push_back(names[static_cast<int>(at)] + std::to_string(number));
    }

    /// Returns the hooks that have to run at its commit, in order.
    static std::vector<std::string> due(const root& r) {
        root expected;
        const auto& hooks = r.frames[0].hooks;
        for (const hook& h : hooks)
            if (h.at == point::before_commit) note_ending(expected, h.at, h.number);
        for (const hook& h : hooks)
            if (h.at == point::participant) expected.ending.push_back("prepare " + std::to_string(h.number));
        for (const hook& h : hooks) {
            if (h.at == point::participant) expected.ending.push_back("commit " + std::to_string(h.number));
            if (h.at == point::at_commit) note_ending(expected, h.at, h.number);
        }
        for (const hook& h : hooks)
            if (h.at == point::on_commit) note_ending(expected, h.at, h.number);
        return expected.ending;
    }

    void leaves(const event& e) {
        const auto how = static_cast<outcome>(e.b);
        if (how != outcome::done) abandon_inner_roots(e);
        std::optional<std::size_t> p;
        if (!roots_.empty()) p = position(roots_.back(), e.a);
        if (!p) {
            // A call whose body never ran: it was refused or interrupted, or waited in vain for an abstract lock.
            if (how != outcome::threw) fail("a call returned whose body never ran");
            return;
        }
        root& r = roots_.back();
        if (how == outcome::done) return returns(*p, e);
        if (r.frames[*p].as == enclosure::flat) {
            if (how != outcome::threw) return fail("a flat block was cancelled alone");
            while (r.frames.size() > *p) merge_top(r);
            return;
        }
        if (*p == 0 && r.published) return commits(e);
        if (how == outcome::cancelled && how_.alone) check_cancel(r, *p);
        if (wrong_) return;
        if (*p == 0) {
            give_up(r, e.when);
            roots_.pop_back();
        } else {
            roll_back_from(r, *p, true);
        }
    }

    void check_cancel(const root& r, std::size_t p) {
        std::size_t innermost = r.frames.size() - 1;
        while (innermost > 0 && r.frames[innermost].as == enclosure::flat) --innermost;
        const auto asked = r.frames.back().asked;
        // A vote, or a before_commit hook, cancels a block whose body has ended.
        if (p == 0 && r.frames.size() == 1 && asked == wish::to_end) return;
        if (asked == wish::to_cancel && p == innermost) return;
        // The cancel of a first alternative cancels the block that called or_else.
        while (innermost > 0 &&
               (r.frames[innermost].as == enclosure::flat || r.frames[innermost].as == enclosure::first_alternative))
            --innermost;
        if (asked == wish::to_cancel && p == innermost) return;
        fail(asked == wish::to_cancel ? "another block than the innermost was cancelled"
                                      : "a block that did not ask for it was cancelled");
    }

    void returns(std::size_t p, const event& e) {
        root& r = roots_.back();
        if (p + 1 != r.frames.size() || r.frames[p].asked != wish::to_end)
            return fail("a call returned although its body had not ended");
        if (p == 0) return commits(e);
        merge_top(r);
    }

    void commits(const event& e) {
        root r = std::move(roots_.back());
        roots_.pop_back();
        while (r.frames.size() > 1) merge_top(r);
        if (const auto expected = due(r); expected != r.ending) {
            std::string all = "the hooks of a commit: expected";
            for (const auto& x : expected) all += " " + x + ",";
            all += " and these ran:";
            for (const auto& x : r.ending) all += " " + x + ",";
            return fail(all);
        }
        found_.push_back({r.begin, r.published.value_or(e.when), true, thread_, std::move(r.frames[0].actions)});
        if (r.frames[0].as == enclosure::apart && has_block())
            roots_.back().frames.back().hooks.push_back({r.frames[0].call, point::undo});
    }

    /// Merges the innermost body into its parent.
    static void merge_top(root& r) {
        frame top = std::move(r.frames.back());
        r.frames.pop_back();
        frame& parent = r.frames.back();
        parent.actions.insert(parent.actions.end(), top.actions.begin(), top.actions.end());
        parent.hooks.insert(parent.hooks.end(), top.hooks.begin(), top.hooks.end());
        // A before_commit hook continues a block whose body has ended.
        if (parent.asked != wish::to_end) parent.asked = top.asked == wish::to_end ? std::nullopt : top.asked;
    }

    void check_hooks_have_run(const frame& f) {
        for (const hook& h : f.hooks)
            if (h.sure && runs_at_roll_back(h.at)) fail("a hook of a block that was rolled back did not run");
    }

    /// Undoes the bodies from p on. With `reads_stay`, their reads still count.
    void roll_back_from(root& r, std::size_t p, bool reads_stay) {
        while (r.frames.size() > p + 1) merge_top(r);
        check_hooks_have_run(r.frames.back());
        if (p == 0) return;
        frame top = std::move(r.frames.back());
        r.frames.pop_back();
        frame& parent = r.frames.back();
        if (parent.asked != wish::to_end) parent.asked.reset();
        if (!reads_stay) return;
        parent.actions.push_back({.is = action::kind::opens});
        parent.actions.insert(parent.actions.end(), top.actions.begin(), top.actions.end());
        parent.actions.push_back({.is = action::kind::undoes});
    }

    /// Undoes the whole attempt. If no other thread runs, its reads were correct nevertheless.
    void give_up(root& r, std::uint32_t now) {
        roll_back_from(r, 0, false);
        if (how_.alone && !wrong_) found_.push_back({r.begin, now, false, thread_, std::move(r.frames[0].actions)});
    }

    int thread_;
    const strictness& how_;
    std::vector<transaction>& found_;
    std::vector<root> roots_{};
    std::optional<std::string> wrong_{};
};

}  // namespace

std::optional<std::string> read_trace(const trace& of, int thread, const strictness& how,
                                      std::vector<transaction>& found) {
    return reader{thread, how, found}.read(of);
}

}  // namespace crossings
