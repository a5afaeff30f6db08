#pragma once

#include <span>
#include <string>

#include "data/record_features.hpp"
#include "data/views.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

/// What users call a feature: the column of a table, a word, or its number as data files write it
/// ("feature 13", "y feature 2" in a view). `feature` counts columns as given, before any were
/// selected; `records` is null where rows are no records.
std::string feature_name(FeatureId feature, const RecordFeatures* records,
                         const Preprocessing& preprocessing, std::span<const View> views);

}  // namespace margrove
