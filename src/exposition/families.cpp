#include "exposition/families.hpp"

#include <prometheus/text_serializer.h>

namespace tutti::exposition {

page page_of(const std::vector<prometheus::MetricFamily>& all) {
    return {.text = prometheus::TextSerializer{}.Serialize(all), .type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace tutti::exposition
