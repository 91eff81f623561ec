// Helpers that create a prometheus-cpp sample in one line of code, and that write the page for Prometheus.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

#include "exposition/page.hpp"

namespace tutti::exposition {

using labels = std::vector<prometheus::ClientMetric::Label>;

[[nodiscard]] inline prometheus::ClientMetric metric(labels of, double value, prometheus::MetricType type) {
    prometheus::ClientMetric m;
    m.label = std::move(of);
    (type == prometheus::MetricType::Counter ? m.counter.value : m.gauge.value) = value;
    return m;
}

[[nodiscard]] inline prometheus::MetricFamily family(std::string name, std::string help, prometheus::MetricType type) {
    prometheus::MetricFamily f;
    f.name = std::move(name);
    f.help = std::move(help);
    f.type = type;
    return f;
}

/// Returns a family with one sample, without labels.
[[nodiscard]] inline prometheus::MetricFamily single(std::string name, std::string help, prometheus::MetricType type,
                                                     double value) {
    prometheus::MetricFamily f = family(std::move(name), std::move(help), type);
    f.metric.push_back(metric({}, value, type));
    return f;
}

/// Returns a page in Prometheus's text format.
[[nodiscard]] page page_of(const std::vector<prometheus::MetricFamily>& all);

}  // namespace tutti::exposition
