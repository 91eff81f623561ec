// genome: assembles a gene from many short segments that were read at random places of it.
//
//   1  equal segments are merged, in a hash map; several segments in each transaction
//   2  for shorter and shorter overlaps: strands without a predecessor are filed under their first letters; strands
//      without a successor look there for their last letters. The longest overlap is that of true neighbours
//   3  one thread writes down the chain
//
// Transactions of medium length with few conflicts, in phases.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "stamp/program.hpp"
#include "stamp/programs/genome_segment.hpp"
#include "stamp/structures/hash_map.hpp"

namespace stamp::genome {

inline constexpr std::size_t reads_for_each_letter = 48;

template <class B>
class sequencer {
    using context = typename B::context;
    template <class T>
    using shared = typename B::template shared<T>;

    /// A segment without its copies. Members that are not shared belong to the thread with the strand among its open
    /// ends.
    struct strand {
        explicit strand(segment s) : text{s} {}
        const segment text;
        strand* next = nullptr;
        std::size_t overlap = 0;  // with the next strand
        shared<bool> has_predecessor{false};
        shared<strand*> below{nullptr};  // the next strand in the same file
    };

public:
    explicit sequencer(const sample& from)
        : segments_{from.segments},
          strands_{from.gene.size()},
          files_{std::make_unique<shared<strand*>[]>(from.gene.size())} {}
    sequencer(const sequencer&) = delete;
    sequencer& operator=(const sequencer&) = delete;
    ~sequencer() {
        strands_.for_each(0, strands_.buckets(), [](segment, strand* s) { delete s; });
    }

    void work(group_worker& me) {
        drop_copies(me);
        me.wait_for_all();
        std::vector<strand*> ends;
        const auto [first, last] = me.share(strands_.buckets());
        strands_.for_each(first, last, [&](segment, strand* s) { ends.push_back(s); });
        add_to(open_ends_, static_cast<std::ptrdiff_t>(ends.size()));
        std::vector<strand*> starts = ends;
        me.wait_for_all();
        for (std::size_t overlap = segment_length - 1; overlap > 0; --overlap) {
            for (strand* s : starts) put_in_file(s, overlap);
            me.wait_for_all();
            const auto found = std::ranges::remove_if(ends, [&](strand* s) { return find_next(s, overlap); });
            add_to(open_ends_, -static_cast<std::ptrdiff_t>(found.size()));
            ends.erase(found.begin(), found.end());
            me.wait_for_all();
            if (open_ends_.load() == 1) break;
            for (strand* s : starts) file_of(head(s->text, overlap)).store(nullptr);
            std::erase_if(starts, [](strand* s) { return s->has_predecessor.load(); });
            me.wait_for_all();
        }
        if (me.index == 0) write_down();
    }

    [[nodiscard]] const letters& gene() const { return gene_; }

private:
    static constexpr std::size_t segments_at_once = 12;

    void drop_copies(const group_worker& me) {
        const auto [first, last] = me.share(segments_.size());
        for (std::size_t from = first; from < last; from += segments_at_once) {
            B::atomically("genome: copies", [&](context& t) {
                for (std::size_t i = from; i < std::min(from + segments_at_once, last); ++i) {
                    const segment s = segments_[i];
                    if (strands_.find(t, s) == nullptr) strands_.insert(t, s, B::template create<strand>(t, s));
                }
            });
        }
    }
    static void add_to(shared<std::ptrdiff_t>& sum, std::ptrdiff_t more) {
        B::atomically("genome: sum", [&](context& t) { sum.set(t, sum.get(t) + more); });
    }

    shared<strand*>& file_of(segment key) { return files_[hash_of_segment{}(key) % strands_.buckets()]; }

    void put_in_file(strand* s, std::size_t overlap) {
        shared<strand*>& file = file_of(head(s->text, overlap));
        B::atomically("genome: file", [&](context& t) {
            s->below.set(t, file.get(t));
            file.set(t, s);
        });
    }
    /// Returns true if there is a next strand.
    bool find_next(strand* s, std::size_t overlap) {
        const segment wanted = tail(s->text, overlap);
        const shared<strand*>& file = file_of(wanted);
        s->next = B::atomically("genome: match", [&](context& t) {
            strand* other = file.get(t);
            while (other != nullptr &&
                   (other == s || head(other->text, overlap) != wanted || other->has_predecessor.get(t))) {
                other = other->below.get(t);
            }
            if (other != nullptr) other->has_predecessor.set(t, true);
            return other;
        });
        s->overlap = overlap;
        return s->next != nullptr;
    }

    void write_down() {
        const strand* s = nullptr;
        strands_.for_each(0, strands_.buckets(), [&](segment, const strand* one) {
            if (!one->has_predecessor.load()) s = one;
        });
        for (std::size_t known = 0; s != nullptr; known = s->overlap, s = s->next) {
            for (std::size_t i = known; i < segment_length; ++i) {
                gene_.push_back(static_cast<std::uint8_t>(tail(head(s->text, i + 1), 1)));
            }
        }
    }

    const std::vector<segment>& segments_;
    hash_map<B, segment, strand*, hash_of_segment> strands_;
    std::unique_ptr<shared<strand*>[]> files_;
    shared<std::ptrdiff_t> open_ends_{0};
    letters gene_;
};

template <class B>
run_outcome run(const run_settings& how) {
    const sample input = make_sample(how.size, how.size * reads_for_each_letter, how.seed);
    sequencer<B> s{input};
    run_outcome outcome = measured<B>(how, [&](group_worker& me) { s.work(me); });
    if (s.gene() != input.gene) outcome.wrong = "the gene that was put together is not the one that was read";
    return outcome;
}

}  // namespace stamp::genome
