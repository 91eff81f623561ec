// An engine that forwards its calls to another engine. Tests derive engines from it that change some of the answers.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "cluster/backend/backend.hpp"

namespace tutti::cluster::testing {

class wrapped : public backend::engine {
public:
    explicit wrapped(std::unique_ptr<engine> of) : of_{std::move(of)} {}
    const backend::capabilities& abilities() const noexcept override { return of_->abilities(); }
    backend::engine_status get(backend::read_snapshot& at, backend::freshness how, std::span<const backend::check> held,
                               std::span<const backend::key> wanted, std::vector<backend::record>& found) override {
        return of_->get(at, how, held, wanted, found);
    }
    std::size_t group_of(std::string_view k) const noexcept override { return of_->group_of(k); }
    const backend::runtime_env& env() const noexcept override { return of_->env(); }
    void commit(backend::request& r) override { of_->commit(r); }
    void forget(std::span<const backend::key> all) noexcept override { of_->forget(all); }
    std::unique_ptr<backend::key_feed> open_key_feed() override { return of_->open_key_feed(); }

private:
    std::unique_ptr<engine> of_;
};

}  // namespace tutti::cluster::testing
