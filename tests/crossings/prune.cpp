// The places in which each step is allowed. A program may only do what the documentation defines, so each failure is a
// fault of the library, or of the model.
#include <algorithm>

#include "program.hpp"

namespace crossings {
namespace {

enum class place : std::uint8_t {
    top,     ///< outside of any block: a thread, or a hook that runs after its block
    body,    ///< in a block
    before,  ///< in a before_commit hook
};

struct surroundings {
    place where = place::top;
    bool reads_only = false;
    bool apart = false;          ///< in an open nested block
    bool beside_reader = false;  ///< in an open nested block's hook; the block around may have read what it writes
    bool has_open = false;       ///< the outermost block has an open nested block somewhere
    bool may_retry = false;      ///< in a first alternative
    bool in_hook = false;
    bool in_abort_hook = false;
    bool many = false;  ///< several threads
    int depth = 0;
};

bool contains(const std::vector<node>& body, step what) {
    return std::any_of(body.begin(), body.end(), [what](const node& n) {
        // Blocks in on_commit and on_abort hooks are outermost blocks of their own.
        if (n.what == step::on_commit || n.what == step::on_abort) return false;
        return n.what == what || contains(n.body, what) || contains(n.other, what);
    });
}

void prune(std::vector<node>& body, const surroundings& in);

/// Returns true if the step stays, and prunes its bodies then.
bool keep_at_top(node& n, const surroundings& in) {
    surroundings inside = in;
    ++inside.depth;
    switch (n.what) {
        case step::closed:
            inside.where = place::body;
            inside.reads_only = (n.options & read_only) != 0;
            inside.has_open = contains(n.body, step::open);
            inside.may_retry = false;
            if ((n.options & as_irrevocable) != 0) n.options &= ~unsigned{as_visible};
            if (in.in_abort_hook) n.options |= swallows;
            prune(n.body, inside);
            return true;
        case step::listen:
        case step::repeat: prune(n.body, inside); return true;
        // The step interrupts a block that waits forever, or the destructor of an object that its body has made at the
        // top.
        case step::interrupted: prune(n.body, inside); return !in.in_hook;
        case step::spend_time: return true;
        case step::rendezvous: return in.many && !in.in_hook;
        default:
            n.options &= ~unsigned{starved | fragile};
            return group_of(n.what) == group::data && n.what != step::sum_add && !(in.beside_reader && writes(n.what));
    }
}

bool keep_hook(node& n, const surroundings& in) {
    surroundings inside = in;
    ++inside.depth;
    inside.in_hook = true;
    inside.may_retry = false;
    if (in.where == place::before) return false;
    switch (n.what) {
        case step::before_commit:
            inside.where = place::before;
            prune(n.body, inside);
            return true;
        case step::on_commit:
            inside = {};
            inside.in_hook = true;
            inside.beside_reader = in.apart || in.beside_reader;
            inside.depth = in.depth + 1;
            prune(n.body, inside);
            return true;
        case step::on_abort:
            inside = {};
            inside.in_hook = true;
            inside.beside_reader = in.apart || in.beside_reader;
            inside.in_abort_hook = true;
            inside.depth = in.depth + 1;
            prune(n.body, inside);
            return true;
        default: n.body.clear(); return true;
    }
}

bool keep_in_body(node& n, const surroundings& in) {
    surroundings inside = in;
    ++inside.depth;
    switch (group_of(n.what)) {
        case group::data:
            // Only word_set and text_set stay, to show that a read-only block refuses writes.
            if (writes(n.what) && in.reads_only && n.what != step::word_set && n.what != step::text_set) return false;
            // The block around may have read this place. A write here would then make that block start over in every
            // attempt.
            if (in.beside_reader && writes(n.what)) return false;
            // A copy writes, and so does the destructor of an undone object.
            if (in.reads_only || in.beside_reader) n.options &= ~unsigned{starved | fragile};
            if (in.apart) return n.what == step::sum_add;
            return n.what != step::sum_add || !in.has_open;
        case group::hook:
            if (in.reads_only) n.options &= ~unsigned{starved};
            return in.depth < 6 && keep_hook(n, in);
        case group::ending: return n.what != step::retry || in.may_retry;
        case group::mode:
            if (n.what == step::rendezvous) return in.many && !in.in_hook;
            if (n.what == step::wait) return !in.in_hook;
            return in.where == place::body || n.what == step::spend_time || n.what == step::lock;
        default: break;
    }
    if (in.depth > 8) return false;
    switch (n.what) {
        case step::closed:
        case step::flat:
            n.options &= ~unsigned{timed | refuses};
            if ((n.options & as_irrevocable) != 0) n.options &= ~unsigned{as_visible};
            inside.reads_only |= (n.options & read_only) != 0;
            prune(n.body, inside);
            return true;
        case step::open:
            if (in.apart || in.reads_only || in.where != place::body) return false;
            n.options &= unsigned{swallows};
            inside.apart = true;
            inside.may_retry = false;
            prune(n.body, inside);
            return true;
        case step::either:
            n.options &= unsigned{swallows};
            prune(n.other, inside);
            inside.may_retry = true;
            prune(n.body, inside);
            return true;
        case step::checkpoint:
        case step::attempt:
            n.options &= unsigned{swallows};
            prune(n.body, inside);
            return true;
        // A listener must not be a local of the body: its variable would be gone when the block commits.
        default: return false;
    }
}

void prune(std::vector<node>& body, const surroundings& in) {
    std::vector<node> kept;
    for (node& n : body) {
        if (!(in.where == place::top ? keep_at_top(n, in) : keep_in_body(n, in))) continue;
        kept.push_back(std::move(n));
        // Steps behind an ending are unreachable; a restart ends the body only the first few times.
        const step last = kept.back().what;
        if (in.where != place::top && group_of(last) == group::ending && last != step::restart) break;
    }
    body = std::move(kept);
}

}  // namespace

void prune(program& p) {
    surroundings in;
    in.many = p.threads.size() * static_cast<std::size_t>(p.copies) > 1;
    for (auto& t : p.threads) prune(t, in);
    std::erase_if(p.threads, [](const auto& t) { return t.empty(); });
}

}  // namespace crossings
