// Customers reserve cars, flights and rooms. The workload is HyflowCPP's vacation (section 6.2.2.1): the vacation
// benchmark of STAMP, with objects on several nodes.
//
// As in the paper, a transaction draws ten random offers. The transactions that the paper calls readers make
// reservations for a customer. Of each kind, they reserve the most expensive drawn offer that has a free place. Half of
// the other transactions cancel all reservations of a customer. The rest change either the prices or the numbers of
// places of the drawn offers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cluster/workload.hpp"

namespace cluster_app {

class vacation final : public workload {
public:
    static constexpr std::array offer_kinds{kind::car, kind::flight, kind::room};
    struct offer {
        std::int64_t places = 0, taken = 0, price = 0;
    };
    struct reservation {
        std::uint64_t of, number;  // index into offer_kinds, and number of the offer
        template <class Archive>
        void serialize(Archive& a) {
            a(of, number);
        }
    };
    struct customer {
        std::vector<reservation> has;
        template <class Archive>
        void serialize(Archive& a) {
            a(has);
        }
    };

    vacation(const extent& size, tutti::cluster::node& here);
    void fill() override;
    void run_one(random_source& dice) override;
    std::string check() override;

private:
    static constexpr std::size_t queries = 10;
    struct query {
        std::uint64_t of, number;
        std::int64_t value;  // the new value of an update
    };
    using request = std::array<query, queries>;

    void reserve(std::uint64_t who, const request& wanted);
    void give_back(std::uint64_t who);
    void update(const request& offers, bool prices);

    [[nodiscard]] tutti::cluster::ref<offer> at(std::uint64_t of, std::uint64_t number) const {
        return object_at<offer>(here_, offer_kinds[of], number);
    }
    [[nodiscard]] tutti::cluster::ref<customer> customer_at(std::uint64_t number) const {
        return object_at<customer>(here_, kind::customer, number);
    }
    [[nodiscard]] std::vector<tutti::cluster::ref<offer>> all(const request& r) const;

    tutti::cluster::node& here_;
    const std::uint64_t customers_;  // a tenth of the objects
    const std::uint64_t offers_;     // of each kind: three tenths
    const unsigned reads_;
};

}  // namespace cluster_app
