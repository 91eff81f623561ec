// What clients may ask for: CALL, and the commands that are answered at once.
//
// Thread safety: const members from any thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "server/connection.hpp"
#include "server/timeline.hpp"

namespace tutti::server {

class commands {
public:
    /// `info` makes the text of INFO.
    commands(const catalog& procedures, std::string password, timeline& shown, std::function<std::string()> info)
        : procedures_{procedures}, password_{std::move(password)}, shown_{shown}, info_{std::move(info)} {}

    /// Makes `r` ready to be submitted (true), or answers it. REQUIRES: at least one word; r.arrived is set.
    [[nodiscard]] bool take(session& who, std::span<const std::string_view> words, request& r) const;

private:
    using words = std::span<const std::string_view>;
    struct command;
    static const command list[10];  // all but CALL

    [[nodiscard]] bool take_call(const session& who, words given, request& r) const;
    void auth(session& who, words given, reply& to) const;
    void hello(session& who, words given, reply& to) const;
    [[nodiscard]] bool is_password(std::string_view given) const noexcept;

    const catalog& procedures_;
    const std::string password_;
    timeline& shown_;
    const std::function<std::string()> info_;
};

}  // namespace tutti::server
