// intruder: a network intrusion detector in three steps. The program follows Haagdorens, Vermeiren, Goossens,
// "Improving the performance of signature-based network intrusion detection sensors by multi-threading", WISA 2004
// (their design 5).
//
//   capture     takes a packet from the one queue with the mixed packets of all flows
//   reassembly  puts the packet in its place in its flow; a complete flow moves from the map of open flows to a second
//               queue
//   detection   takes a complete flow, joins it to a text, and searches the text for known signatures
//
// Short to medium transactions on few, hot words: contention is high.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "stamp/program.hpp"
#include "stamp/random.hpp"
#include "stamp/structures/ordered_map.hpp"
#include "stamp/structures/queue.hpp"
#include "stamp/structures/sorted_list.hpp"

namespace stamp::intruder {

inline constexpr unsigned attack_percent = 10;
inline constexpr std::size_t max_flow_length = 128;  // letters, without the signature
inline constexpr std::size_t max_signature_length = 24;

struct packet {
    std::uint64_t flow;
    unsigned number;  // within the flow
    unsigned of;
    std::string_view payload;
};

/// Flows and their packets, mixed.
struct traffic {
    traffic(std::size_t flows, std::uint64_t seed) : texts(flows), is_attack(flows) {
        random_source random{seed};
        for (std::size_t i = 0; i < signatures; ++i)
            known.push_back(letters(random, 8 + random.below(max_signature_length - 7), 'A'));
        for (std::size_t f = 0; f < flows; ++f) {
            // Harmless text has only small letters, so that it contains no signature by chance.
            texts[f] = letters(random, 1 + random.below(max_flow_length), 'a');
            is_attack[f] = random.percent(attack_percent);
            if (is_attack[f]) texts[f].insert(random.below(texts[f].size() + 1), known[random.below(known.size())]);
            cut(f, random);
        }
        random.shuffle(packets);
    }

    std::vector<std::string> known;
    std::vector<std::string> texts;
    std::vector<bool> is_attack;
    std::vector<packet> packets;

private:
    static constexpr std::size_t signatures = 64;

    static std::string letters(random_source& random, std::size_t length, char first) {
        std::string text(length, ' ');
        for (char& c : text) c = static_cast<char>(first + random.below(26));
        return text;
    }
    /// Cuts a flow into a random number of non-empty parts.
    void cut(std::size_t flow, random_source& random) {
        std::string_view rest = texts[flow];
        const std::size_t first = packets.size();
        while (!rest.empty()) {
            const std::size_t length = 1 + random.below(std::min<std::size_t>(rest.size(), 16));
            packets.push_back({flow, static_cast<unsigned>(packets.size() - first), 0, rest.substr(0, length)});
            rest.remove_prefix(length);
        }
        for (std::size_t p = first; p < packets.size(); ++p) {
            packets[p].of = static_cast<unsigned>(packets.size() - first);
        }
    }
};

/// A complete flow, joined for the search.
struct joined {
    std::array<char, max_flow_length + max_signature_length> letters;
    std::size_t length = 0;

    [[nodiscard]] std::string_view view() const { return {letters.data(), length}; }
};

struct finding {
    std::uint64_t flow;
    bool attack;
    std::size_t digest;  // of the text
};

[[nodiscard]] inline std::size_t digest(std::string_view text) { return std::hash<std::string_view>{}(text); }

template <class B>
class detector {
    using context = typename B::context;

public:
    explicit detector(const traffic& from) : from_{from} {
        for (const packet& p : from.packets) {
            B::atomically("intruder: input", [&](context& t) { captured_.push(t, &p); });
        }
    }

    /// Works until no packet is left to capture. The thread that puts the last packet of a flow in its place also does
    /// the flow's detection.
    void work(std::vector<finding>& found) {
        joined text;
        for (;;) {
            const packet* const p = B::atomically("intruder: capture", [&](context& t) { return captured_.pop(t); });
            if (p == nullptr) return;
            B::atomically("intruder: reassembly", [&](context& t) { put_in_place(t, *p); });
            flow* const whole = B::atomically("intruder: complete", [&](context& t) { return complete_.pop(t); });
            if (whole == nullptr) continue;
            const std::uint64_t id = whole->id;
            B::atomically("intruder: join", [&](context& t) { join(t, whole, text); });
            found.push_back({id, is_attack(text.view()), digest(text.view())});
        }
    }

private:
    struct flow {
        flow(std::uint64_t number, unsigned count) : id{number}, missing{count} {}
        const std::uint64_t id;
        typename B::template shared<unsigned> missing;
        sorted_list<B, unsigned, std::string_view> parts;
    };

    void put_in_place(context& t, const packet& p) {
        flow* f;
        if (flow* const* const open = open_.find(t, p.flow)) {
            f = *open;
        } else {
            f = B::template create<flow>(t, p.flow, p.of);
            open_.insert(t, p.flow, f);
        }
        f->parts.insert(t, p.number, p.payload);
        const unsigned missing = f->missing.get(t) - 1;
        f->missing.set(t, missing);
        if (missing != 0) return;
        open_.remove(t, p.flow);
        complete_.push(t, f);
    }
    static void join(context& t, flow* whole, joined& text) {
        std::size_t length = 0;
        whole->parts.for_each(t, [&](unsigned, const std::string_view& part) {
            std::memcpy(&text.letters[length], part.data(), part.size());
            length += part.size();
        });
        text.length = length;
        whole->parts.clear(t);
        B::destroy(t, whole);
    }
    [[nodiscard]] bool is_attack(std::string_view text) const {
        return std::ranges::any_of(from_.known, [&](const std::string& s) { return text.find(s) != text.npos; });
    }

    const traffic& from_;
    queue<B, const packet*> captured_;
    ordered_map<B, flow*> open_;
    queue<B, flow*> complete_;
};

/// Checks that every flow was found once, its text is correct, and exactly the attacks were detected.
inline std::string check(const traffic& all, const std::vector<std::vector<finding>>& found) {
    std::vector<bool> seen(all.texts.size());
    for (const auto& by_one : found) {
        for (const finding& f : by_one) {
            if (seen[f.flow]) return fmt::format("flow {} was found complete twice", f.flow);
            seen[f.flow] = true;
            if (f.digest != digest(all.texts[f.flow])) {
                return fmt::format("flow {} was joined to another text", f.flow);
            }
            if (f.attack != all.is_attack[f.flow]) return fmt::format("flow {} was judged wrongly", f.flow);
        }
    }
    const auto missing = std::ranges::find(seen, false);
    if (missing != seen.end()) return fmt::format("flow {} was never complete", missing - seen.begin());
    return {};
}

template <class B>
run_outcome run(const run_settings& how) {
    const traffic input{how.size, how.seed};
    detector<B> detect{input};
    std::vector<std::vector<finding>> found(how.threads);
    run_outcome outcome = measured<B>(how, [&](group_worker& me) { detect.work(found[me.index]); });
    outcome.wrong = check(input, found);
    return outcome;
}

}  // namespace stamp::intruder
