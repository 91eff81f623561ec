#include "cluster/patterns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <stdexcept>

#include "cluster/tpcc_pattern.hpp"

namespace bench::cluster {
namespace {

/// Objects by number. Each cluster holds only one structure.
object_id numbered(std::uint64_t number) { return {1, number}; }

struct account {
    std::int64_t balance = 1000;
};

class accounts : public pattern {
public:
    explicit accounts(unsigned number) : number_{number} {}
    void fill(const maker& make) const override {
        for (unsigned i = 0; i < number_; ++i) make(numbered(i), bytes_of(account{}));
    }

protected:
    [[nodiscard]] object_id any(dice& draw) const { return numbered(draw.below(number_)); }
    static void add(block& in, const object_id& to, std::int64_t amount) {
        in.write(to, account{in.read<account>(to).balance + amount});
    }

private:
    const unsigned number_;
};

class bank final : public accounts {
public:
    using accounts::accounts;
    void run(block& in, dice draw, bool reads) const override {
        const std::array both{any(draw), any(draw)};
        in.open(both);
        if (reads) return;
        add(in, both[0], -1);
        add(in, both[1], 1);
    }
};

/// Six accounts. A loan opens one lender after the other, until the lenders have given enough. The needed lenders are
/// not known beforehand.
class loan final : public accounts {
public:
    using accounts::accounts;
    void run(block& in, dice draw, bool reads) const override {
        std::vector<object_id> all;
        for (int i = 0; i < 6; ++i) all.push_back(any(draw));
        if (reads) return in.open(all);
        auto wanted = static_cast<std::int64_t>(1 + draw.below(500));
        for (std::size_t i = 1; i < all.size() && wanted > 0; ++i) {
            const std::int64_t part = i + 1 == all.size() ? wanted : wanted * static_cast<int>(draw.below(101)) / 100;
            add(in, all[i], -part);
            add(in, all[0], part);
            wanted -= part;
        }
    }
};

/// One customer and ten offers. Most operations reserve: they read ten offers and take the three best.
class vacation final : public pattern {
public:
    explicit vacation(unsigned objects) : customers_{std::max(objects / 10, 1u)}, offers_{std::max(objects, 11u)} {}
    void fill(const maker& make) const override {
        for (unsigned i = 0; i < offers_; ++i) make(numbered(i), bytes_of(account{}));
    }
    void run(block& in, dice draw, bool reads) const override {
        const object_id customer = numbered(draw.below(customers_));
        std::vector<object_id> offers;
        for (int i = 0; i < 10; ++i) offers.push_back(numbered(customers_ + draw.below(offers_ - customers_)));
        // As in the paper, a reservation counts as the reader, and an operator's update of ten offers as the writer.
        in.open(offers);
        for (std::size_t i = 0; i < (reads ? 3u : offers.size()); ++i) touch(in, offers[i]);
        if (reads) touch(in, customer);
    }
    [[nodiscard]] bool readers_write() const noexcept override { return true; }

private:
    static void touch(block& in, const object_id& o) { in.write(o, account{in.read<account>(o).balance + 1}); }
    const unsigned customers_, offers_;  // the first objects are customers
};

/// A set of keys. At the start it contains every second key.
class key_set : public pattern, private keyed {
public:
    explicit key_set(unsigned keys) : keys_{keys} {}
    void run(block& in, dice draw, bool reads) const final {
        if (reads) look_up(in, drawn(draw).key);
        else static_cast<void>(change(in, draw));
    }
    [[nodiscard]] const keyed* keys() const noexcept final { return this; }

protected:
    virtual void look_up(block& in, std::uint64_t key) const = 0;
    /// Returns false if the key is already in the set.
    virtual bool add(block& in, std::uint64_t key, std::uint64_t random) const = 0;
    /// Returns false if the key is not in the set.
    virtual bool remove(block& in, std::uint64_t key) const = 0;
    [[nodiscard]] unsigned count() const noexcept { return keys_; }

private:
    struct operation {
        std::uint64_t key;
        bool adds;
        std::uint64_t random;
    };
    [[nodiscard]] operation drawn(dice& draw) const {
        operation o{};
        o.key = draw.below(keys_);
        o.adds = draw.below(2) == 0;
        o.random = draw.next();
        return o;
    }
    [[nodiscard]] bool run(block& in, const operation& o, bool adds) const {
        return adds ? add(in, o.key, o.random) : remove(in, o.key);
    }

    [[nodiscard]] object_id lock_of(dice draw) const final { return numbered(drawn(draw).key); }
    [[nodiscard]] bool change(block& in, dice draw) const final {
        const operation o = drawn(draw);
        return run(in, o, o.adds);
    }
    void take_back(block& in, dice draw) const final {
        const operation o = drawn(draw);
        static_cast<void>(run(in, o, !o.adds));
    }

    const unsigned keys_;
};

/// Each bucket is an object with two keys, as bits.
class hash_table final : public key_set {
public:
    explicit hash_table(unsigned buckets) : key_set{buckets * 4}, buckets_{buckets} {}
    void fill(const maker& make) const override {
        for (unsigned i = 0; i < buckets_; ++i) make(numbered(i), bytes_of(std::uint64_t{0b0101}));
    }

protected:
    void look_up(block& in, std::uint64_t key) const override { static_cast<void>(bits(in, key)); }
    bool add(block& in, std::uint64_t key, std::uint64_t /*random*/) const override { return set(in, key, true); }
    bool remove(block& in, std::uint64_t key) const override { return set(in, key, false); }

private:
    [[nodiscard]] std::uint64_t bits(block& in, std::uint64_t key) const {
        return in.read<std::uint64_t>(numbered(key % buckets_));
    }
    bool set(block& in, std::uint64_t key, bool there) const {
        const std::uint64_t now = bits(in, key), bit = std::uint64_t{1} << (key / buckets_);
        if (((now & bit) != 0) == there) return false;
        in.write(numbered(key % buckets_), now ^ bit);
        return true;
    }
    const unsigned buckets_;
};

/// A sorted list on each level, as in Pugh's skip lists; with one level, a linked list. Node 0 is the head, and the
/// node of a key is one more than the key.
class sorted_lists final : public key_set {
public:
    sorted_lists(unsigned keys, unsigned levels) : key_set{keys}, levels_{levels} {}
    void fill(const maker& make) const override {
        links next{};
        for (std::uint64_t node = (count() - 1) / 2 * 2 + 1;; node -= 2) {
            const unsigned height = height_of(node / 2 + 1);
            make(numbered(node), bytes_of(next));
            for (unsigned level = 0; level < height; ++level) next[level] = node;
            if (node == 1) break;
        }
        make(numbered(0), bytes_of(next));
    }

protected:
    void look_up(block& in, std::uint64_t key) const override { static_cast<void>(before(in, key + 1)); }
    bool add(block& in, std::uint64_t key, std::uint64_t random) const override {
        const std::uint64_t node = key + 1;
        const links last = before(in, node);
        if (next_of(in, last[0], 0) == node) return false;
        links fresh{};
        for (unsigned level = 0; level < height_of(random); ++level) {
            fresh[level] = next_of(in, last[level], level);
            link(in, last[level], level, node);
        }
        in.write(numbered(node), fresh);
        return true;
    }
    bool remove(block& in, std::uint64_t key) const override {
        const std::uint64_t node = key + 1;
        const links last = before(in, node);
        if (next_of(in, last[0], 0) != node) return false;
        const links gone = in.read<links>(numbered(node));
        for (unsigned level = 0; level < levels_; ++level) {
            if (next_of(in, last[level], level) == node) link(in, last[level], level, gone[level]);
        }
        in.erase(numbered(node));
        return true;
    }

private:
    using links = std::array<std::uint64_t, 5>;

    [[nodiscard]] unsigned height_of(std::uint64_t random) const {
        return std::min(1 + static_cast<unsigned>(std::countr_zero(random)), levels_);
    }
    static std::uint64_t next_of(block& in, std::uint64_t node, unsigned level) {
        return in.read<links>(numbered(node))[level];
    }
    static void link(block& in, std::uint64_t node, unsigned level, std::uint64_t to) {
        links all = in.read<links>(numbered(node));
        all[level] = to;
        in.write(numbered(node), all);
    }
    /// Returns the last node before `node` on each level.
    [[nodiscard]] links before(block& in, std::uint64_t node) const {
        links last{};
        std::uint64_t from = 0;
        for (unsigned level = levels_; level-- > 0; last[level] = from) {
            for (std::uint64_t next; (next = next_of(in, from, level)) != 0 && next < node;) from = next;
        }
        return last;
    }

    const unsigned levels_;
};

/// A search tree that removes a key by a mark at its node. At the start all keys have a node, and every second one is
/// marked, so the tree keeps its depth.
class search_tree final : public key_set {
public:
    using key_set::key_set;
    void fill(const maker& make) const override {
        for (unsigned key = 0; key < count(); ++key) make(numbered(key), bytes_of(std::uint64_t{key % 2}));
    }

protected:
    void look_up(block& in, std::uint64_t key) const override { static_cast<void>(find(in, key)); }
    bool add(block& in, std::uint64_t key, std::uint64_t /*random*/) const override { return mark(in, key, 1); }
    bool remove(block& in, std::uint64_t key) const override { return mark(in, key, 0); }

private:
    /// Returns the content of the key's node. The path is that of a binary search.
    [[nodiscard]] std::uint64_t find(block& in, std::uint64_t key) const {
        for (std::uint64_t low = 0, high = count();;) {
            const std::uint64_t middle = (low + high) / 2, says = in.read<std::uint64_t>(numbered(middle));
            if (middle == key) return says;
            (key < middle ? high : low) = key < middle ? middle : middle + 1;
        }
    }
    bool mark(block& in, std::uint64_t key, std::uint64_t there) const {
        if (find(in, key) == there) return false;
        in.write(numbered(key), there);
        return true;
    }
};

}  // namespace

const std::vector<pattern_name>& patterns() {
    static const std::vector<pattern_name> all{{"bank", 10'000}, {"list", 50},         {"skiplist", 50}, {"tree", 50},
                                               {"hash", 2'000},  {"vacation", 10'000}, {"loan", 10'000}, {"tpcc", 1}};
    return all;
}

std::unique_ptr<pattern> make_pattern(std::string_view name, unsigned objects) {
    const auto at = std::ranges::find(patterns(), name, &pattern_name::name);
    if (at == patterns().end()) throw std::invalid_argument{"there is no workload '" + std::string{name} + "'"};
    if (objects == 0) objects = at->objects;
    if (name == "bank") return std::make_unique<bank>(objects);
    if (name == "loan") return std::make_unique<loan>(objects);
    if (name == "tpcc") return make_tpcc(objects);
    if (name == "vacation") return std::make_unique<vacation>(objects);
    if (name == "hash") return std::make_unique<hash_table>(objects);
    if (name == "list") return std::make_unique<sorted_lists>(objects, 1);
    if (name == "skiplist") return std::make_unique<sorted_lists>(objects, 5);
    return std::make_unique<search_tree>(objects);
}

}  // namespace bench::cluster
