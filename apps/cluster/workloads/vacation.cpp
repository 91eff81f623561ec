#include "cluster/workloads/vacation.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace cluster_app {

using tutti::atomically;
using tutti::tx;
using tutti::cluster::ref;

namespace {

constexpr std::int64_t places_of_a_step = 100, lowest_price = 50;

}  // namespace

vacation::vacation(const extent& size, tutti::cluster::node& here)
    : here_{here},
      customers_{std::max<std::uint64_t>(size.objects / 10, 1)},
      offers_{std::max<std::uint64_t>(size.objects * 3 / 10, 1)},
      reads_{size.reads} {}

void vacation::fill() {
    for (const kind k : offer_kinds) {
        publish_share<offer>(here_, k, offers_, [](std::uint64_t i) {
            const auto step = static_cast<std::int64_t>(i % 5);
            return offer{places_of_a_step * (1 + step), 0, lowest_price + 10 * step};
        });
    }
    publish_share<customer>(here_, kind::customer, customers_, [](std::uint64_t) { return customer{}; });
}

void vacation::run_one(random_source& dice) {
    const std::uint64_t who = dice.below(customers_);
    request r;
    for (query& q : r) {
        q.of = dice.below(offer_kinds.size());
        q.number = dice.below(offers_);
        q.value = static_cast<std::int64_t>(dice.below(5));
    }
    if (dice.below(100) < reads_) return reserve(who, r);
    if (dice.below(2) == 0) return give_back(who);
    update(r, dice.below(2) == 0);
}

std::vector<ref<vacation::offer>> vacation::all(const request& r) const {
    std::vector<ref<offer>> refs;
    for (const query& q : r) refs.push_back(at(q.of, q.number));
    return refs;
}

void vacation::reserve(std::uint64_t who, const request& wanted) {
    atomically([&](tx& t) {
        prefetch(t, all(wanted));
        std::array<std::optional<reservation>, offer_kinds.size()> best;
        std::array<std::int64_t, offer_kinds.size()> price{};
        for (const query& q : wanted) {
            const offer& o = at(q.of, q.number).read(t);
            if (o.taken == o.places || o.price <= price[q.of]) continue;
            best[q.of] = reservation{q.of, q.number};
            price[q.of] = o.price;
        }
        for (const auto& b : best) {
            if (!b) continue;
            ++at(b->of, b->number).write(t).taken;
            customer_at(who).write(t).has.push_back(*b);
        }
    });
}

void vacation::give_back(std::uint64_t who) {
    atomically([&](tx& t) {
        if (customer_at(who).read(t).has.empty()) return;
        std::vector<reservation>& has = customer_at(who).write(t).has;
        std::vector<ref<offer>> offers;
        for (const reservation& r : has) offers.push_back(at(r.of, r.number));
        prefetch(t, offers);
        for (const ref<offer>& o : offers) --o.write(t).taken;
        has.clear();
    });
}

void vacation::update(const request& offers, bool prices) {
    atomically([&](tx& t) {
        prefetch(t, all(offers));
        for (const query& q : offers) {
            offer& o = at(q.of, q.number).write(t);
            if (prices) o.price = lowest_price + 10 * q.value;
            else o.places = std::max(o.taken, places_of_a_step * (1 + q.value));
        }
    });
}

std::string vacation::check() {
    std::string wrong;
    std::array<std::vector<std::int64_t>, offer_kinds.size()> reserved;
    for (auto& counts : reserved) counts.resize(offers_);
    visit_all<customer>(here_, kind::customer, customers_, [&](std::uint64_t i, const customer& c) {
        for (const reservation& r : c.has) {
            if (r.of < reserved.size() && r.number < offers_) ++reserved[r.of][r.number];
            else wrong = fmt::format("customer {} has a reservation of nothing", i);
        }
    });
    for (std::size_t of = 0; of < offer_kinds.size(); ++of) {
        visit_all<offer>(here_, offer_kinds[of], offers_, [&](std::uint64_t i, const offer& o) {
            if (o.taken > o.places) wrong = fmt::format("offer {} of kind {} has too few places", i, of);
            if (o.taken != reserved[of][i]) {
                wrong = fmt::format("offer {} of kind {} has given {} places, and customers have {}", i, of, o.taken,
                                    reserved[of][i]);
            }
        });
    }
    return wrong;
}

}  // namespace cluster_app
