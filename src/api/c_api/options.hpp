// Checks the options of a C caller and converts them to those of C++.
#pragma once

#include "tutti/c/block.h"
#include "tutti/options.hpp"

namespace tutti::api {

class c_options {
public:
    /// If `given` is null, returns the defaults. Throws usage_error for invalid values.
    explicit c_options(const tutti_options* given);
    c_options(const c_options&) = delete;
    c_options& operator=(const c_options&) = delete;

    [[nodiscard]] const options& get() const noexcept { return options_; }
    /// Stores the outcome after the block, if the caller asked for it.
    void report() const noexcept;

private:
    void read_deadline(const tutti_options& from);

    options options_;
    deadline_tuning tuning_;
    deadline_outcome outcome_;
    tutti_deadline_outcome* result_ = nullptr;
};

}  // namespace tutti::api
