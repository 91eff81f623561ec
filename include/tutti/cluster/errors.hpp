/// @file
/// Errors that can occur in a cluster but not in a single process.
#pragma once

#include <stdexcept>

#include "tutti/detail/config.hpp"
#include "tutti/errors.hpp"

namespace tutti::cluster {

/// The node cannot join the cluster or cannot listen. The message says what to do.
class TUTTI_EXPORT connection_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~connection_error() override;
};

/// A node that the block needs is lost, or did not answer in time. The block had no effect.
class TUTTI_EXPORT node_lost : public unreachable_error {
public:
    node_lost(const std::string& what, unsigned node) : node_lost{what, node, true} {}
    ~node_lost() override;
    /// Returns the number of the lost node.
    [[nodiscard]] unsigned node() const noexcept { return node_; }

protected:
    node_lost(const std::string& what, unsigned node, bool outcome_known)
        : unreachable_error{what, outcome_known}, node_{node} {}

private:
    unsigned node_;
};

/// The node was asked to commit, and was then lost. If the node was the only other participant, either all or none of
/// the block's effects on its objects took place. The remaining nodes cannot tell which. If there were several other
/// participants, none of those that are still connected has rejected the commit: either all participants commit the
/// block or none does. Objects of this node, and variables, keep their values.
class TUTTI_EXPORT outcome_unknown : public node_lost {
public:
    outcome_unknown(const std::string& what, unsigned node) : node_lost{what, node, false} {}
    ~outcome_unknown() override;
};

/// No object has this id. For `publish`: an object has this id already.
class TUTTI_EXPORT no_such_object : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~no_such_object() override;
};

/// The object holds a value of a type other than the one that the program reads.
class TUTTI_EXPORT type_mismatch : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~type_mismatch() override;
};

}  // namespace tutti::cluster
