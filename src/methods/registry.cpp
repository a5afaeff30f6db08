#include "methods/registry.hpp"

#include <functional>
#include <map>

#include "base/similar_names.hpp"
#include "methods/methods.hpp"
#include "model/kernel_predictor.hpp"
#include "model/label_trees_predictor.hpp"
#include "model/linear_predictor.hpp"
#include "model/ridge_predictor.hpp"
#include "model/top_down_predictor.hpp"
#include "outputs/registry.hpp"

namespace margrove {
namespace {

using Loader = std::unique_ptr<Predictor> (*)(const TensorMap&, std::uint32_t num_labels);
const std::map<std::string, Loader, std::less<>> kPredictors{
    {"linear", LinearPredictor::load},          {"top-down", TopDownPredictor::load},
    {"label-trees", LabelTreesPredictor::load}, {"kernel", KernelPredictor::load},
    {"kernel-ridge", RidgePredictor::load},
};

/// Null if the kind is not known.
Loader loader_of(const std::string& kind) {
  if (const auto found = kPredictors.find(kind); found != kPredictors.end()) return found->second;
  for (const OutputType& type : output_types()) {
    if (type.kind == kind) return type.load;
  }
  return nullptr;
}

}  // namespace

const std::vector<Method>& methods() {
  static const std::vector<Method> all = all_methods();
  return all;
}

const Method& find_method(std::string_view name) {
  std::vector<std::string> known;
  for (const Method& method : methods()) {
    if (method.name == name) return method;
    known.push_back(method.name);
  }
  throw InvalidOption(concat("method is '", name, "', but must be one of ",
                             detail::join(known, ", "), did_you_mean(name, known)));
}

std::unique_ptr<Predictor> load_predictor(const std::string& kind, const TensorMap& tensors,
                                          std::uint32_t num_labels) {
  const Loader load = loader_of(kind);
  tensors.check(load != nullptr, "the model is of kind '", kind,
                "', which this version of Margrove does not know");
  return load(tensors, num_labels);
}

}  // namespace margrove
