#include "model/feature_name.hpp"

#include "margrove/errors.hpp"

namespace margrove {

std::string feature_name(FeatureId feature, const RecordFeatures* records,
                         const Preprocessing& preprocessing, std::span<const View> views) {
  if (records != nullptr) return records->column_name(feature);
  for (const View& view : views) {
    if (feature < view.begin || feature >= view.end) continue;
    return concat(view.name, " feature ", feature - view.begin + 1);
  }
  const auto& words = preprocessing.vocabulary;
  return feature < words.size() ? words[feature] : concat("feature ", feature + 1);
}

}  // namespace margrove
