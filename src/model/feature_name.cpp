#include "model/feature_name.hpp"

#include "margrove/errors.hpp"

namespace margrove {

std::string feature_name(FeatureId feature, const RecordFeatures* records,
                         const Preprocessing& preprocessing, std::span<const View> views) {
  if (records != nullptr) return records->column_name(feature);
  for (const View& view : views) {
    if (feature < view.begin || feature >= view.end) continue;
    return concat(view.name, " feature ", feature - view.begin + preprocessing.first_index);
  }
  const bool is_term = preprocessing.kind == Preprocessing::Kind::text_tfidf &&
                       feature < preprocessing.idf.size() + preprocessing.vectors.width();
  return is_term ? preprocessing.term_name(feature)
                 : concat("feature ", feature + preprocessing.first_index);
}

}  // namespace margrove
