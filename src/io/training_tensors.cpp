#include "io/training_tensors.hpp"

#include <iterator>
#include <vector>

#include "base/digest.hpp"
#include "methods/labelled_rows.hpp"
#include "model/tensor_parts.hpp"

namespace margrove {
namespace {

void save_sets(TensorMap& out, const LabelSets& sets) {
  std::vector<std::int64_t> pointers{0};
  std::vector<LabelId> labels;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    labels.insert(labels.end(), sets[i].begin(), sets[i].end());
    pointers.push_back(std::ssize(labels));
  }
  out.put<std::int64_t>("sets.row_pointers", pointers);
  out.put<LabelId>("sets.labels", labels);
  if (sets.unlabelled() != LabelSets::Unlabelled::automatic) {
    out.put_text(kUnlabelledKey, std::string(name_of(sets.unlabelled())));
  }
}

}  // namespace

void put_training(TensorMap& out, const Method& method, MethodRun& run, const TrainingSet& data,
                  const Preprocessing& preprocessing) {
  out.put_text("method", method.name);
  out.put_text("source", data.source);
  for (const auto& [name, value] : option_values(run.options()))
    out.put_text(kOptionKey + name, value);
  out.put_text("num_columns", concat(data.X.num_columns()));
  out.put_view<std::int64_t>("rows.row_pointers", data.X.row_pointers());
  out.put_view<FeatureId>("rows.columns", data.X.columns());
  out.put_view<float>("rows.values", data.X.values());
  if (!data.row_weights.empty()) out.put_view<double>("rows.weights", data.row_weights);
  save_sets(out, *data.labels);
  save_labels(out, *data.codec);
  if (!data.label_names.empty()) out.put_strings("labels.names", data.label_names);
  if (!data.other_names.empty()) out.put_strings("labels.other_names", data.other_names);
  if (data.hierarchy != nullptr) save_graph(out, "hierarchy", *data.hierarchy);
  if (data.records != nullptr) save_records(out, *data.records);
  save_preprocessing(out, preprocessing);
  if (data.kernel_features != nullptr) save_kernel_features(out, *data.kernel_features);
  save_views(out, data.views);
}

std::string digest_of(const TensorMap& tensors) {
  Digest digest;
  for (const auto& [key, text] : tensors.metadata()) {
    if (key == kDigest) continue;
    digest.add(key);
    digest.add(text);
  }
  for (const auto& [name, tensor] : tensors.tensors()) {
    digest.add(name);
    digest.add(tensor.bytes);
  }
  return digest.to_text();
}

}  // namespace margrove
